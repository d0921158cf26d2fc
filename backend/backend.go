// Package backend holds the contract of the places where agents run: the local
// loop, which is a sub-package, and remote peers.
package backend

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/interaction"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/plugins/execution"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/agentruntime/agentruntime/tools/toolset"
)

// Backend is a place where agents run.
//
// Execute runs one turn on the caller's goroutine and returns when it is over.
// It is called from many goroutines at once, once per turn. It emits what
// happens through the host, except the events that open and end the turn, which
// the runtime emits. An error means that the turn failed; the result then says
// how far it came and may be nil. It returns soon after ctx ends.
type Backend interface {
	Profile() Profile
	Execute(ctx context.Context, job *Job, host Host) (*Result, error)
}

// Factory makes the backend that reaches an endpoint. Validate and New are
// called when a revision is published and must not reach out.
type Factory interface {
	// Kind is the value of an endpoint's backend field.
	Kind() string
	// Validate reports what is wrong with an endpoint, with paths relative to
	// it.
	Validate(endpoint *spec.Endpoint) diag.List
	// New makes the backend of an endpoint that Validate found right.
	New(endpoint *spec.Endpoint) (Backend, error)
}

// Discoverer is implemented by factories that can ask a peer for its agents.
// Their Validate is given the endpoints of sources, too, which have no target.
type Discoverer interface {
	Factory
	// Discover returns the agents of a source, with ids without the source's
	// name. Each has an endpoint.
	Discover(ctx context.Context, source *spec.RemoteSource) ([]*spec.Agent, error)
}

// Host is what a running turn can ask of the runtime.
type Host interface {
	// Emit appends an event to the turn's log. It is called from the goroutine
	// that runs Execute only, until Execute returns.
	Emit(data event.Data)
	// Delegate runs a turn of another agent, as part of this one. It may be
	// called from several goroutines at once.
	Delegate(ctx context.Context, req tools.DelegateRequest) (*tools.DelegateResult, error)
	// HandOff resolves the agent that takes over the conversation, in the turn's
	// revision. From then on the turn is that agent's.
	HandOff(ctx context.Context, agentID string) (*spec.Agent, *Environment, error)
	// Session is the session that the turn belongs to, for its tools and hooks;
	// never nil. It is safe for concurrent use.
	Session() tools.Session
	// FlushSession emits what became of the session since the last time. It is
	// called from the goroutine that runs Execute only: after whatever may have
	// changed the session, and before the turn's state is handed out.
	FlushSession()
}

// Aborter is implemented by backends whose turns go on elsewhere when nobody
// here works on them. Abort ends such a turn that was ended here meanwhile, with
// the state that it had; an error says that it may still go on there.
type Aborter interface {
	Abort(ctx context.Context, state *State) error
}

// ErrReleased is the cause of a context under which Execute runs, when the turn
// has not ended but goes on with another worker, or with this one later. What
// runs elsewhere for the turn must be left running.
var ErrReleased = errors.New("the turn goes on with another worker")

// Released reports whether a context has ended because its turn goes on with
// another worker.
func Released(ctx context.Context) bool { return errors.Is(context.Cause(ctx), ErrReleased) }

// ErrYield is returned by Job.Checkpoint to stop a turn between two steps, and
// then by Execute. The turn has not ended.
var ErrYield = errors.New("the turn stops between two steps")

// Job is a turn to run. It is read-only for the backend.
type Job struct {
	TurnID    string
	SessionID string
	Agent     *spec.Agent
	// History is the conversation ahead of the Input, which is what the turn
	// works on.
	History, Input []model.Message
	// Local is the environment of an agent that runs on the local loop; nil for
	// an endpoint-backed agent, whose backend knows its peer.
	Local *Environment
	// Params override those of the agent, field by field.
	Params model.Params
	// Session is the state that earlier turns of the session left.
	Session map[string]json.RawMessage
	// State is where a turn goes on that was stopped or suspended; nil begins
	// it.
	State *State
	Limits
	// Abort ends the context that Execute runs with, for the reason given; nil
	// when nobody can.
	Abort context.CancelCauseFunc
	// Checkpoint, when set, is handed the turn's state after each step that does
	// not end it. An error stops the turn: ErrYield between two steps, any other
	// as a failure.
	Checkpoint func(ctx context.Context, state *State) error
	// Indeterminate says what becomes of a call that was under way when the
	// runtime stopped and must not be repeated; empty means IndeterminateError.
	Indeterminate Indeterminate
}

// Limits is what a turn is held to, besides what its agent declares.
type Limits struct {
	// Ceiling is what the agents that delegated the turn are held to: none of
	// its calls may go beyond.
	Ceiling []plugins.CeilingGate
	// Meter holds the turn to its budgets and to those of the turns above; nil
	// allows everything.
	Meter *Meter
	// Depth is how many agents' turns led to this one, those of other runtimes
	// included, and MaxDepth how many may: an agent that could go beyond is not
	// called.
	Depth, MaxDepth int
}

// Environment is what the local loop runs an agent with. Env belongs to one
// turn; the rest is shared by all turns of a revision.
type Environment struct {
	// Model asks the agent's model, or the members of its pool.
	Model model.Executor
	// Upstream is the vendor's name of the model.
	Upstream string
	// Pool tells that Model is a pool, whose members have names of their own.
	Pool  bool
	Env   *execution.Env
	Tools *toolset.Set
	// Offered are the tools the model is told of, a part of Tools: those that
	// no gate denies whatever their arguments.
	Offered []model.Tool
	// ModelID is the id of the model, or of the pool, and Provider the model's
	// vendor, or the id of its provider where that is not known.
	ModelID  string
	Provider string
	// Providers are those of the members of a pool, by the ids of the models.
	Providers map[string]string
	// Pricing is what models cost, by id.
	Pricing map[string]*spec.Pricing
	// MaxOutput is how many tokens an answer may have; 0 leaves it to the model.
	MaxOutput int
	// ModelOutput is how many tokens the model can answer with, which no request
	// exceeds; 0 is not known.
	ModelOutput int
	// Output is the form of the final answer; nil for any.
	Output *OutputForm
}

// Result is what a turn came to.
type Result struct {
	// Outcome is what the turn came to, or how far it came. Its agent is empty when
	// the conversation never changed hands.
	event.Outcome
	// Messages are those that the turn added to the conversation, after its input.
	Messages []model.Message
	// Interactions are what suspended calls wait for.
	Interactions []*interaction.Request
	// State is where a suspended or stopped turn goes on; nil when it ended.
	State *State
	// Session is the state that the turn leaves for later turns of the session.
	Session map[string]json.RawMessage
	// Journal records the tools that were called.
	Journal []JournalEntry
	// DeadLetters are what plugins asked for and could not be carried out.
	DeadLetters []execution.DeadLetter
}
