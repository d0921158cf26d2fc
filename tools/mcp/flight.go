package mcp

import (
	"context"
	"crypto/rand"
	"errors"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/agentruntime/agentruntime/tools/mcp/internal/mend"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.opentelemetry.io/otel/propagation"
)

const (
	// maxNotes bounds the progress reports and log lines shown for a call.
	maxNotes = 1000
	// settlePing is how long a server may take to confirm that it has noticed a cancellation.
	settlePing = 2 * time.Second
)

// request is a request to a server, which the server may interrupt with questions.
type request struct {
	// name describes the request in errors, such as "tool echo".
	name   string
	effect tools.Effect
	// send sends the request with the answers of the previous round.
	send func(ctx context.Context, session *session, round *round) (*reply, error)
}

// round is one round of a request. A server without sessions starts another one to ask a question.
type round struct {
	meta      mcp.Meta
	responses mcp.InputResponseMap
	state     string
	// task is the task that the request has become.
	task *taskID
}

// reply is the result of a round: a result for the call, or requests for input.
type reply struct {
	result tools.Result
	inputs mcp.InputRequestMap
	state  string
}

// flight is a running round in a session. It may outlive its call, which waits for the answer to a
// question.
type flight struct {
	session *session
	// tag identifies the flight in messages; the server does not know it.
	tag string
	// owner is the agent session of the call.
	owner string
	// ctx is canceled when the flight or the session ends.
	ctx    context.Context
	cancel context.CancelCauseFunc
	// asked passes the server's questions to the call.
	asked chan *question
	// done is closed when reply and err are set.
	done  chan struct{}
	reply *reply
	err   error

	mu sync.Mutex
	// host serves the call that waits for the flight; nil if absent.
	host  tools.Host
	notes int
	// samples counts the server's requests to the model, and questions its open questions.
	samples, questions atomic.Int32
}

// question is a question of the server to the user.
type question struct {
	request interaction.Request
	answer  chan *mcp.ElicitResult
}

// delivery tracks the HTTP request that carried a flight's message. The carrier finds it in the
// context of the request.
type delivery struct {
	tag string
	// refused is set if the server did not know the session.
	refused atomic.Bool
}

type deliveryKey struct{}

// startFlight sends a round. It calls leave when the flight has ended.
func (c *session) startFlight(ctx context.Context, r *request, next *round, call *tools.Call, leave func()) (*flight, error) {
	f := &flight{session: c, tag: rand.Text(), owner: call.SessionID, asked: make(chan *question), done: make(chan struct{}), host: call.Host}
	d := &delivery{tag: f.tag}
	f.ctx, f.cancel = context.WithCancelCause(context.WithValue(context.WithoutCancel(ctx), deliveryKey{}, d))
	next.meta = traceMeta(ctx)
	if c.isStateless() {
		next.meta[mcp.MetaKeyLogLevel] = "info"
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		f.cancel(nil)
		leave()
		return nil, mcp.ErrConnectionClosed
	}
	c.calls++
	token := strconv.FormatUint(c.calls, 10)
	next.meta["progressToken"] = token
	c.flights[token] = f
	c.running.Go(func() { f.run(r, next, d, token, leave) })
	return f, nil
}

// run sends the round and waits for its reply. The error wraps [mcp.ErrSessionMissing] if the
// server rejected the message because it does not know the session.
func (f *flight) run(r *request, next *round, d *delivery, token string, leave func()) {
	c := f.session
	stop := context.AfterFunc(c.ctx, func() { f.cancel(nil) })
	defer stop()
	f.reply, f.err = f.send(r, next)
	if f.err != nil && d.refused.Load() && !errors.Is(f.err, mcp.ErrSessionMissing) {
		// The session ended because of it, before the answer arrived.
		f.err = errors.Join(mcp.ErrSessionMissing, f.err)
	}
	strays := f.ctx.Err() != nil && c.ctx.Err() == nil && !c.isStateless()
	c.mu.Lock()
	delete(c.flights, token)
	if strays {
		c.strays++
	}
	c.mu.Unlock()
	leave()
	close(f.done)
	f.cancel(nil)
	if strays {
		c.awaitStrays()
	}
}

