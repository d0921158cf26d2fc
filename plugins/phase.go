package plugins

import (
	"strconv"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

// Phase is a point of a turn at which plugins run.
type Phase uint8

// The phases, in the order in which a turn goes through them.
const (
	// Activate runs before any other phase of a plugin instance: when a turn starts, resumes
	// after a stop or suspension, or is handed over to the agent. Do here what Register must not
	// do, such as network access. Filters do not apply to it.
	Activate Phase = iota
	// RunStart runs once a turn for each plugin: before the first step, or before
	// the first one of an agent that took over, if the agent before it did not
	// have the plugin. It does not run again when the turn is resumed.
	RunStart
	// StepStart runs at the beginning of each step.
	StepStart
	// BeforeInference runs before a request is built. Context messages, tool filters and overrides
	// scheduled up to here shape that request.
	BeforeInference
	// AfterInference runs when the model has answered, before its tool calls are processed. A hook
	// may stop the turn here.
	AfterInference
	// ToolGate calls the gates for each tool call.
	ToolGate
	// BeforeToolExecute runs before each call that the gates let through.
	BeforeToolExecute
	// AfterToolExecute runs after each executed call.
	AfterToolExecute
	// StepEnd runs at the end of each step that did not fail.
	StepEnd
	// RunEnd runs once for each plugin for which RunStart ran, even if that failed: when the turn
	// ends for any reason, or is handed over to an agent without the plugin. It does not run when
	// a turn is suspended, nor when a suspended turn is ended.
	RunEnd
	// Deactivate runs after all other phases, once for each Activate: at the end of a turn, when
	// another agent takes over, and when the turn is suspended or stopped. A crashed process does
	// not run it. An error does not fail the turn: it becomes a DeadLetter.
	Deactivate

	phaseCount
)

var phaseNames = [phaseCount]string{
	"Activate", "RunStart", "StepStart", "BeforeInference", "AfterInference", "ToolGate",
	"BeforeToolExecute", "AfterToolExecute", "StepEnd", "RunEnd", "Deactivate",
}

// String returns the phase's name.
func (p Phase) String() string {
	if p >= phaseCount {
		return "Phase(" + strconv.Itoa(int(p)) + ")"
	}
	return phaseNames[p]
}

// Valid reports whether the phase exists.
func (p Phase) Valid() bool { return p < phaseCount }

// Phases returns all phases in order.
func Phases() []Phase {
	all := make([]Phase, phaseCount)
	for i := range all {
		all[i] = Phase(i) //nolint:gosec // there are eleven
	}
	return all
}

// Stats are the resources used by a turn so far, over all its activations.
type Stats struct {
	// Steps counts the steps begun, including the current one.
	Steps int `json:"steps"`
	// ModelCalls and ToolCalls count the turn's own calls, without retries.
	ModelCalls int `json:"model_calls,omitempty"`
	ToolCalls  int `json:"tool_calls,omitempty"`
	// Usage sums the tokens of all model calls, including calls of delegates.
	Usage model.Usage `json:"usage"`
	// Cost is the price of the usage, in Currency; empty when no model has a price.
	Cost     float64 `json:"cost,omitempty"`
	Currency string  `json:"currency,omitempty"`
	// ModelID is the first model called; empty before the first call.
	ModelID string `json:"model_id,omitempty"`
	// Elapsed is the time worked in earlier activations of the turn, and Started the start of this
	// one. Worked adds them up.
	Elapsed time.Duration `json:"elapsed,omitempty"`
	Started time.Time     `json:"started"`
	// FailedSteps counts the latest consecutive steps in which every tool call failed.
	FailedSteps int `json:"failed_steps,omitempty"`
	// Handoffs counts the handoffs of the conversation.
	Handoffs int `json:"handoffs,omitempty"`
}

// Worked returns how long the turn has worked, excluding suspensions.
func (s *Stats) Worked(now time.Time) time.Duration { return s.Elapsed + now.Sub(s.Started) }

// PhaseContext is a hook's view of the turn. It is valid only during the call; everything
// reachable from its exported fields is read-only.
type PhaseContext struct {
	Phase     Phase
	TurnID    string
	SessionID string
	Agent     *spec.Agent
	Stats     *Stats
	// Now is the start time of the phase.
	Now time.Time
	// Messages is the conversation so far.
	Messages []model.Message
	// HistoryLength is the number of Messages before the turn, and InputLength the number of input
	// messages after them. The turn added the others.
	HistoryLength, InputLength int
	// Tools are the tools that a request offers unless a plugin excludes one, sorted by id.
	Tools []model.Tool
	// Answer is the model's answer, from AfterInference to StepEnd.
	Answer *model.Message
	// Call is the current tool call, from ToolGate to AfterToolExecute.
	Call *model.ToolCall
	// InteractionAnswer is the latest answer to the call, and Interaction the answered request,
	// from ToolGate to AfterToolExecute; nil for a call that did not wait. Answered reports
	// earlier ones.
	InteractionAnswer *interaction.Answer
	Interaction       *interaction.Request
	// Result is the result of the call, in AfterToolExecute.
	Result *tools.Result
	// Termination is why the turn ended, in RunEnd; with the code hand_off, the turn continues
	// with an agent that lacks the plugin. It is nil in Deactivate when the turn continues.
	Termination *event.Termination
	// Session is the turn's session; never nil. Unlike plugin state, a change takes effect
	// immediately: a later failure of the hook does not undo it.
	Session tools.Session

	// Turn receives the hook's requests. The engine sets it.
	Turn
}

// Turn receives requests from hooks.
type Turn interface {
	// Schedule schedules an action, which runs in the phase of its handler: after the hooks of
	// this phase, or when the turn reaches the later phase. A waiting action survives the
	// suspension of the turn, so its payload must be encodable as JSON.
	Schedule(action string, payload any)
	// Effect requests an effect, which is handled after the phase is committed.
	Effect(key string, payload any)
	// Stop requests the end of the turn. The model's answer is kept. Up to AfterInference its tool
	// calls are not executed; in later phases the turn ends at the end of the step. The first of
	// several requests counts.
	Stop(t event.Termination)
	// Handoff requests that another agent take over the conversation before the next step. A turn
	// that ends earlier is not handed over. The first of several requests counts.
	Handoff(agentID string)
	// Emit appends an event to the turn's log immediately: a later failure of the hook does not
	// undo it. The events that begin and end a turn are reserved for the runtime and rejected.
	Emit(data event.Data)
	// AddUsage counts the usage of a plugin's model call toward the turn's budgets. The cost uses
	// the price of the model with the given id. It counts even if the hook fails later.
	AddUsage(usage model.Usage, modelID string)
	// Request returns the plugins' plan for the next request, for handlers that change it.
	Request() *RequestPlan
	// Answered returns the latest answer to an interaction of the current call with the given
	// action, and the interaction. A call may have had to wait several times, for several gates.
	Answered(action string) (*interaction.Request, *interaction.Answer)

	// Value returns the value of a key, or nil, and SetValue sets it. Key has typed
	// methods for both.
	Value(key StateKey) any
	SetValue(key StateKey, value any)
}
