package runtime

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/resolve"
	"go.uber.org/zap"
)

// Request asks for one turn.
type Request struct {
	// AgentID is the agent that works on it.
	AgentID string
	// Input is what the turn works on: at least one message.
	Input []model.Message
	// History is the conversation ahead of the input. The runtime does not
	// modify it.
	History []model.Message
	// SessionID names the conversation; empty makes it a conversation of this
	// turn alone.
	SessionID string
	// TurnID is the turn's id; empty makes a new one.
	TurnID string
	// Params override those of the agent, field by field.
	Params model.Params
}

// Prompt returns a request for a turn whose input is one message of the user.
func Prompt(agentID, text string) Request {
	return Request{AgentID: agentID, Input: []model.Message{model.User(text)}}
}

// Result is what a turn came to.
type Result struct {
	TurnID    string
	SessionID string
	// Agent is the id of the agent that worked on it.
	Agent string
	// Revision is the number of the revision that the turn resolved in.
	Revision    uint64
	Status      event.Status
	Termination event.Termination
	// Response is the text of the last answer.
	Response string
	// Messages are those that the turn added to the conversation behind its
	// input.
	Messages []model.Message
	Steps    int
	Usage    model.Usage
	// Tickets are what suspended calls wait for.
	Tickets []*plugins.Ticket
	// DeadLetters are what plugins asked for and could not be carried out.
	DeadLetters []plugins.DeadLetter
}

// TurnError says that a turn began and failed. The cause tells why: a
// *model.Error, a *plugins.HookError, a *backend.PanicError, the end of the
// context.
type TurnError struct {
	TurnID string
	Agent  string
	// Termination is how the turn ended.
	Termination event.Termination
	Err         error
}

// Error names the agent and the cause.
func (e *TurnError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("turn of agent %s: %s: %s", e.Agent, e.Termination.Type, e.Termination.Detail)
	}
	return fmt.Sprintf("turn of agent %s: %v", e.Agent, e.Err)
}

// Unwrap returns the cause.
func (e *TurnError) Unwrap() error { return e.Err }

// ErrNoInput says that a request has no message to work on.
var ErrNoInput = errors.New("the request has no input: give at least one message")

// Run runs a turn on the caller's goroutine and returns what it came to. The
// events go to the sink, which may be nil, from run_start to exactly one
// run_finish.
//
// A request that cannot begin, because its agent does not resolve or it has no
// input, gives an error, no result and no event. A turn that began and failed
// or was cancelled gives both a result and a *TurnError.
func (r *AgentRuntime) Run(ctx context.Context, req Request, sink event.Sink) (*Result, error) {
	return r.run(ctx, r.registry.Current(), &req, sink, nil)
}

// ancestry is where a delegated turn comes from.
type ancestry struct {
	turnID, callID string
	// chain are the agents above, the root first.
	chain   []string
	ceiling []plugins.CeilingGate
}

func (r *AgentRuntime) run(ctx context.Context, rev *registry.Revision, req *Request, sink event.Sink, parent *ancestry) (*Result, error) {
	if len(req.Input) == 0 {
		return nil, ErrNoInput
	}
	plan, err := resolve.Resolve(ctx, rev, req.AgentID, resolve.Options{})
	if err != nil {
		return nil, err
	}
	where, err := r.place(plan, req)
	if err != nil {
		return nil, err
	}
	h := r.newHost(plan, req, sink, parent)
	job := h.job(plan, req)
	begun := time.Now()
	result, err := execute(ctx, where, job, h)
	return h.finish(rev, result, err, begun)
}

// place returns the backend that runs the plan, if it can do what the request
// needs.
func (r *AgentRuntime) place(plan *resolve.Plan, req *Request) (where backend.Backend, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("the backend of agent %s cannot say what it can do: %w", plan.Agent.ID, backend.Panicked(v))
		}
	}()
	where = r.local
	if plan.Remote != nil {
		where = plan.Remote
	}
	profile := where.Profile()
	need := backend.Requirements{Output: backend.OutputText, Transcript: backend.TranscriptPrompt}
	if len(req.History) > 0 {
		need.Transcript = backend.TranscriptFull
	}
	if req.Params != (model.Params{}) {
		need.Overrides = backend.OverrideParams
	}
	if missing := profile.Check(&need); missing != nil {
		return nil, &backend.MismatchError{Agent: plan.Agent.ID, Mismatches: missing}
	}
	return where, nil
}

// execute runs the job and turns a panic of the backend, or of the sink behind
// it, into an error.
func execute(ctx context.Context, where backend.Backend, job *backend.Job, h *host) (result *backend.Result, err error) {
	defer func() {
		if v := recover(); v != nil {
			result, err = nil, backend.Panicked(v)
		}
	}()
	h.start()
	result, err = where.Execute(ctx, job, h)
	if err != nil {
		_ = err.Error() // a nil pointer in an error panics here, and not behind the turn's back
	}
	return result, err
}

// finish emits the one terminal event and returns what the turn came to.
func (h *host) finish(rev *registry.Revision, res *backend.Result, err error, begun time.Time) (*Result, error) {
	if res == nil {
		res = &backend.Result{}
	}
	if err != nil {
		res.Termination = backend.TerminationOf(err)
	} else if res.Termination.Type == "" {
		res.Termination.Type = event.NaturalEnd
	}
	status := res.Termination.Status()
	done := &event.RunFinish{Status: status, Termination: res.Termination, Usage: event.Usage(res.Usage), Steps: res.Steps}
	if res.Response != "" || status == event.StatusSucceeded {
		done.Result = &event.Outcome{Response: res.Response}
	}
	if sinkErr := h.last(done); err == nil {
		err = sinkErr
	}
	h.log(res, status, err, begun)
	out := &Result{
		TurnID: h.turnID, SessionID: h.sessionID, Agent: h.agent, Revision: rev.Number(),
		Status: status, Termination: res.Termination, Response: res.Response, Messages: res.Messages,
		Steps: res.Steps, Usage: res.Usage, Tickets: res.Tickets, DeadLetters: res.DeadLetters,
	}
	if err != nil || status == event.StatusFailed {
		return out, &TurnError{TurnID: h.turnID, Agent: h.agent, Termination: res.Termination, Err: err}
	}
	return out, nil
}

func (h *host) log(res *backend.Result, status event.Status, err error, begun time.Time) {
	for i := range res.DeadLetters {
		l := &res.DeadLetters[i]
		h.runtime.logger.Warn("a plugin did not do what it was asked for", zap.String("turn_id", h.turnID),
			zap.String("agent", h.agent), zap.String("plugin", l.Plugin), zap.String("action", l.Action.Key), zap.Error(l.Err))
	}
	level := zap.DebugLevel
	if status == event.StatusFailed {
		level = zap.WarnLevel
	}
	entry := h.runtime.logger.Check(level, "turn ended")
	if entry == nil {
		return
	}
	fields := []zap.Field{
		zap.String("turn_id", h.turnID), zap.String("session_id", h.sessionID), zap.String("agent", h.agent),
		zap.String("status", string(status)), zap.String("termination", string(res.Termination.Type)),
		zap.Int("steps", res.Steps), zap.Int("tokens", res.Usage.Total()),
		zap.Duration("duration", time.Since(begun)),
	}
	if panicked, ok := errors.AsType[*backend.PanicError](err); ok {
		fields = append(fields, zap.ByteString("stack", panicked.Stack))
	}
	entry.Write(append(fields, zap.Error(err))...)
}
