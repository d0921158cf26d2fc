package evals

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/agentruntime/agentruntime/event"
)

// Status is the outcome of a run of a case.
type Status string

// The outcomes of a run.
const (
	Passed Status = "passed"
	// Failed is a run with an unmet expectation.
	Failed Status = "failed"
	// Errored is a run that says nothing about the agent: a tool is not stubbed, a recording is
	// missing, or a judge is unreachable.
	Errored Status = "error"
	// Skipped is a run that was not started, because Run was canceled or the cost limit was
	// reached.
	Skipped Status = "skipped"
)

// Result is one run of a case.
type Result struct {
	Case string `json:"case"`
	// Variant names the values of the matrix that the run used; empty for none.
	Variant string `json:"variant,omitempty"`
	// Repeat counts the runs of the case, from 1.
	Repeat int    `json:"repeat"`
	Agent  string `json:"agent"`
	Status Status `json:"status"`
	// Digest identifies the case and the configuration that it used.
	Digest string `json:"digest,omitempty"`
	// Deterministic is set if all models answered from a recording or script, so that the
	// run always has the same outcome.
	Deterministic bool `json:"deterministic,omitempty"`
	// Failures are the unmet expectations, or the reason why the run is an error.
	Failures []Failure     `json:"failures,omitempty"`
	Turns    []*TurnResult `json:"turns,omitempty"`
	// Score is the mean of the judges' scores; nil without judges.
	Score    *float64      `json:"score,omitempty"`
	Usage    event.Usage   `json:"usage,omitzero"`
	Cost     *event.Cost   `json:"cost,omitempty"`
	Duration time.Duration `json:"duration_ns"`
}

// Name returns the case, with its variant and the number of a repeated run.
func (r *Result) Name() string {
	name := r.Case
	if r.Variant != "" {
		name += " [" + r.Variant + "]"
	}
	if r.Repeat > 1 {
		name += fmt.Sprintf(" #%d", r.Repeat)
	}
	return name
}

// Failure is an unmet expectation.
type Failure struct {
	// Turn counts the turns of the case, from 1; 0 concerns the case as a whole.
	Turn int `json:"turn,omitempty"`
	// Field is the field of the expectation, such as text.contains[0].
	Field   string `json:"field,omitempty"`
	Message string `json:"message"`
}

// TurnResult is the outcome of a turn. Judges read it, and reports show it.
type TurnResult struct {
	Prompt string       `json:"prompt"`
	Status event.Status `json:"status"`
	event.Outcome
	// Calls are the tool calls of the turn and its delegates, in the order they began.
	Calls []*CallResult `json:"calls,omitempty"`
	// Delegates and Handoffs are the agents that ran for the turn.
	Delegates []string         `json:"delegates,omitempty"`
	Handoffs  []string         `json:"handoffs,omitempty"`
	Artifacts []event.Artifact `json:"artifacts,omitempty"`
	State     json.RawMessage  `json:"state,omitempty"`
	Duration  time.Duration    `json:"duration_ns,omitzero"`
	Verdicts  []Verdict        `json:"verdicts,omitempty"`

	artifacts map[string][]byte
}

// CallResult is a call of a tool.
type CallResult struct {
	Tool string `json:"tool"`
	// Arguments are those the tool received or, if it was not reached, those the model wrote. Text
	// that is not JSON becomes a JSON string.
	Arguments json.RawMessage   `json:"arguments"`
	Outcome   event.CallOutcome `json:"outcome"`
	Result    string            `json:"result"`
	// Path lists the calls that led to the delegate that made the call.
	Path []string `json:"path,omitempty"`

	// ran is set if the call reached its tool or the stub.
	ran bool
}

// Verdict is a judge's verdict on a turn.
type Verdict struct {
	Judge   string  `json:"judge"`
	Score   float64 `json:"score"`
	Pass    bool    `json:"pass"`
	Comment string  `json:"comment,omitempty"`
	// Prompt is the model's prompt.
	Prompt string `json:"prompt,omitempty"`
}

// addCost adds costs in one currency. It ignores costs in a currency other than the first.
func addCost(sum, c *event.Cost) *event.Cost {
	switch {
	case c == nil:
		return sum
	case sum == nil:
		return &event.Cost{Amount: c.Amount, Currency: c.Currency}
	case sum.Currency == c.Currency:
		sum.Amount += c.Amount
	}
	return sum
}
