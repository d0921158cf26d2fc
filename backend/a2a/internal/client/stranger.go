package client

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"go.uber.org/zap"

	"github.com/agentruntime/agentruntime/internal/netguard"
	"github.com/agentruntime/agentruntime/spec"
)

// The bounds of a stranger.
const (
	// MaxReply is the maximum size of a reply in bytes.
	MaxReply = 1 << 20
	// strangerPoll and maxStrangerPoll are the first and the longest interval between polls of a task.
	strangerPoll    = 250 * time.Millisecond
	maxStrangerPoll = 5 * time.Second
)

// NewStranger returns the peer of an agent that is not in any configuration, without connecting to
// it. header is sent with every request to the card's origin only, and allowPrivate are the reachable
// hosts on private networks.
func NewStranger(card *url.URL, base string, header http.Header, limit time.Duration, allowPrivate []string) (*Peer, error) {
	guard, err := netguard.New(allowPrivate...)
	if err != nil {
		return nil, err
	}
	o := defaultOptions()
	o.allowV03, o.anyOrigin, o.concurrency = true, true, 1
	o.Poll = Pace{Next: strangerPoll, Most: maxStrangerPoll}
	o.MaxOutputBytes = MaxReply
	// Over gRPC a header would be sent wherever the card says.
	o.transports = []a2a.TransportProtocol{a2a.TransportProtocolJSONRPC, a2a.TransportProtocolHTTPJSON}
	timeout := new(spec.Duration(limit))
	p := &Peer{Endpoint: &spec.Endpoint{BaseURL: base, Timeout: timeout}, Options: o, logger: zap.NewNop(), CardURL: card, http: &transport{
		base: netguard.Transport(guard), auth: fixedHeader(header), trust: trusted{Origin(card): true},
		secrets: append(fixedHeader(header).headerSecrets(), querySecrets(card)...),
		limits:  limits{idle: o.idleTimeout, event: MaxReply, answer: 2 * MaxReply},
	}}
	p.prepare(guard)
	return p, nil
}

// Assume makes the peer use an interface without a card. The path is below its base URL.
func (p *Peer) Assume(path string, binding a2a.TransportProtocol, version a2a.ProtocolVersion) {
	iface := &a2a.AgentInterface{URL: p.Endpoint.BaseURL + path, ProtocolBinding: binding, ProtocolVersion: version}
	p.cards = cardCache{
		fetch: func(context.Context, string) (*fetched, error) { return &fetched{Card: []byte{}, maxAge: -1}, nil },
		open:  func(ctx context.Context, _ []byte) (*Connection, error) { return p.openAt(ctx, iface) },
		ttl:   p.Options.Card.ttl,
	}
}

// openAt returns the connection to an interface of an agent without a card.
func (p *Peer) openAt(ctx context.Context, iface *a2a.AgentInterface) (*Connection, error) {
	to, err := checkInterface(iface, &p.Options, p.http.trust)
	if err != nil {
		return nil, &CardError{Problem: "the place of the agent", Err: err}
	}
	card := &a2a.AgentCard{Name: "agent", SupportedInterfaces: []*a2a.AgentInterface{to.Iface}}
	client, err := newSDKClient(ctx, p.http, p.grpc, card, to, false)
	if err != nil {
		return nil, &CardError{Problem: "the peer cannot be spoken to", Err: err}
	}
	return &Connection{Client: client, Card: card, Iface: to.Iface}, nil
}
