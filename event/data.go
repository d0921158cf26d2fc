package event

import "encoding/json"

// Type is the name of a kind of event.
type Type string

// The kinds of events.
const (
	TypeRunStart            Type = "run_start"
	TypeRunFinish           Type = "run_finish"
	TypeStepStart           Type = "step_start"
	TypeStepEnd             Type = "step_end"
	TypeTextDelta           Type = "text_delta"
	TypeReasoningDelta      Type = "reasoning_delta"
	TypeReasoningEncrypted  Type = "reasoning_encrypted_value"
	TypeToolCallStart       Type = "tool_call_start"
	TypeToolCallDelta       Type = "tool_call_delta"
	TypeToolCallReady       Type = "tool_call_ready"
	TypeToolCallDone        Type = "tool_call_done"
	TypeToolCallStreamDelta Type = "tool_call_stream_delta"
	TypeInferenceComplete   Type = "inference_complete"
	TypeActivitySnapshot    Type = "activity_snapshot"
	TypeStateSnapshot       Type = "state_snapshot"
	TypeToolCallResumed     Type = "tool_call_resumed"
	TypeToolCallCancel      Type = "tool_call_cancel"
	TypeStreamReset         Type = "stream_reset"
	TypeModelRetry          Type = "model_retry"
	TypeInteractionRequest  Type = "interaction_requested"
	TypeRunWaiting          Type = "run_waiting"
	TypeContextTrimmed      Type = "context_trimmed"
	TypeContextCompacted    Type = "context_compacted"
	TypeLoopDetected        Type = "loop_detected"
	TypeToolBudgetExceeded  Type = "tool_budget_exceeded"
	TypeToolCallsOmitted    Type = "tool_calls_omitted"
	TypeHandoff             Type = "hand_off"
	TypeRevisionChanged     Type = "revision_changed"
	TypeCustomPatch         Type = "custom_patch"
	TypeArtifact            Type = "artifact"
)

// RunStart opens a turn.
type RunStart struct {
	AgentID string `json:"agent_id"`
	// Revision is the number of the revision that the turn resolved in.
	Revision uint64 `json:"revision,omitempty"`
	// DelegateTurnID identifies the turn of a delegate in logs and spans; it is not stored as a
	// turn. ParentTurnID and ParentCallID name its caller.
	DelegateTurnID string `json:"delegate_turn_id,omitempty"`
	ParentTurnID   string `json:"parent_turn_id,omitempty"`
	ParentCallID   string `json:"parent_call_id,omitempty"`
	// Resumed is set if the turn resumes after a stop or suspension.
	Resumed bool `json:"resumed,omitempty"`
}

// RevisionChanged reports that a turn continues in another revision. Both are identified by the
// hash of their content.
type RevisionChanged struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// Type returns TypeRevisionChanged.
func (*RevisionChanged) Type() Type { return TypeRevisionChanged }

// RunFinish ends a turn; each turn has exactly one.
type RunFinish struct {
	Status      Status      `json:"status"`
	Termination Termination `json:"termination"`
	// Result is the output of the turn; nil without output.
	Result *Output `json:"result,omitempty"`
	Usage  Usage   `json:"usage"`
	// Cost is the price of the model calls, by the models' pricing.
	Cost *Cost `json:"cost,omitempty"`
	// Agents breaks Usage and Cost down by agent and model; empty when one agent used one model.
	Agents AgentUsages `json:"agents,omitempty"`
	Steps  int         `json:"steps"`
	// FinishReason is the reason why the last answer ended.
	FinishReason FinishReason `json:"finish_reason,omitempty"`
}

// Output is the final output of a turn.
type Output struct {
	// Response is the text of the last answer.
	Response string `json:"response"`
}

// Cost is an amount of money.
type Cost struct {
	Amount float64 `json:"amount"`
	// Currency is an ISO 4217 code.
	Currency string `json:"currency"`
}

// Status is the turn's final status.
type Status string

// The statuses of ended turns.
const (
	// StatusSucceeded is a turn that ended naturally or by a stop condition.
	StatusSucceeded Status = "succeeded"
	// StatusFailed is a turn that failed with an error or was blocked.
	StatusFailed Status = "failed"
	// StatusCanceled is a turn canceled by its caller.
	StatusCanceled Status = "canceled"
	// StatusWaiting is a turn that waits for an interaction.
	StatusWaiting Status = "waiting"
)

