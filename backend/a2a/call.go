package a2abackend

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/netguard"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/telemetry"
	"github.com/agentruntime/agentruntime/tools"
)

// DefaultCallTimeout is how long an agent that is called may take to reply.
const DefaultCallTimeout = 5 * time.Minute

// CodeInputRequired is a peer that asks something where nobody can answer: the
// call of a tool.
const CodeInputRequired = "input_required"

// Call is one message to an agent that somebody outside names for a turn, which
// nobody vouches for. Nothing is kept of it.
type Call struct {
	// CardURL is where the agent's card is. Where there is none that can be used,
	// the agent is looked for at the places below it at which agents usually are.
	CardURL string
	// Headers go with every request to the origin of the card, and nowhere else.
	// Those that the protocol sets itself stay as they are.
	Headers map[string]string
	// ContextID is the conversation that the message belongs to; empty begins one.
	ContextID string
	// Text is what the agent is told.
	Text string
	// MessageID is the same whenever the same message is sent again, and by it an
	// agent knows that it has it; empty makes one up.
	MessageID string
	// AllowPrivate are the hosts on a private network that may be reached, as
	// netguard.New takes them. All others may not, wherever the card says.
	AllowPrivate []string
	// Timeout is how long everything may take; 0 is DefaultCallTimeout.
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

// errNoText says that there is nothing to send.
var errNoText = errors.New("the message to the agent is empty")

// Ask sends the message and returns the text of the reply, once the agent has
// given it. A task at the agent is followed to its end, and ended when ctx is.
// The error is a *PeerError that says how far it came, ctx's, or what is wrong
// with the call. It holds none of the headers' values.
func (c *Call) Ask(ctx context.Context) (string, error) {
	if c.Text == "" {
		return "", errNoText
	}
	p, err := c.peer()
	if err != nil {
		return "", err
	}
	defer func() { _ = p.close() }()
	// What is a turn to the agent is a tool's call here, and no step.
	ctx, done := kept(telemetry.WithTurn(ctx, cmp.Or(c.MessageID, uuid.NewString())))
	defer done()
	ctx, cancel := context.WithTimeoutCause(ctx, p.endpoint.Limit(), errTimeUp)
	defer cancel()
	_, err = p.connect(ctx)
	switch {
	case err == nil:
		return c.ask(ctx, p)
	case errors.Is(context.Cause(ctx), errTimeUp):
		return "", p.fail(codeTimeout, "", "its card has not come within "+p.endpoint.Limit().String(), err)
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case cardless(err):
		return c.probe(ctx, p, err)
	}
	return "", p.fail(judge(err).code, "", err.Error(), err)
}

// kept returns a context that ends when ctx does, but never because the turn goes
// on with another worker: nobody goes on with this call, so its task must be ended.
func kept(ctx context.Context) (call context.Context, done func()) {
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

// peer returns the agent. It reaches nothing.
func (c *Call) peer() (*peer, error) {
	at, err := parseCallURL(c.CardURL)
	if err != nil {
		return nil, err
	}
	guard, err := netguard.New(c.AllowPrivate...)
	if err != nil {
		return nil, err
	}
	o := defaultOptions()
	o.allowV03, o.anyOrigin, o.concurrency = true, true, 1
	o.pollInterval, o.maxPollInterval = callPoll, maxCallPoll
	o.maxOutputBytes = maxReply
	// Over gRPC a header would go wherever the card says.
	o.transports = []a2a.TransportProtocol{a2a.TransportProtocolJSONRPC, a2a.TransportProtocolHTTPJSON}
	timeout := spec.Duration(cmp.Or(c.Timeout, DefaultCallTimeout))
	p := &peer{
		endpoint: &spec.Endpoint{BaseURL: rootOf(at), Timeout: &timeout}, options: o, logger: zap.NewNop(),
		base: netguard.Transport(guard), cardURL: at, slots: make(chan struct{}, o.concurrency),
	}
	header := c.header()
	p.http = &transport{
		base: p.base, auth: header, trust: trusted{origin(at): true}, secrets: append(header.secrets(), querySecrets(at)...),
		limits: limits{idle: o.idleTimeout, event: maxReply, answer: 2 * maxReply},
	}
	p.grpc = newGRPCConnections(guard, p.http)
	p.cards = cardCache{fetch: p.fetchCard, open: p.open, ttl: o.cardTTL}
	return p, nil
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

// querySecrets returns what of a URL's query must not be shown: errors name the
// URL, and peers may repeat it.
func querySecrets(u *url.URL) []string {
	secrets := []string{}
	if u.RawQuery != "" {
		secrets = append(secrets, u.RawQuery)
	}
	for _, values := range u.Query() {
		secrets = append(secrets, slices.DeleteFunc(values, func(v string) bool { return len(v) < shortestSecret })...)
	}
	return secrets
}

// reserved are the headers that the protocol and HTTP set themselves.
var reserved = []string{
	"Host", "Content-Type", "Content-Length", "Transfer-Encoding", "Connection", "Upgrade", "Te", "Trailer", "Accept", "Accept-Encoding",
	http.CanonicalHeaderKey(a2a.SvcParamVersion), http.CanonicalHeaderKey(a2a.SvcParamExtensions),
}

// header returns what requests carry.
func (c *Call) header() fixedHeader {
	header := fixedHeader{}
	for name, value := range c.Headers {
		if name = http.CanonicalHeaderKey(name); !slices.Contains(reserved, name) {
			header[name] = []string{value}
		}
	}
	return header
}

// callee is the id of the agent in the turn that a call is to it.
const callee = "callee"

// ask sends the message to an agent that can be spoken to.
func (c *Call) ask(ctx context.Context, p *peer) (string, error) {
	r := &remote{peer: p}
	job := &backend.Job{
		TurnID: cmp.Or(c.MessageID, uuid.NewString()), Agent: &spec.Agent{ID: callee}, Input: []model.Message{model.User(c.Text)},
		Session: remember(map[string]json.RawMessage{}, callee, p.where(), c.ContextID),
	}
	result, err := r.Execute(ctx, job, listener{tools.NoSession})
	if err != nil {
		return "", err
	}
	switch t := &result.Termination; t.Type {
	case event.NaturalEnd:
		return result.Response, nil
	case event.Suspended:
		question := result.Response
		left := r.Abort(context.WithoutCancel(ctx), result.State)
		return "", p.fail(CodeInputRequired, taskOf(result.State), "nobody can answer the agent here, so its task is ended; it asks: "+question, left)
	default:
		return "", p.fail(CodeRemoteFailed, taskOf(result.State), t.Detail, nil)
	}
}

// taskOf returns the task of a turn that waits; empty for others.
func taskOf(s *backend.State) a2a.TaskID {
	if s == nil || s.Remote == nil {
		return ""
	}
	return a2a.TaskID(s.Remote.ID)
}

// listener takes in the reply of an agent. Whoever called waits for the whole.
type listener struct{ session tools.Session }

var _ backend.Host = listener{}

// Emit drops what happens on the way.
func (listener) Emit(event.Data) {}

// Delegate is asked of nobody: the agent is elsewhere.
func (listener) Delegate(_ context.Context, req tools.DelegateRequest) (*tools.DelegateResult, error) {
	return nil, fmt.Errorf("delegate to agent %s: a call to an agent elsewhere delegates nothing", req.AgentID)
}

// HandOff is asked of nobody, either.
func (listener) HandOff(_ context.Context, id string) (*spec.Agent, *backend.Environment, error) {
	return nil, nil, fmt.Errorf("hand off to agent %s: a call to an agent elsewhere is not handed off", id)
}

// Session keeps nothing.
func (l listener) Session() tools.Session { return l.session }

// FlushSession has nothing to show.
func (listener) FlushSession() {}
