package a2abackend

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// place is where an agent without a card may be, and how it is spoken to there.
type place struct {
	path    string
	binding a2a.TransportProtocol
	version a2a.ProtocolVersion
}

// places are where agents without a card are, the likeliest first. The paths of
// the HTTP binding come behind those: /message:send, and in version 0.3
// /v1/message:send.
var places = []place{
	{"", a2a.TransportProtocolJSONRPC, version03},
	{"", a2a.TransportProtocolJSONRPC, version1},
	{"/rpc", a2a.TransportProtocolJSONRPC, version03},
	{"/rpc", a2a.TransportProtocolJSONRPC, version1},
	{"", a2a.TransportProtocolHTTPJSON, version1},
	{"", a2a.TransportProtocolHTTPJSON, version03},
	{"/message/send", a2a.TransportProtocolJSONRPC, version03},
}

// probe sends the message to an agent that has no card which can be used: to one
// place after the other, until at one of them somebody understands it. No place
// is tried behind one that may have taken the message.
func (c *Call) probe(ctx context.Context, p *peer, noCard error) (string, error) {
	gone := -1 // where nobody answers at all, in any version
	for i, at := range places {
		if gone >= 0 && at.path == places[gone].path && at.binding == places[gone].binding {
			continue
		}
		p.cards = cardCache{
			fetch: func(context.Context, string) (*fetched, error) { return &fetched{card: []byte{}, maxAge: -1}, nil },
			open:  func(ctx context.Context, _ []byte) (*connection, error) { return p.openAt(ctx, at) },
			ttl:   p.options.cardTTL,
		}
		reply, err := c.ask(ctx, p)
		if !absent(err) {
			return reply, err
		}
		if !errors.Is(err, a2a.ErrMethodNotFound) && !errors.Is(err, a2a.ErrVersionNotSupported) {
			gone = i
		}
	}
	return "", p.fail(CodeCard, "", fmt.Sprintf("%v; and no agent answers without one", noCard), noCard)
}

// openAt returns how an agent without a card is spoken to at a place.
func (p *peer) openAt(ctx context.Context, at place) (*connection, error) {
	iface := &a2a.AgentInterface{URL: p.endpoint.BaseURL + at.path, ProtocolBinding: at.binding, ProtocolVersion: at.version}
	to, err := checkInterface(iface, &p.options, p.http.trust)
	if err != nil {
		return nil, &CardError{Problem: "the place of the agent", Err: err}
	}
	card := &a2a.AgentCard{Name: callee, SupportedInterfaces: []*a2a.AgentInterface{to.iface}}
	client, err := newSDKClient(ctx, p, card, to, false)
	if err != nil {
		return nil, &CardError{Problem: "the peer cannot be spoken to", Err: err}
	}
	return &connection{client: client, card: card, iface: to.iface}, nil
}

// cardless reports whether the error of fetching a card says that there is none
// that can be used, and not that the peer is away or refuses.
func cardless(err error) bool {
	if refused, ok := errors.AsType[*HTTPError](err); ok {
		return refused.Status >= http.StatusBadRequest && judgeStatus(refused.Status).code == CodeRefused
	}
	return errors.As(err, new(*CardError)) || errors.As(err, new(*ContentTypeError))
}

// absent reports whether the error of a message says that nobody is there who
// understands it.
func absent(err error) bool {
	if errors.Is(err, a2a.ErrMethodNotFound) || errors.Is(err, a2a.ErrVersionNotSupported) {
		return true
	}
	if refused, ok := errors.AsType[*HTTPError](err); ok && refused.Err == nil {
		return slices.Contains([]int{http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusGone, http.StatusNotImplemented}, refused.Status)
	}
	return false
}
