package a2a

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"runtime"
	"sync"
	"weak"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/backend/a2a/internal/client"
	"github.com/agentruntime/agentruntime/backend/a2a/internal/doctor"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/spec"
	"go.uber.org/zap"
)

// Kind is the kind of the backend.
const Kind = "a2a"

// Settings configures a Factory.
type Settings struct {
	// Logger logs which interface of a peer is chosen; nil logs nothing.
	Logger *zap.Logger

	_ struct{} // keyed literals only
}

// Factory creates the backends for A2A peers. Equal endpoints share one peer while a backend uses
// it: its card, its tokens and its limit of concurrent turns. It is safe for concurrent use.
type Factory struct {
	logger *zap.Logger

	mu    sync.Mutex
	peers map[peerKey]weak.Pointer[client.Peer]
}

// peerKey is a hash of an endpoint.
type peerKey [sha256.Size]byte

// keyOf returns the key of an endpoint, credentials included.
func keyOf(e *spec.Endpoint) (peerKey, error) {
	type plain spec.Auth // without its marshaler, which would hide the secrets
	data, err := json.Marshal([]any{e, (*plain)(e.Auth)})
	return sha256.Sum256(data), err
}

var (
	_ backend.Discoverer = (*Factory)(nil)
	_ backend.Prober     = (*Factory)(nil)
	_ backend.Examiner   = (*Factory)(nil)

	_ backend.Interchangeable = (*Factory)(nil)
)

// Equal reports whether another factory has the same logger.
func (f *Factory) Equal(other backend.Factory) bool {
	o, ok := other.(*Factory)
	return ok && o.logger == f.logger
}

// NewFactory returns a factory.
func NewFactory(s Settings) *Factory {
	if s.Logger == nil {
		s.Logger = zap.NewNop()
	}
	return &Factory{logger: s.Logger, peers: map[peerKey]weak.Pointer[client.Peer]{}}
}

// Kind returns Kind.
func (*Factory) Kind() string { return Kind }

// Validate checks the target and options of an endpoint; its record checks the rest. It makes no
// requests.
func (*Factory) Validate(e *spec.Endpoint) diag.List { return client.Validate(e) }

// New returns the backend of an endpoint without connecting to it.
func (f *Factory) New(e *spec.Endpoint) (backend.Backend, error) {
	p, err := f.peerOf(e)
	if err != nil {
		return nil, err
	}
	return &remote{peer: p}, nil
}

// peerOf returns the peer of an endpoint.
func (f *Factory) peerOf(e *spec.Endpoint) (*client.Peer, error) {
	key, err := keyOf(e)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if p := f.peers[key].Value(); p != nil {
		return p, nil
	}
	p, err := client.New(e, f.logger)
	if err != nil {
		return nil, err
	}
	f.peers[key] = weak.Make(p)
	// An unreferenced revision drops its peers without notice.
	runtime.AddCleanup(p, f.forgetPeer, key)
	client.CloseUnused(p)
	return p, nil
}

// forgetPeer removes an unused peer.
func (f *Factory) forgetPeer(key peerKey) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.peers[key].Value() == nil {
		delete(f.peers, key)
	}
}

// Discover returns the agents of a source, from its list of cards or else its single card. Ids are
// derived from the names in the cards, and agents are called as the source says, not as a card
// says. It ends with ctx, and applies a default timeout if ctx has none.
func (f *Factory) Discover(ctx context.Context, source *spec.RemoteSource) ([]*spec.Agent, error) {
	e := source.Endpoint()
	if list := f.Validate(e); list.HasErrors() {
		return nil, list.Err()
	}
	return client.Discover(ctx, e, f.logger)
}

// Probe fetches and checks the card of an endpoint's peer.
func (f *Factory) Probe(ctx context.Context, e *spec.Endpoint) error {
	return client.Probe(ctx, e, f.logger)
}

// Examine inspects the peer of an endpoint: its card, and how each interface answers calls for
// nonexistent tasks.
func (*Factory) Examine(ctx context.Context, e *spec.Endpoint, header map[string][]string) (*backend.Examination, error) {
	return doctor.Examine(ctx, e, header)
}
