// Package call sends one message to an A2A agent that no configuration names, and
// waits for the reply.
package call

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/uuid"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/backend/a2a/internal/client"
	"github.com/agentruntime/agentruntime/backend/a2a/internal/exchange"
	"github.com/agentruntime/agentruntime/internal/a2awire"
	"github.com/agentruntime/agentruntime/tools"
)

// DefaultTimeout is how long an agent that is called may take to reply.
const DefaultTimeout = 5 * time.Minute

// CodeInputRequired is a peer that asks something where nobody can answer: the
// call of a tool.
const CodeInputRequired = "input_required"

// Request is one message to an agent that somebody outside names for a turn, which
// nobody vouches for. Nothing is kept of it.
type Request struct {
	// CardURL is where the agent's card is. Without a usable card, the agent is
	// looked for at the usual paths below this URL.
	CardURL string
	// Headers go with every request to the origin of the card, and nowhere else.
	// Those that the protocol sets itself stay as they are.
	Headers map[string]string
	// ContextID is the conversation that the message belongs to; empty begins one.
	ContextID string
	// Text is the message to the agent.
	Text string
	// MessageID is the same whenever the same message is sent again, and by it an
	// agent knows that it has it; empty makes one up.
	MessageID string
	// AllowPrivate are the hosts on a private network that may be reached, as
	// netguard.New takes them. All others may not, wherever the card says.
	AllowPrivate []string
	// Timeout is how long everything may take; 0 is DefaultTimeout.
	Timeout time.Duration
}

// The bounds of a call.
const (
	// maxReply is how large a reply may be, in bytes.
	maxReply = 1 << 20
	// callPoll and maxCallPoll are how long to wait between two looks at a task:
	// the first time, and at most.
	callPoll    = 250 * time.Millisecond
	maxCallPoll = 5 * time.Second
)

// errNoText reports an empty message.
var errNoText = errors.New("the message to the agent is empty")

// Ask sends the message and returns the text of the reply. A task at the agent is
// followed to its end, and canceled if ctx ends. The error is a *PeerError with the
// progress, ctx's, or describes an invalid call. It contains none of the headers'
// values.
func (c *Request) Ask(ctx context.Context) (string, error) {
	if c.Text == "" {
		return "", errNoText
	}
	p, err := c.newPeer()
	if err != nil {
		return "", err
	}
	defer func() { _ = p.Close() }()
	ctx, done := withoutRelease(ctx)
	defer done()
	ctx, cancel := context.WithTimeoutCause(ctx, p.Endpoint.Limit(), exchange.ErrTimeUp)
	defer cancel()
	_, err = p.Connect(ctx)
	switch {
	case err == nil:
		return c.sendMessage(ctx, p)
	case errors.Is(context.Cause(ctx), exchange.ErrTimeUp):
		return "", p.Fail(client.CodeTimeout, "", "its card has not come within "+p.Endpoint.Limit().String(), err)
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case isCardless(err):
		return c.probeCardless(ctx, p, err)
	}
	return "", p.Fail(client.Judge(err).Code, "", err.Error(), err)
}

// withoutRelease returns a context that ends with ctx, but never as released: no
// other worker continues this call, so its task must be ended.
func withoutRelease(ctx context.Context) (call context.Context, done func()) {
	call, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		if backend.Released(ctx) {
			cancel(context.Canceled)
			return
		}
		cancel(context.Cause(ctx))
	})
	return call, func() {
		stop()
		cancel(nil)
	}
}

// newPeer returns the agent. It reaches nothing.
func (c *Request) newPeer() (*client.Peer, error) {
	at, err := parseCallURL(c.CardURL)
	if err != nil {
		return nil, err
	}
	return client.NewStranger(&client.Stranger{
		CardURL: at, BaseURL: rootOf(at), Header: c.requestHeader(), AllowPrivate: c.AllowPrivate,
		Timeout: cmp.Or(c.Timeout, DefaultTimeout), MaxReply: maxReply, Poll: client.Pace{Next: callPoll, Most: maxCallPoll},
	})
}

// parseCallURL parses where a card is. The errors do not repeat it.
func parseCallURL(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return nil, errors.New("the URL of the agent card does not parse")
	case u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return nil, errors.New("the URL of the agent card must start with http:// or https:// and name a host")
	case u.User != nil:
		return nil, errors.New("the URL of the agent card must not contain a user or password")
	}
	u.Fragment, u.RawFragment = "", ""
	return u, nil
}

// rootOf returns the URL of the agent that a card is below: without the usual
// places of cards, or the file that the card is.
func rootOf(card *url.URL) string {
	path, _, found := strings.Cut(card.EscapedPath(), "/.well-known/")
	if !found && strings.HasSuffix(path, ".json") {
		path = path[:strings.LastIndexByte(path, '/')]
	}
	root := url.URL{Scheme: card.Scheme, Host: card.Host}
	return root.String() + strings.TrimRight(path, "/")
}

