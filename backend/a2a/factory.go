package a2abackend

import (
	"crypto/sha256"
	"encoding/json"
	"runtime"
	"sync"
	"weak"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/spec"
	"go.uber.org/zap"
)

// Kind is the kind of the backend.
const Kind = "a2a"

// Settings are what code hands a factory.
type Settings struct {
	// Logger is told which interface of a peer is chosen; nil logs nothing.
	Logger *zap.Logger

	_ struct{} // keyed literals only
}

// Factory makes the backends that reach A2A peers. Endpoints that are the same
// have one peer, as long as a backend has it: its card, its tokens and how many
// turns run there at once. It is safe for concurrent use.
type Factory struct {
	logger *zap.Logger

	mu    sync.Mutex
	peers map[peerKey]weak.Pointer[peer]
}

// peerKey stands for all that an endpoint says.
type peerKey [sha256.Size]byte

// keyOf returns the key of an endpoint, credentials included.
func keyOf(e *spec.Endpoint) (peerKey, error) {
	type plain spec.Auth // has no way of its own to be written, which would hide the secrets
	data, err := json.Marshal([]any{e, (*plain)(e.Auth)})
	return sha256.Sum256(data), err
}

var (
	_ backend.Discoverer = (*Factory)(nil)
	_ backend.Prober     = (*Factory)(nil)
	_ backend.Examiner   = (*Factory)(nil)
)

// NewFactory returns a factory.
func NewFactory(s Settings) *Factory {
	if s.Logger == nil {
		s.Logger = zap.NewNop()
	}
	return &Factory{logger: s.Logger, peers: map[peerKey]weak.Pointer[peer]{}}
}

// Kind returns Kind.
func (*Factory) Kind() string { return Kind }

// Validate reports what is wrong with the target and the options of an endpoint;
// the rest is checked by its record. It reaches nothing.
func (*Factory) Validate(e *spec.Endpoint) diag.List {
	o, list := readOptions(e.Options)
	if e.Target == "." || e.Target == ".." {
		list = append(list, diag.New(diag.InvalidEndpoint, "target", "target %q is no name of an agent", e.Target))
	}
	if keyOutsideHeader(e.Auth) && onlyGRPC(&o) {
		list = append(list, diag.New(diag.InvalidEndpoint, "auth.in", "a key in a %s cannot be sent over gRPC", e.Auth.In))
	}
	return list
}

// New returns the backend of an endpoint. It reaches nothing.
func (f *Factory) New(e *spec.Endpoint) (backend.Backend, error) {
	p, err := f.peer(e)
	if err != nil {
		return nil, err
	}
	return &remote{peer: p}, nil
}

// peer returns the peer of an endpoint.
func (f *Factory) peer(e *spec.Endpoint) (*peer, error) {
	key, err := keyOf(e)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if p := f.peers[key].Value(); p != nil {
		return p, nil
	}
	p, err := newPeer(e, f.logger)
	if err != nil {
		return nil, err
	}
	f.peers[key] = weak.Make(p)
	// A revision that is gone takes its peers along, and nobody tells them.
	runtime.AddCleanup(p, f.forget, key)
	runtime.AddCleanup(p, func(g *grpcConnections) { _ = g.close() }, p.grpc)
	return p, nil
}

// forget drops a peer that nobody has any more.
func (f *Factory) forget(key peerKey) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.peers[key].Value() == nil {
		delete(f.peers, key)
	}
}
