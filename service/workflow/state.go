package workflow

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/event"
)

// StepStatus is the state of a step.
type StepStatus string

// States of a step.
const (
	StepPending   StepStatus = "pending"
	StepRunning   StepStatus = "running"
	StepWaiting   StepStatus = "waiting"
	StepSucceeded StepStatus = "succeeded"
	StepFailed    StepStatus = "failed"
	StepSkipped   StepStatus = "skipped"
	StepCanceled  StepStatus = "canceled"
)

// StepState is the state of a step of a run.
type StepState struct {
	ID     string     `json:"id"`
	Status StepStatus `json:"status"`
	// Attempt counts the attempts, from 1.
	Attempt int `json:"attempt,omitempty"`
	// SessionID and TurnID identify the latest attempt.
	SessionID string `json:"session_id,omitempty"`
	TurnID    string `json:"turn_id,omitempty"`
	// Input is the step's input: the arguments of a call, or the prompt of a turn.
	Input json.RawMessage `json:"input,omitempty"`
	// Output is the step's result, and Error explains why it failed or was skipped.
	Output json.RawMessage `json:"output,omitempty"`
	Error  string          `json:"error,omitempty"`
	// Usage and Cost are totals over all attempts.
	Usage event.Usage `json:"usage,omitzero"`
	Cost  *event.Cost `json:"cost,omitempty"`

	StartedAt  time.Time `json:"started_at,omitzero"`
	FinishedAt time.Time `json:"finished_at,omitzero"`
	// TimedFrom is when the time limit of the attempt started: at its start, or when it resumed
	// after a person answered.
	TimedFrom time.Time `json:"timed_from,omitzero"`
	// RetryAt is when the next attempt begins.
	RetryAt time.Time `json:"retry_at,omitzero"`
}

// State is the state of a run.
type State struct {
	// At is the index of the current or next step.
	At    int         `json:"at"`
	Steps []StepState `json:"steps"`
	// Trace is the trace of the run's turns.
	Trace http.Header `json:"trace,omitempty"`
}

// TriggerKind is how a run began.
type TriggerKind string

// The kinds.
const (
	BySchedule TriggerKind = "schedule"
	ByEvent    TriggerKind = "event"
	ByWebhook  TriggerKind = "webhook"
)

// Trigger is what began a run.
type Trigger struct {
	Kind TriggerKind `json:"kind"`
	// ID is the id of the schedule, event trigger or webhook.
	ID string `json:"id"`
	// ScheduledFor is the due time of a schedule.
	ScheduledFor time.Time `json:"scheduled_for,omitzero"`
	Event        *Event    `json:"event,omitempty"`
}

// signal returns the value of references to the signal.
func (t *Trigger) signal() any {
	if t.Event != nil {
		return t.Event
	}
	return map[string]any{"type": "schedule", "id": t.ID, "scheduled_for": t.ScheduledFor.UTC().Format(time.RFC3339)}
}

// stepTurn prefixes the ids of the turns and sessions of steps.
const stepTurn = "wf_"

func isStepTurn(id string) bool { return strings.HasPrefix(id, stepTurn) }

// stepID derives a stable id for a step's records.
func stepID(parts ...any) string {
	h := sha256.New()
	for _, part := range parts {
		text := fmt.Sprint(part)
		fmt.Fprintf(h, "%d:%s,", len(text), text)
	}
	return stepTurn + hex.EncodeToString(h.Sum(nil)[:16])
}
