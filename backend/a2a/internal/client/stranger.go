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

// Stranger is an agent that is not in any configuration.
type Stranger struct {
	// CardURL is its card's location, and BaseURL the agent's own URL.
	CardURL *url.URL
	BaseURL string
	// Header is sent with every request to the card's origin only.
	Header http.Header
	// AllowPrivate are the reachable hosts on private networks.
	AllowPrivate []string
	Timeout      time.Duration
	// MaxReply is the maximum size of a reply in bytes.
	MaxReply int
	Poll     Pace
}

// NewStranger returns the peer of an unconfigured agent without connecting to it.
func NewStranger(s *Stranger) (*Peer, error) {
	guard, err := netguard.New(s.AllowPrivate...)
	if err != nil {
		return nil, err
	}
	o := defaultOptions()
	o.allowV03, o.anyOrigin, o.concurrency = true, true, 1
	o.Poll = s.Poll
	o.MaxOutputBytes = s.MaxReply
	// Over gRPC a header would be sent wherever the card says.
	o.transports = []a2a.TransportProtocol{a2a.TransportProtocolJSONRPC, a2a.TransportProtocolHTTPJSON}
	timeout, header, reply := spec.Duration(s.Timeout), fixedHeader(s.Header), int64(s.MaxReply)
	p := &Peer{Endpoint: &spec.Endpoint{BaseURL: s.BaseURL, Timeout: &timeout}, Options: o, logger: zap.NewNop(), CardURL: s.CardURL, http: &transport{
		base: netguard.Transport(guard), auth: header, trust: trusted{Origin(s.CardURL): true},
		secrets: append(header.headerSecrets(), querySecrets(s.CardURL)...),
		limits:  limits{idle: o.idleTimeout, event: reply, answer: 2 * reply},
	}}
	p.prepare(guard)
	return p, nil
}

// Assume makes the peer use an interface without a card. The path is below its base URL.
func (p *Peer) Assume(path string, binding a2a.TransportProtocol, version a2a.ProtocolVersion) {
	iface := &a2a.AgentInterface{URL: p.Endpoint.BaseURL + path, ProtocolBinding: binding, ProtocolVersion: version}
	p.cards = cardCache{
		fetch: func(context.Context, string) (*Fetched, error) { return &Fetched{Card: []byte{}, maxAge: -1}, nil },
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
