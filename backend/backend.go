// Package backend defines the contract for running agents: in the local loop, which is a
// sub-package, and at remote peers.
package backend

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/plugins/execution"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/agentruntime/agentruntime/tools/toolset"
)

// Backend runs agents.
//
// Execute runs one turn on the caller's goroutine and returns when it ends. It is called
// concurrently, once per turn. It emits the turn's events through the host, except for the first
// and last, which the runtime emits. An error means that the turn failed; the result, which may be
// nil, then holds its progress. Execute returns soon after ctx ends.
type Backend interface {
	Profile() Profile
	Execute(ctx context.Context, job *Job, host Host) (*Result, error)
}

// Factory makes the backend of an endpoint. Validate and New are called when a
// revision is published and must not use the network.
type Factory interface {
	// Kind is the value of an endpoint's backend field.
	Kind() string
	// Validate returns the problems of an endpoint, with paths relative to it.
	Validate(endpoint *spec.Endpoint) diag.List
	// New makes the backend of an endpoint that passed Validate.
	New(endpoint *spec.Endpoint) (Backend, error)
}

// Interchangeable is implemented by factories that can replace each other.
type Interchangeable interface {
	Factory
	// Equal reports whether another factory makes the same backends.
	Equal(other Factory) bool
}

// Discoverer is implemented by factories that can ask a peer for its agents. Their
// Validate also gets the endpoints of sources, which have no target.
type Discoverer interface {
	Factory
	// Discover returns the agents of a source, with ids that lack the source's
	// name. Each has an endpoint.
	Discover(ctx context.Context, source *spec.RemoteSource) ([]*spec.Agent, error)
}

// Host is the runtime for a running turn.
type Host interface {
	// Emit appends an event to the turn's log. It must only be called from the goroutine that runs
	// Execute, until Execute returns.
	Emit(data event.Data)
	// EmitDelegated appends a delegate's event, with its path, to the turn's log, under the same
	// rule as Emit.
	EmitDelegated(ev *event.Event)
	// Delegate runs a turn of another agent, as part of this one. It may be called
	// concurrently.
	Delegate(ctx context.Context, req tools.DelegateRequest) (*tools.DelegateResult, error)
	// Handoff resolves the agent that takes over the conversation, in the turn's
	// revision. From then on the turn belongs to that agent.
	Handoff(ctx context.Context, agentID string) (*spec.Agent, *ExecutionEnv, error)
	// Session returns the session of the turn, for its tools and hooks; never nil.
	// It is safe for concurrent use.
	Session() tools.Session
	// FlushSession emits the session's changes since the last call. It must only be called from the
	// goroutine that runs Execute: after anything that may have changed the session, and before the
	// turn's state is handed out.
	FlushSession()
}

// Aborter is implemented by backends whose turns continue elsewhere without a worker here. Abort
// ends such a turn, given its last state, after it was ended here; an error means that it may still
// be running there.
type Aborter interface {
	Abort(ctx context.Context, state *State) error
}

// ErrReleased is the cause when Execute's context ends but the turn continues later, on this or
// another worker. Remote work for the turn must be left running.
var ErrReleased = tools.ErrReleased

// Released reports whether a context has ended because its turn continues on
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
	// History is the conversation before Input, the turn's input.
	History, Input []model.Message
	// Local is the environment of an agent that runs on the local loop; nil for
	// an endpoint-backed agent, whose backend knows its peer.
	Local *ExecutionEnv
	// Params override the agent's parameters, field by field.
	Params model.Params
	// Session is the state that earlier turns of the session left.
	Session map[string]json.RawMessage
	// Workspace is the working directory of the session's tools; nil if absent.
	Workspace *tools.Workspace
	// State is where a stopped or suspended turn continues; nil begins the turn.
	State *State
	Limits
	// Abort ends the context of Execute with a cause; nil if that is not possible.
	Abort context.CancelCauseFunc
	// RunAside runs a function on an otherwise idle goroutine, which is cheaper than a go
	// statement. If nil, the backend starts goroutines itself.
	RunAside func(run func())
	Storage
	Repeats
}