// Reason is the reason why a turn ended.
type Reason string

// The reasons why a turn ends.
const (
	// NaturalEnd means that the model had nothing more to do.
	NaturalEnd Reason = "natural_end"
	// BehaviorRequested means that a plugin or tool requested the end.
	BehaviorRequested Reason = "behavior_requested"
	// Stopped means that a stop condition was met; Code names it.
	Stopped Reason = "stopped"
	// Canceled means that the caller canceled the turn.
	Canceled Reason = "cancelled"
	// Blocked means that a tool gate ended the turn; Detail says why.
	Blocked Reason = "blocked"
	// Suspended means that a tool call waits for something outside.
	Suspended Reason = "suspended"
	// BudgetExceeded means that the turn exceeded a budget. Code names it: tokens, cost, duration,
	// model_calls, tool_calls or max_rounds.
	BudgetExceeded Reason = "budget_exceeded"
	// Failed means that an error ended the turn: Code is its class, Detail its text.
	Failed Reason = "error"
)

// Termination is why a turn ended.
type Termination struct {
	Type   Reason `json:"type"`
	Code   string `json:"code,omitempty"`
	Detail string `json:"detail,omitempty"`
}

// Status returns the final status of a turn ended by t.
func (t Termination) Status() Status {
	switch t.Type {
	case NaturalEnd, BehaviorRequested, Stopped:
		return StatusSucceeded
	case Canceled:
		return StatusCanceled
	case Suspended:
		return StatusWaiting
	default:
		return StatusFailed
	}
}

// CutShort reports whether a limit on rounds, time, tokens or failed steps ended the turn
// successfully before the model's final answer. The text so far, if any, is not that answer.
func (t Termination) CutShort() bool {
	if t.Type != Stopped {
		return false
	}
	switch t.Code {
	case "max_rounds", "timeout", "token_budget", "consecutive_errors", "loop_detection":
		return true
	default:
		return false // stop_on_tool and content_match end a turn at its intended end
	}
}

// StepStart opens a step: one model call and the tools it requests.
type StepStart struct {
	// Step counts the steps of the turn from 1.
	Step int `json:"step"`
	// MessageID is the id of the model's future message.
	MessageID string `json:"message_id"`
}

// StepEnd closes a step.
type StepEnd struct {
	Step int `json:"step"`
}

// TextDelta extends the text of the answer.
type TextDelta struct {
	Delta string `json:"delta"`
}

// ReasoningDelta extends the readable reasoning.
type ReasoningDelta struct {
	Delta string `json:"delta"`
}

// ReasoningEncrypted carries the vendor's opaque form of the reasoning.
type ReasoningEncrypted struct {
	Value string `json:"encrypted_value"`
}

// ToolCallStart reports that the model began to request a call.
type ToolCallStart struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// ToolCallDelta extends the arguments of a call.
type ToolCallDelta struct {
	ID    string `json:"id"`
	Delta string `json:"args_delta"`
}

// ToolCallReady reports that the arguments of a call are complete.
type ToolCallReady struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Arguments is a JSON object, as the model wrote it. Text from the model that is not JSON is
	// encoded as a JSON string.
	Arguments json.RawMessage `json:"arguments"`
	// Repair names how the arguments were repaired: decoded, repeated or cumulative; empty if they
	// are unchanged.
	Repair string `json:"repair,omitempty"`
}

// CallOutcome is how a tool call ended.
type CallOutcome string

// The outcomes of a tool call.
const (
	CallSucceeded CallOutcome = "succeeded"
	CallFailed    CallOutcome = "failed"
	CallSuspended CallOutcome = "suspended"
	// CallIndeterminate is a call that was in progress when the runtime stopped: it may or may not
	// have taken effect, and is not repeated.
	CallIndeterminate CallOutcome = "indeterminate"
)

// ToolResult is the result of a call.
type ToolResult struct {
	Content []Content `json:"content"`
	// IsError is set if the call failed.
	IsError bool `json:"is_error,omitempty"`
}