// send sends the round. A server whose answer causes a panic must not end the process.
func (f *flight) send(r *request, next *round) (_ *reply, err error) {
	defer f.session.recoverPanic(&err)
	return r.send(f.ctx, f.session, next)
}

// awaitStrays waits until the server has noticed a cancellation, so that its questions for the
// canceled call cannot be assigned to another.
func (c *session) awaitStrays() {
	ctx, cancel := context.WithTimeout(c.ctx, settlePing)
	defer cancel()
	if c.client.Ping(ctx, nil) != nil {
		return // the owner of its questions is unknown until the session ends
	}
	c.mu.Lock()
	c.strays--
	c.mu.Unlock()
}

// wait waits for the reply, or for a question. The flight is canceled when ctx ends.
func (f *flight) wait(ctx context.Context) *question {
	select {
	case <-f.done:
	case q := <-f.asked:
		return q
	case <-ctx.Done():
		f.cancel(context.Cause(ctx))
		<-f.done
	}
	return nil
}

// isLost reports whether the flight has ended without a reply.
func (f *flight) isLost() bool {
	select {
	case <-f.done:
		return f.err != nil
	default:
		return f.ctx.Err() != nil
	}
}

// attach makes host serve the flight; nil detaches it.
func (f *flight) attach(host tools.Host) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.host = host
}

// waitingHost returns the host of the call that waits for the flight, or nil.
func (f *flight) waitingHost() tools.Host {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.host
}

// showNote shows a line to observers of the call.
func (f *flight) showNote(text string) {
	f.mu.Lock()
	host := f.host
	f.notes++
	if f.notes > maxNotes {
		host = nil
	}
	f.mu.Unlock()
	if host != nil {
		host.Progress(redactTexts(clip.Visible(text, maxDescription), f.session.target.hidden()) + "\n")
	}
}

// findFlight returns the flight of a server's message: the one in whose stream it came, or else the
// only candidate. It returns nil if there are several, or if the message may belong to a call,
// waiting for an answer, from another session of an agent.
func (c *session) findFlight(meta mcp.Meta) *flight {
	c.mu.Lock()
	defer c.mu.Unlock()
	if tag, ok := meta[mend.FlightKey].(string); ok {
		for _, f := range c.flights {
			if f.tag == tag {
				return f
			}
		}
	}
	var found, waits *flight
	for _, f := range c.flights {
		switch {
		case f.waitingHost() == nil && len(c.flights) > 1: // the server itself waits for an answer
			waits = f
		case found != nil:
			return nil
		default:
			found = f
		}
	}
	if c.strays > 0 || found != nil && waits != nil && waits.owner != found.owner {
		return nil
	}
	return found
}

// flightOf returns the flight whose context ctx is; nil if it has ended.
func (c *session) flightOf(ctx context.Context) *flight {
	d, ok := ctx.Value(deliveryKey{}).(*delivery)
	if !ok {
		return nil
	}
	return c.findFlight(mcp.Meta{mend.FlightKey: d.tag})
}

// routeProgress shows progress at the call that it belongs to.
func (c *session) routeProgress(p *mcp.ProgressNotificationParams) {
	token, ok := p.ProgressToken.(string)
	if !ok {
		return
	}
	c.mu.Lock()
	f := c.flights[token]
	c.mu.Unlock()
	if f != nil {
		f.showNote(progressText(p))
	}
}

// progressText returns progress as a line of text.
func progressText(p *mcp.ProgressNotificationParams) string {
	number := func(f float64) string { return strconv.FormatFloat(f, 'g', 6, 64) }
	text := number(p.Progress)
	if p.Total > 0 {
		text += "/" + number(p.Total)
	}
	return strings.TrimSpace(text + " " + p.Message)
}

// traceMeta returns metadata that adds a call to the trace of ctx; every transport carries it.
// Outside of traces there is none. Baggage is not sent: it holds whatever callers put there, and
// the server may belong to anyone.
func traceMeta(ctx context.Context) mcp.Meta {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	meta := make(mcp.Meta, len(carrier))
	for name, value := range carrier {
		meta[name] = value
	}
	return meta
}
