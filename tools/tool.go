// Package tools is for authors of tools: the Tool interface, tools made from Go functions, and the
// input and result of a call. Package toolset holds an agent's tools, and agenttool the tools that
// call other agents; the other sub-packages are the tool kinds that ship with the runtime.
package tools

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"math"
	"time"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/spec"
)

// NoTimeout lets a call take as long as its turn.
const NoTimeout = time.Duration(math.MaxInt64)

// DefaultTimeout is how long a call may take if the tool sets no timeout.
const DefaultTimeout = 60 * time.Second

// Tool is something a model can call.
//
// Descriptor is called when a revision is published and must return the same at every call. Call
// must be safe for concurrent use; ctx ends when the call times out or the turn is canceled. An
// error, a panic or a timeout becomes a result that tells the model what went wrong; it never fails
// the turn. A Tool that also implements Checker is checked first.
type Tool interface {
	Descriptor() Descriptor
	Call(ctx context.Context, call *Call) (Result, error)
}

// Checker is implemented by tools that can be misconfigured. Check is called once, when a revision
// is published; an error makes the revision invalid.
type Checker interface {
	Check() error
}

// Effect is the effect of repeating a call.
type Effect string

// The classes of effects.
const (
	// Read changes nothing; it may be repeated at will.
	Read Effect = "read"
	// Idempotent changes something, but repeating a call with the same key
	// changes nothing more.
	Idempotent Effect = "idempotent"
	// Once must not be repeated if its outcome is unknown. It is the default.
	Once Effect = "once"
)

// Descriptor describes a tool, except for its id, which is set on registration.
type Descriptor struct {
	// Description describes the tool's purpose for the model.
	Description string
	// Parameters is the JSON Schema of the arguments, an object. Empty means
	// an object without properties.
	Parameters json.RawMessage
	// Output is the JSON Schema of the result, if the tool has one. It is sent to vendors that
	// support it; the tool itself must check its results.
	Output json.RawMessage
	// Effect is the class of the tool's effect; empty means Once.
	Effect Effect
	// Timeout is how long a call may take; 0 means DefaultTimeout.
	Timeout time.Duration
	// Serial prevents calls of this tool from running concurrently with others of the same answer.
	Serial bool
}

// Limit returns how long a call may take.
func (d *Descriptor) Limit() time.Duration {
	if d.Timeout <= 0 {
		return DefaultTimeout
	}
	return d.Timeout
}

// EffectClass returns the class of the tool's effect.
func (d *Descriptor) EffectClass() Effect { return cmp.Or(d.Effect, Once) }

// Call is one call of a tool.
type Call struct {
	// ID is the call's id as given by the model.
	ID string
	// Tool is the id under which the tool was called.
	Tool string
	// Arguments is a JSON object that fits the tool's schema. It is read-only.
	Arguments json.RawMessage
	// TurnID, SessionID and AgentID identify the caller.
	TurnID    string
	SessionID string
	AgentID   string
	// Step is the number of the step that requested the call, from 1.
	Step int
	// IdempotencyKey is the same for every repetition of a call, and differs between calls.
	IdempotencyKey string
	// Resumed is set when the call continues after waiting.
	Resumed *Resumed
	// Host provides the services of the runtime. It is never nil.
	Host Host
	// Tenant has the variables of the call's tenant; nil if absent.
	Tenant *TenantVariables
	// Session is the session of the call. It is valid until Call returns, and never nil.
	Session Session
	// Workspace is the directory that the session works in; nil if it has none.
	Workspace *Workspace
}

// Host provides the services of the runtime to a running tool. It is valid until Call returns;
// later requests are dropped.
type Host interface {
	// Progress shows text that the tool has produced so far to observers of the turn. The model
	// does not see it. It never blocks for long.
	Progress(text string)
	// Delegate runs another agent and returns its result. The agent's turn ends no later than the
	// call, whatever the context. An error means that the agent could not be started.
	Delegate(ctx context.Context, req DelegateRequest) (*DelegateResult, error)
	// Sample calls the agent's model within the budgets of the turn. The answer is not shown. An
	// error, such as a *backend.BudgetError, means that the model has not answered.
	Sample(ctx context.Context, req *model.Request) (*Sampled, error)
	// Handoff hands the conversation to another agent at the end of the step; the first of
	// several requests in a step counts. An error means that the handoff is not possible.
	Handoff(ctx context.Context, agentID string) error
	// Keep stores the state from which the call continues, as Call.Resumed without answers, if the
	// process dies before the call returns. It returns once the state is durable. Calls with the
	// effect Read are repeated instead.
	Keep(ctx context.Context, state json.RawMessage) error
}

// ErrReleased is the cancellation cause of a call's context when the call continues in another
// process.
var ErrReleased = errors.New("the turn continues on another worker")

// Sampled is the answer of a model to a tool.
type Sampled struct {
	Text string
	// Model is the vendor's name of the model.
	Model  string
	Reason model.FinishReason
}

// Result is the result of a call.
type Result struct {
	// Content is what the model reads. If it is empty the model reads Data.
	Content []model.Part
	// Data is the result as JSON, for programs; it may be empty.
	Data json.RawMessage
	// IsError tells the model that the call failed.
	IsError bool
	// Indeterminate marks an error after which it is unknown whether the call took effect. The call
	// is then treated as if a crash had interrupted it.
	Indeterminate bool
	// Wait, if set, suspends the call until external input arrives. The rest of the result is then
	// ignored.
	Wait *Wait
	// Whole is the whole text of a result whose Content was cut; Readable sets
	// it.
	Whole string
}

// TextResult returns a result with a single text.
func TextResult(text string) Result { return Result{Content: []model.Part{model.Text(text)}} }

// ErrorResult returns a result that tells the model what went wrong.
func ErrorResult(text string) Result {
	return Result{Content: []model.Part{model.Text(text)}, IsError: true}
}

// Settings is passed by the runtime to a new tool of a configuration file.
type Settings struct {
	// ID is the tool's id.
	ID string
	// Dir is the directory of the configuration file, which relative paths start from; empty means
	// the runtime's working directory.
	Dir string
	// Logger writes to the log of the runtime, under the tool's name.
	Logger *slog.Logger
	// PublicOnly is set for a tool from an untrusted party, such as a tenant: it may reach only
	// public addresses and those that AllowPrivate lists.
	PublicOnly   bool
	AllowPrivate []string

	_ struct{} // keyed literals only
}

// Kind is one value of a tool's type field in a configuration file.
type Kind = spec.Kind[Settings, Tool]