// Text returns the text of the result.
func (r *ToolResult) Text() string {
	var text string
	for i := range r.Content {
		text += r.Content[i].Text
	}
	return text
}

// Content is a part of a result: text, or an image or file given by its bytes or address.
type Content struct {
	Type      string `json:"type"`
	Text      string `json:"text,omitempty"`
	MediaType string `json:"media_type,omitempty"`
	Data      []byte `json:"data,omitempty"`
	URI       string `json:"uri,omitempty"`
	Name      string `json:"name,omitempty"`
}

// ToolCallDone carries the result of a call.
type ToolCallDone struct {
	ID        string      `json:"id"`
	Name      string      `json:"name"`
	MessageID string      `json:"message_id"`
	Outcome   CallOutcome `json:"outcome"`
	Result    ToolResult  `json:"result"`
	// DurationMS is the tool's run time in milliseconds.
	DurationMS int64 `json:"duration_ms"`
	// Artifact is the id of the artifact that holds the full text of a truncated result.
	Artifact string `json:"artifact,omitempty"`
}

// ToolCallStreamDelta is output of a tool that is still running.
type ToolCallStreamDelta struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Delta string `json:"delta"`
}

// InferenceComplete closes a model call.
type InferenceComplete struct {
	// Model is the vendor's name of the model that answered, ModelID its id, and Provider its
	// vendor, or the provider's id if the vendor is unknown. For a pool, they describe the member.
	Model    string `json:"model"`
	ModelID  string `json:"model_id,omitempty"`
	Provider string `json:"provider,omitempty"`
	// FinishReason says why the answer ended: stop, tool_calls, max_tokens or
	// content_filter.
	FinishReason FinishReason `json:"finish_reason"`
	Usage        Usage        `json:"usage"`
	// DurationMS is the duration of the answer in milliseconds.
	DurationMS int64 `json:"duration_ms"`
}

// ActivitySnapshot reports the current activity of a tool or delegate.
type ActivitySnapshot struct {
	// MessageID is the id of the activity; a later snapshot with the same id
	// replaces the earlier one.
	MessageID    string          `json:"message_id"`
	ActivityType string          `json:"activity_type"`
	Content      json.RawMessage `json:"content"`
}

// StateSnapshot carries the plugins' externally visible state.
type StateSnapshot struct {
	Snapshot map[string]json.RawMessage `json:"snapshot"`
}

// Type returns TypeRunStart.
func (*RunStart) Type() Type { return TypeRunStart }

// Type returns TypeRunFinish.
func (*RunFinish) Type() Type { return TypeRunFinish }

// Type returns TypeStepStart.
func (*StepStart) Type() Type { return TypeStepStart }

// Type returns TypeStepEnd.
func (*StepEnd) Type() Type { return TypeStepEnd }

// Type returns TypeTextDelta.
func (*TextDelta) Type() Type { return TypeTextDelta }

// Type returns TypeReasoningDelta.
func (*ReasoningDelta) Type() Type { return TypeReasoningDelta }

// Type returns TypeReasoningEncrypted.
func (*ReasoningEncrypted) Type() Type { return TypeReasoningEncrypted }

// Type returns TypeToolCallStart.
func (*ToolCallStart) Type() Type { return TypeToolCallStart }

// Type returns TypeToolCallDelta.
func (*ToolCallDelta) Type() Type { return TypeToolCallDelta }

// Type returns TypeToolCallReady.
func (*ToolCallReady) Type() Type { return TypeToolCallReady }

// Type returns TypeToolCallDone.
func (*ToolCallDone) Type() Type { return TypeToolCallDone }

// Type returns TypeToolCallStreamDelta.
func (*ToolCallStreamDelta) Type() Type { return TypeToolCallStreamDelta }

// Type returns TypeInferenceComplete.
func (*InferenceComplete) Type() Type { return TypeInferenceComplete }

// Type returns TypeActivitySnapshot.
func (*ActivitySnapshot) Type() Type { return TypeActivitySnapshot }

// Type returns TypeStateSnapshot.
func (*StateSnapshot) Type() Type { return TypeStateSnapshot }
