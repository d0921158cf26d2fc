// Package tools is for authors of tools: the Tool interface, tools made from Go functions, and
// the input and result of a call. Package toolset holds an agent's tools, and agenttool the tools
// that call other agents; the other sub-packages are the kinds of tools that ship with the
// runtime.
package tools

import (
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

// DefaultTimeout is how long a call may take when the tool does not say.
const DefaultTimeout = 60 * time.Second

// Tool is something a model can call.
//
// Descriptor is called when a revision is published and must return the same
// at every call. Call is called from many goroutines at once; ctx ends when
// the call's time is up or the turn is canceled. An error, a panic or a
// timeout becomes a result that tells the model what went wrong; it never
// fails the turn. A Tool that also implements Checker is checked first.
type Tool interface {
	Descriptor() Descriptor
	Call(ctx context.Context, call *Call) (Result, error)
}

// Checker is implemented by tools that can be put together wrongly. Check is
// called once, when a revision is published; an error makes the revision
// invalid.
type Checker interface {
	Check() error
}

// Effect is what repeating a call does.
type Effect string

// The classes of effects.
const (
	// Read changes nothing; it may be repeated at will.
	Read Effect = "read"
	// Idempotent changes something, but repeating a call with the same key
	// changes nothing more.
	Idempotent Effect = "idempotent"
	// Once must not be repeated when its outcome is unknown. It is the default.
	Once Effect = "once"
)

// Descriptor describes a tool, apart from its id, which it gets where it is
// registered.
type Descriptor struct {
	// Description describes the tool's purpose for the model.
	Description string
	// Parameters is the JSON Schema of the arguments, an object. Empty means
	// an object without properties.
	Parameters json.RawMessage
	// Output is the JSON Schema of the result, where the tool keeps to one. It
	// is told to vendors that have a place for it; checking results against it
	// is the tool's own business.
	Output json.RawMessage
	// Effect is the class of the tool's effect; empty means Once.
	Effect Effect
	// Timeout is how long a call may take; 0 means DefaultTimeout.
	Timeout time.Duration
	// Serial keeps calls of this tool from running beside others of the same
	// answer.
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
func (d *Descriptor) EffectClass() Effect {
	if d.Effect == "" {
		return Once
	}
	return d.Effect
}

// Call is one call of a tool.
type Call struct {
	// ID is the call's id, as the model gave it.
	ID string
	// Tool is the id under which the tool was called.
	Tool string
	// Arguments is a JSON object that fits the tool's schema. It is read-only.
	Arguments json.RawMessage
	// TurnID, SessionID and AgentID say for whom the call is made.
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
	// Tenant has the variables of the tenant that the call is made for; nil for none.
	Tenant *TenantVariables
	// Session is the session that the call is made for. It is valid until Call
	// returns, and never nil.
	Session Session
	// Workspace is the directory that the session works in; nil if it has none.
	Workspace *Workspace
}

// Host provides the services of the runtime to a running tool. It is valid until Call returns;
// later requests are dropped.
type Host interface {
	// Progress shows text that the tool produced so far to anyone who watches the
	// turn. The model does not see it. It never blocks for long.
	Progress(text string)
	// Delegate runs another agent and returns its result. The agent's turn ends with the call at
	// the latest, whatever the context. An error means that the agent could not be started.
	Delegate(ctx context.Context, req DelegateRequest) (*DelegateResult, error)
	// Sample asks the agent's model within the budgets of the turn. The answer is not shown. An
	// error means that the model has not answered, such as a *backend.BudgetError.
	Sample(ctx context.Context, req *model.Request) (*Sampled, error)
	// Handoff hands the conversation to another agent at the end of the step; the first of
	// several requests in a step counts. An error means that the handoff is not possible.
	Handoff(ctx context.Context, agentID string) error
	// Keep stores the state from which the call continues, as Call.Resumed without answers, if the
	// process dies before the call returns. It returns once that is durable. Calls with the effect
	// Read are repeated instead.
	Keep(ctx context.Context, state json.RawMessage) error
}

// ErrReleased is the cause of the end of a call's context when the call continues in another
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
	// Content is read by the model. If it is empty the model reads Data.
	Content []model.Part
	// Data is the result as JSON, for programs; it may be empty.
	Data json.RawMessage
	// IsError tells the model that the call failed.
	IsError bool
	// Indeterminate marks an error that leaves open whether the call took effect. The call is
	// then treated as if a crash had interrupted it.
	Indeterminate bool
	// Wait, if set, suspends the call until something arrives from
	// outside. The rest of the result does not count then.
	Wait *Wait
	// Whole is the whole text of a result whose Content was cut; Readable sets
	// it.
	Whole string
}

// TextResult returns a result that consists of a text.
func TextResult(text string) Result { return Result{Content: []model.Part{model.Text(text)}} }

// ErrorResult returns a result that tells the model what went wrong.
func ErrorResult(text string) Result {
	return Result{Content: []model.Part{model.Text(text)}, IsError: true}
}

// Settings is passed by the runtime to a new tool of a configuration file.
type Settings struct {
	// ID is the tool's id.
	ID string
	// Dir is the directory of the configuration file, which relative paths
	// start from; empty is the directory that the runtime runs in.
	Dir string
	// Logger writes to the log of the runtime, under the tool's name.
	Logger *slog.Logger
	// PublicOnly is set for a tool that somebody brings whom nobody vouches for, such as a
	// tenant: it must reach public addresses alone, and those that AllowPrivate lists.
	PublicOnly   bool
	AllowPrivate []string

	_ struct{} // keyed literals only
}

// Kind is one value of a tool's type field in a configuration file.
type Kind = spec.Kind[Settings, Tool]
