package plugins

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/tools"
)

// Gate decides on a tool call before it is executed. Check is called once for each call, in the
// order of the calls; it cannot write state. An error, or a panic, blocks the call.
type Gate interface {
	Check(ctx context.Context, p *PhaseContext) (Decision, error)
}

// GateFunc is a function that serves as a Gate.
type GateFunc func(ctx context.Context, p *PhaseContext) (Decision, error)

// Check calls f.
func (f GateFunc) Check(ctx context.Context, p *PhaseContext) (Decision, error) { return f(ctx, p) }

// DecisionKind is the kind of a gate's decision. Among the decisions of several gates, the greatest
// applies; among equals, the first.
type DecisionKind uint8

// The kinds of decisions, weakest first.
const (
	// Allow lets the call through.
	Allow DecisionKind = iota
	// SetResult uses the decision's Result instead of executing the call.
	SetResult
	// Suspend makes the call wait for an external event.
	Suspend
	// Block rejects the call; the model reads the Reason.
	Block
)

// Decision is a gate's decision on a call.
type Decision struct {
	Kind DecisionKind
	// Reason is the explanation for the model and the log.
	Reason string
	// Result is the result of the call, for SetResult.
	Result tools.Result
	// Interaction is the interaction to wait for, with Suspend.
	Interaction *interaction.Request
	// Terminate ends the turn along with the call, for Block.
	Terminate bool

	// Plugin is the plugin whose gate decided; the engine sets it.
	Plugin string
}

// Access is how a tool may be used, to the extent known before a call.
type Access uint8

// The accesses, most permissive first.
const (
	// AccessAllow lets calls through.
	AccessAllow Access = iota
	// AccessDepends decides by a call's arguments.
	AccessDepends
	// AccessAsk lets calls through once a person has approved.
	AccessAsk
	// AccessDeny refuses every call.
	AccessDeny
)

// String returns allow, depends, ask or deny.
func (a Access) String() string {
	switch a {
	case AccessAllow:
		return "allow"
	case AccessDepends:
		return "depends"
	case AccessAsk:
		return "ask"
	default:
		return "deny"
	}
}

// MarshalText returns the access's name.
func (a Access) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText reads the name of an access.
func (a *Access) UnmarshalText(text []byte) error {
	for known := AccessAllow; known <= AccessDeny; known++ {
		if known.String() == string(text) {
			*a = known
			return nil
		}
	}
	return fmt.Errorf("access %q must be allow, depends, ask or deny", text)
}

// Verdict is a gate's judgment of a tool before any call.
type Verdict struct {
	Access Access `json:"access"`
	// Rule is the human-readable name of the rule or default that decides.
	Rule string `json:"rule,omitempty"`
	// Path locates the rule, relative to the agent.
	Path string `json:"path,omitempty"`
	// Conditions explain why a rule with conditions on arguments matches the call.
	Conditions []string `json:"conditions,omitempty"`
	// Terminate is set if the call is denied and ends the turn.
	Terminate bool `json:"terminate,omitempty"`
	// Plugin is the plugin whose gate decides.
	Plugin string `json:"plugin,omitempty"`
}

// StaticGate is implemented by gates that can predict their decisions before a call. explain and
// diff show them, and a tool that is always denied is not offered to the model.
type StaticGate interface {
	Gate
	Verdict(toolID string) Verdict
}

// CallGate is implemented by gates whose decision on a call follows from the agent's configuration,
// before a person decides; explain shows it. Explain never returns AccessDepends.
type CallGate interface {
	Gate
	Explain(toolID string, arguments json.RawMessage) Verdict
}

// CeilingGate is implemented by gates that also apply an agent's restrictions to its delegates.
// Ceiling is called for every call of a delegate, in addition to the delegate's own gates, and sees
// the delegate's turn. It must be safe for concurrent use by several turns.
type CeilingGate interface {
	Ceiling(ctx context.Context, p *PhaseContext) (Decision, error)
}

// CeilingDiffGate is implemented by ceiling gates that know their limits for delegates without a
// call, and can compare them with the gate of the same plugin in an earlier revision. It is called
// for a delegate's tools; limits that cannot be compared count as widened. A ceiling gate that does
// not implement it is compared by its decisions on the agent's own calls.
type CeilingDiffGate interface {
	CeilingGate
	// CeilingVerdict returns Ceiling's decision on a tool.
	CeilingVerdict(toolID string) Verdict
	// CeilingWidening compares the Ceiling decisions of this gate and an earlier one on a tool.
	CeilingWidening(before Gate, toolID string) Widening
}

// ToolSchema is a tool of an agent with its parameters.
type ToolSchema struct {
	ID string
	// Parameters is the JSON Schema of the tool's arguments.
	Parameters json.RawMessage
}

// SchemaGate is implemented by gates whose settings refer to tool arguments. CheckSchemas is called
// when the agent is resolved, with the tools that its catalog admits, and reports settings that do
// not fit them; paths are relative to the agent. An error diagnostic prevents the agent from
// resolving.
type SchemaGate interface {
	Gate
	CheckSchemas(tools []ToolSchema) diag.List
}

// Widening is a gate's comparison of a tool with an earlier revision.
type Widening struct {
	// Widened is set if a call may now be allowed, with or without a person's approval,
	// that was not before; Narrowed if a call may now be denied that was not. Both are
	// set if the settings cannot be compared.
	Widened, Narrowed bool
	// Reason names the rules that decided before and decide now, for the widened access, or else
	// the narrowed access.
	Reason string
}

// DiffGate is implemented by gates that can compare themselves with the gate of the same plugin in
// an earlier revision. Decisions that cannot be compared count as widened.
type DiffGate interface {
	Gate
	Widening(before Gate, toolID string) Widening
}

// SampleGate is implemented by gates whose settings also cover tools that an agent does not have
// yet, such as clients' tools. Diffs compare the decisions on the samples.
type SampleGate interface {
	DiffGate
	// SampleTools returns a tool ID for each kind of tool that the settings distinguish, except for
	// kinds that one of the known IDs belongs to.
	SampleTools(known []string) []string
}

// BatchGate judges all tool calls of an answer together, before the gates judge each. Unlike a Gate
// it may write state; it ends the turn with Finalize, not with Stop. An error, or a panic, fails
// the turn.
type BatchGate func(ctx context.Context, p *PhaseContext, calls []*model.ToolCall) (BatchDecision, error)

// BatchDecision is a batch gate's decision on several calls. The zero value leaves all calls to
// the gates.
type BatchDecision struct {
	// Results are the results of the calls that are not executed, by call id.
	Results map[string]tools.Result
	// Events are emitted after those results.
	Events []event.Data
	// Steer is a message for only the model, sent with the next request.
	Steer string
	// Finalize lets the model answer once more, without tools, and ends the
	// turn.
	Finalize bool
}