// reserved are the headers that the protocol and HTTP set themselves.
var reserved = []string{
	"Host", "Content-Type", "Content-Length", "Transfer-Encoding", "Connection", "Upgrade", "Te", "Trailer", "Accept", "Accept-Encoding",
	http.CanonicalHeaderKey(a2a.SvcParamVersion), http.CanonicalHeaderKey(a2a.SvcParamExtensions),
}

// requestHeader returns what requests carry.
func (c *Request) requestHeader() http.Header {
	header := http.Header{}
	for name, value := range c.Headers {
		if name = http.CanonicalHeaderKey(name); !slices.Contains(reserved, name) {
			header[name] = []string{value}
		}
	}
	return header
}

// sendMessage sends the message to an agent that can be spoken to. A task that is not
// followed to its end is ended.
func (c *Request) sendMessage(ctx context.Context, p *client.Peer) (string, error) {
	grant := func() *a2awire.Grant { return &a2awire.Grant{Depth: 1} }
	x := exchange.New(p, exchange.Hooks{Grant: grant}, exchange.Position{ContextID: c.ContextID}, false)
	if err := x.Draft(exchange.MessageID(cmp.Or(c.MessageID, uuid.NewString()), 1)); err != nil {
		return "", err
	}
	x.Say([]*a2a.Part{a2a.NewTextPart(c.Text)})
	if ctx.Err() != nil {
		return "", x.Ended(ctx)
	}
	err := x.Run(ctx)
	if err == nil && x.Asks() {
		return "", endAsking(ctx, p, x)
	}
	var reply string
	if err == nil {
		reply, err = x.Answer()
	}
	if err == nil {
		err = x.Verdict()
	}
	if canceled, ok := errors.AsType[*exchange.CanceledError](err); ok {
		return "", p.Fail(client.CodeRemoteFailed, "", canceled.Error(), nil)
	}
	if err != nil {
		x.Abandon(ctx)
		return "", err
	}
	return reply + exchange.NoteFiles(reply, x.Files(), dropFile), nil
}

// endAsking ends the task of an agent that asks something, and returns the error
// of the call.
func endAsking(ctx context.Context, p *client.Peer, x *exchange.Exchange) error {
	question, _ := x.Question()
	left := p.CancelTask(context.WithoutCancel(ctx), x.Position().TaskID)
	return x.Fail(CodeInputRequired, "nobody can answer the agent here, so its task is ended; it asks: "+question, left)
}

// dropFile keeps no file: a call belongs to no session.
func dropFile(int, string, string, []byte) (string, error) { return "", tools.ErrNoSession }

// place is where an agent without a card may be, and how it is spoken to there.
type place struct {
	path    string
	binding a2a.TransportProtocol
	version a2a.ProtocolVersion
}

// places are the usual paths of agents without a card, the likeliest first. The
// paths of the HTTP binding are appended to them: /message:send, and in version 0.3
// /v1/message:send.
var places = []place{
	{"", a2a.TransportProtocolJSONRPC, client.Version03},
	{"", a2a.TransportProtocolJSONRPC, client.Version1},
	{"/rpc", a2a.TransportProtocolJSONRPC, client.Version03},
	{"/rpc", a2a.TransportProtocolJSONRPC, client.Version1},
	{"", a2a.TransportProtocolHTTPJSON, client.Version1},
	{"", a2a.TransportProtocolHTTPJSON, client.Version03},
	{"/message/send", a2a.TransportProtocolJSONRPC, client.Version03},
}

// probeCardless sends the message to an agent without a usable card: to one path
// after the other, until an agent understands it. It stops after a path that may
// have accepted the message.
func (c *Request) probeCardless(ctx context.Context, p *client.Peer, noCard error) (string, error) {
	gone := -1 // where nobody answers at all, in any version
	for i, at := range places {
		if gone >= 0 && at.path == places[gone].path && at.binding == places[gone].binding {
			continue
		}
		p.Assume(at.path, at.binding, at.version)
		reply, err := c.sendMessage(ctx, p)
		if !isAbsent(err) {
			return reply, err
		}
		if !errors.Is(err, a2a.ErrMethodNotFound) && !errors.Is(err, a2a.ErrVersionNotSupported) {
			gone = i
		}
	}
	return "", p.Fail(client.CodeCard, "", fmt.Sprintf("%v; and no agent answers without one", noCard), noCard)
}

// isCardless reports whether the error means that the peer has no usable card, rather than that
// it is unreachable or rejects the request.
func isCardless(err error) bool {
	if refused, ok := errors.AsType[*client.HTTPError](err); ok {
		return refused.Status >= http.StatusBadRequest && client.JudgeStatus(refused.Status).Code == client.CodeRefused
	}
	return errors.As(err, new(*client.CardError)) || errors.As(err, new(*client.ContentTypeError))
}

// isAbsent reports whether the error of a message means that no agent understands
// it there.
func isAbsent(err error) bool {
	if errors.Is(err, a2a.ErrMethodNotFound) || errors.Is(err, a2a.ErrVersionNotSupported) {
		return true
	}
	if refused, ok := errors.AsType[*client.HTTPError](err); ok && refused.Err == nil {
		return slices.Contains([]int{http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusGone, http.StatusNotImplemented}, refused.Status)
	}
	return false
}