// Storage stores a turn while it runs.
type Storage struct {
	// Checkpoint, if set, receives the turn's state after each step that does not end it. An error
	// stops the turn: ErrYield between two steps, any other error as a failure.
	Checkpoint func(ctx context.Context, state *State) error
	// KeepRequest, if set, receives each model request before it is sent. It is called
	// concurrently, also for delegates.
	KeepRequest func(ctx context.Context, call *ModelCall)
}

// ModelCall is a model request. Receivers must not change it.
type ModelCall struct {
	AgentID string
	// MessageID is the ID of the answer's message. Number counts the model calls of the agent
	// in its turn from 1.
	MessageID string
	Number    int
	Request   *model.Request
}

// Repeats configures how a turn's calls are repeated.
type Repeats struct {
	// Indeterminate decides the outcome of a call that was running when the runtime stopped and
	// must not be repeated; empty means IndeterminateError.
	Indeterminate Indeterminate
	// CallKeys is the prefix of the calls' idempotency keys; empty means the turn's id.
	CallKeys string
}

// Limits are a turn's limits, in addition to its agent's.
type Limits struct {
	// Ceiling holds the gates of the agents that delegated the turn. Its calls must
	// pass them, too.
	Ceiling []plugins.CeilingGate
	// Meter enforces the budgets of the turn and its ancestors; nil allows everything.
	Meter *Meter
	// Depth is the number of agents whose turns led to this one, including those in other
	// runtimes. MaxDepth is its limit.
	Depth, MaxDepth int
}

// ExecutionEnv is everything that the local loop needs for one turn. Env belongs to the turn; the
// rest is shared by all turns of a revision.
type ExecutionEnv struct {
	// Model calls the agent's model, or the members of its pool.
	Model model.Executor
	// Upstream is the vendor's name of the model.
	Upstream string
	// Pool is set if Model is a pool, whose members have their own names.
	Pool  bool
	Env   *execution.Env
	Tools *toolset.Set
	// Offered are the tools offered to the model, a subset of Tools: those that no gate denies for
	// all arguments.
	Offered []model.Tool
	// ModelID is the id of the model or pool, and Provider the model's vendor, or
	// the id of its provider if the vendor is unknown.
	ModelID  string
	Provider string
	// Providers are the providers of a pool's members, by model id.
	Providers map[string]string
	// Pricing holds the prices of models, by id.
	Pricing map[string]*spec.Pricing
	// MaxOutput is the limit of an answer in tokens; 0 leaves it to the model.
	MaxOutput int
	// ModelOutput is the model's own output limit, which no request exceeds; 0 if unknown.
	ModelOutput int
	// Output is the form of the final answer; nil means any.
	Output *OutputForm
	// Calling restricts the tool calls of this turn.
	Calling Calling
	// Tenant holds the variables of the turn's tenant; nil if absent.
	Tenant *tools.TenantVariables
}

// Calling restricts the tool calls of one turn.
type Calling struct {
	// First is the tool choice of the first model call; nil leaves it to the model.
	First *model.ToolChoice
	// Max limits the tool calls of one answer; 0 means the loop's limit.
	Max int
}

// Result is the result of a turn.
type Result struct {
	// Outcome is the turn's outcome, or its progress. Its agent is empty if the
	// conversation never changed hands.
	event.Outcome
	// Messages are the messages that the turn added after its input.
	Messages []model.Message
	// Interactions are the interactions that suspended calls wait for.
	Interactions []*interaction.Request
	// State is where a suspended or stopped turn continues; nil if it ended.
	State *State
	// Session is the state for later turns of the session.
	Session map[string]json.RawMessage
	// Journal lists the tools that were called.
	Journal []JournalEntry
	// DeadLetters are the actions of plugins that could not be carried out.
	DeadLetters []execution.DeadLetter
}
