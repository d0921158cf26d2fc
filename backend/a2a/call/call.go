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

// defaultTimeout is how long a called agent may take to reply.
const defaultTimeout = 5 * time.Minute

// CodeInputRequired means that a peer asked a question during a tool call, which cannot be
// answered.
const CodeInputRequired = "input_required"

// Request is one message to an untrusted agent that an outside party names for a turn. Nothing of
// it is stored.
type Request struct {
	// CardURL is the URL of the agent's card. Without a usable card, the agent is tried at the
	// usual paths below this URL.
	CardURL string
	// Headers are sent with every request to the card's origin only. Headers that the protocol sets
	// itself are not replaced.
	Headers map[string]string
	// ContextID is the message's conversation; empty starts a new one.
	ContextID string
	// Text is the message to the agent.
	Text string
	// MessageID identifies the message across repeated sends, so that the agent can detect
	// duplicates; empty generates one.
	MessageID string
	// AllowPrivate are the reachable hosts on private networks, in the form of netguard.New. All
	// others are blocked, whatever the card says.
	AllowPrivate []string
	// Timeout limits the entire call; 0 means five minutes.
	Timeout time.Duration
}

// errNoText reports an empty message.
var errNoText = errors.New("the message to the agent is empty")

// Ask sends the message and returns the text of the reply. A task at the agent is followed to its
// end, and canceled if ctx ends. The error is a *PeerError with the progress, ctx's error, or
// describes an invalid call. It never contains header values.
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

// newPeer returns the agent without connecting to it.
func (c *Request) newPeer() (*client.Peer, error) {
	at, err := parseCallURL(c.CardURL)
	if err != nil {
		return nil, err
	}
	return client.NewStranger(at, rootOf(at), c.requestHeader(), cmp.Or(c.Timeout, defaultTimeout), c.AllowPrivate)
}

// parseCallURL parses a card's URL. The errors do not repeat it.
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

// rootOf returns the agent's URL for a card's URL: without the well-known path or the card's file
// name.
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

// requestHeader returns the header of requests.
func (c *Request) requestHeader() http.Header {
	header := http.Header{}
	for name, value := range c.Headers {
		if name = http.CanonicalHeaderKey(name); !slices.Contains(reserved, name) {
			header[name] = []string{value}
		}
	}
	return header
}

// sendMessage sends the message to an agent with a known interface. A task that is not followed to
// its end is canceled.
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
	return reply + exchange.NoteFiles(reply, x.Files(), func(int, string, string, []byte) (string, error) {
		return "", tools.ErrNoSession // a call belongs to no session
	}), nil
}

// endAsking ends the task of an agent that asked a question, and returns the call's error.
func endAsking(ctx context.Context, p *client.Peer, x *exchange.Exchange) error {
	question, _ := x.Question()
	left := p.CancelTask(context.WithoutCancel(ctx), x.Position().TaskID)
	return x.Fail(CodeInputRequired, "nobody can answer the agent here, so its task is ended; it asks: "+question, left)
}

// place is a possible path of an agent without a card, and the protocol to use there.
type place struct {
	path    string
	binding a2a.TransportProtocol
	version a2a.ProtocolVersion
}

// places are the usual paths of agents without a card, most likely first. The paths of the HTTP
// binding are appended to them: /message:send, and in version 0.3 /v1/message:send.
var places = []place{
	{"", a2a.TransportProtocolJSONRPC, client.Version03},
	{"", a2a.TransportProtocolJSONRPC, client.Version1},
	{"/rpc", a2a.TransportProtocolJSONRPC, client.Version03},
	{"/rpc", a2a.TransportProtocolJSONRPC, client.Version1},
	{"", a2a.TransportProtocolHTTPJSON, client.Version1},
	{"", a2a.TransportProtocolHTTPJSON, client.Version03},
	{"/message/send", a2a.TransportProtocolJSONRPC, client.Version03},
}

// probeCardless sends the message to an agent without a usable card, trying one path after another
// until an agent understands it. It stops after a path that may have accepted the message.
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

// isAbsent reports whether a message's error means that no agent at that path understands it.
func isAbsent(err error) bool {
	if errors.Is(err, a2a.ErrMethodNotFound) || errors.Is(err, a2a.ErrVersionNotSupported) {
		return true
	}
	if refused, ok := errors.AsType[*client.HTTPError](err); ok && refused.Err == nil {
		return slices.Contains([]int{http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusGone, http.StatusNotImplemented}, refused.Status)
	}
	return false
}
