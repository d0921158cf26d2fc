package workflows

import (
	"encoding/json"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/service/workflow"
	"github.com/agentruntime/agentruntime/spec"
	flow "github.com/agentruntime/agentruntime/spec/workflow"
)

// Target is the work of a schedule or trigger: steps, or the older single agent or tool.
type Target struct {
	Steps []Step         `json:"steps,omitempty"`
	Agent *Agent         `json:"agent,omitempty"`
	Tool  *flow.ToolCall `json:"tool,omitempty"`
	// OutputDelivery passes the agent's answer to a tool, in the older form.
	OutputDelivery *Delivery `json:"outputDelivery,omitempty"`
	// TimeoutSeconds limits the duration of the older form.
	TimeoutSeconds float64 `json:"timeoutSeconds,omitempty"`
}

// Delivery passes the answer of an agent to a tool.
type Delivery struct {
	Tool          string    `json:"tool"`
	InputBindings []Binding `json:"inputBindings,omitempty"`
}

// Binding is one argument of the tool that gets an answer. Its value has exactly one
// source.
type Binding struct {
	InputField string       `json:"inputField"`
	Value      BindingValue `json:"value"`
}

// BindingValue is the source of an argument.
type BindingValue struct {
	AgentOutput    string          `json:"agentOutput,omitempty"`
	SignalPayload  string          `json:"signalPayload,omitempty"`
	SignalMetadata string          `json:"signalMetadata,omitempty"`
	Literal        json.RawMessage `json:"literal,omitempty"`
}

// Step is one step of a target.
type Step struct {
	ID             string                     `json:"id"`
	Inputs         map[string]json.RawMessage `json:"inputs,omitempty"`
	Agent          *Agent                     `json:"agent,omitempty"`
	Tool           *flow.ToolCall             `json:"tool,omitempty"`
	When           *flow.Condition            `json:"when,omitempty"`
	TimeoutSeconds float64                    `json:"timeoutSeconds,omitempty"`
	Retry          *Retry                     `json:"retry,omitempty"`
	Metadata       json.RawMessage            `json:"metadata,omitempty"`
}

// Retry repeats a failed step.
type Retry struct {
	MaxAttempts       int     `json:"maxAttempts"`
	BackoffSeconds    float64 `json:"backoffSeconds,omitempty"`
	MaxBackoffSeconds float64 `json:"maxBackoffSeconds,omitempty"`
}

// Concurrency limits the concurrent runs.
type Concurrency struct {
	Limit   int    `json:"limit"`
	OnLimit string `json:"onLimit,omitempty"`
}

// Agent is a turn of an agent.
type Agent struct {
	Agent      string          `json:"agent"`
	ModelID    string          `json:"modelId,omitempty"`
	Prompt     json.RawMessage `json:"prompt,omitempty"`
	Messages   []flow.Message  `json:"messages,omitempty"`
	Tools      []string        `json:"tools,omitzero"`
	Output     *flow.Output    `json:"output,omitempty"`
	SessionKey json.RawMessage `json:"sessionKey,omitempty"`
}

// Match selects the events that start runs.
type Match struct {
	Type    string `json:"type"`
	Source  string `json:"source,omitempty"`
	Subject string `json:"subject,omitempty"`
}

// StartRequest creates or replaces a schedule, which has cron, or a trigger, which has match.
type StartRequest struct {
	ID       string          `json:"id,omitempty"`
	Cron     string          `json:"cron,omitempty"`
	TimeZone string          `json:"timezone,omitempty"`
	Missed   string          `json:"missed,omitempty"`
	Input    json.RawMessage `json:"input,omitempty"`
	Match    *Match          `json:"match,omitempty"`
	Target   Target          `json:"target"`
	Paused   bool            `json:"paused,omitempty"`
	OnWait   string          `json:"onWait,omitempty"`
	// Description is the purpose of the workflow.
	Description string `json:"description,omitempty"`
	// TimeoutSeconds limits the duration of a run.
	TimeoutSeconds float64      `json:"timeoutSeconds,omitempty"`
	Concurrency    *Concurrency `json:"concurrency,omitempty"`
}

// Start is a schedule or a trigger.
type Start struct {
	ID         string          `json:"id"`
	WorkflowID string          `json:"workflowId"`
	Cron       string          `json:"cron,omitempty"`
	TimeZone   string          `json:"timezone,omitempty"`
	Missed     string          `json:"missed,omitempty"`
	Input      json.RawMessage `json:"input,omitempty"`
	Match      *Match          `json:"match,omitempty"`
	Target     Target          `json:"target"`
	Paused     bool            `json:"paused"`
	OnWait     string          `json:"onWait,omitempty"`
	// Description, TimeoutSeconds and Concurrency belong to the workflow.
	Description    string       `json:"description,omitempty"`
	TimeoutSeconds float64      `json:"timeoutSeconds,omitempty"`
	Concurrency    *Concurrency `json:"concurrency,omitempty"`
	// Declared is set if the configuration declares it, so that it can only be paused.
	Declared  bool      `json:"declared"`
	NextRunAt time.Time `json:"nextRunAt,omitzero"`
	CreatedAt time.Time `json:"createdAt,omitzero"`
	UpdatedAt time.Time `json:"updatedAt,omitzero"`
}

// ToRequest returns the request that creates an equal schedule or trigger.
func (s *Start) ToRequest() StartRequest {
	return StartRequest{
		Cron: s.Cron, TimeZone: s.TimeZone, Missed: s.Missed, Input: s.Input, Match: s.Match, Target: s.Target, Paused: s.Paused, OnWait: s.OnWait,
		Description: s.Description, TimeoutSeconds: s.TimeoutSeconds, Concurrency: s.Concurrency,
	}
}

// Trigger is what began a run.
type Trigger struct {
	Kind         string          `json:"kind"`
	ScheduleID   string          `json:"scheduleId,omitempty"`
	ScheduledFor time.Time       `json:"scheduledFor,omitzero"`
	TriggerID    string          `json:"triggerId,omitempty"`
	Event        *workflow.Event `json:"event,omitempty"`
}

// StepView is the state of a step of a run.
type StepView struct {
	ID         string          `json:"id"`
	Status     string          `json:"status"`
	Attempt    int             `json:"attempt,omitempty"`
	SessionID  string          `json:"sessionId,omitempty"`
	TurnID     string          `json:"turnId,omitempty"`
	Input      json.RawMessage `json:"input,omitempty"`
	Output     json.RawMessage `json:"output,omitempty"`
	Error      string          `json:"error,omitempty"`
	Usage      *event.Usage    `json:"usage,omitempty"`
	Cost       *event.Cost     `json:"cost,omitempty"`
	StartedAt  time.Time       `json:"startedAt,omitzero"`
	FinishedAt time.Time       `json:"completedAt,omitzero"`
	// RetryAt is when the next attempt begins.
	RetryAt time.Time `json:"retryAt,omitzero"`
	// Metadata is the metadata of the step in its workflow.
	Metadata json.RawMessage `json:"metadata,omitempty"`
}

// RunView is a run.
type RunView struct {
	ID            string    `json:"id"`
	WorkflowID    string    `json:"workflowId"`
	Status        string    `json:"status"`
	Trigger       Trigger   `json:"trigger"`
	CreatedBy     string    `json:"createdBy"`
	CreatedAt     time.Time `json:"createdAt"`
	StartedAt     time.Time `json:"startedAt,omitzero"`
	CompletedAt   time.Time `json:"completedAt,omitzero"`
	StatusMessage string    `json:"statusMessage,omitempty"`
	// Steps, and the last step's output, are included only for a single run.
	Steps       []StepView      `json:"steps,omitempty"`
	FinalStepID string          `json:"finalStepId,omitempty"`
	FinalOutput json.RawMessage `json:"finalOutput,omitempty"`
}

// toSteps returns the steps of a target in the workflow's form.
func (t *Target) toSteps() []flow.Step {
	list := make([]flow.Step, len(t.Steps))
	for i := range t.Steps {
		s := &t.Steps[i]
		list[i] = flow.Step{ID: s.ID, Inputs: s.Inputs, Agent: s.Agent.toTurn(), Tool: s.Tool, When: s.When, Timeout: toDuration(s.TimeoutSeconds), Metadata: s.Metadata}
		if r := s.Retry; r != nil {
			list[i].Retry = &flow.Retry{MaxAttempts: r.MaxAttempts, Backoff: toDuration(r.BackoffSeconds), MaxBackoff: toDuration(r.MaxBackoffSeconds)}
		}
	}
	return list
}

// toDuration converts seconds to a duration; nil for 0.
func toDuration(seconds float64) *spec.Duration {
	if seconds == 0 {
		return nil
	}
	return new(spec.Duration(seconds * float64(time.Second)))
}

// secondsOf returns a duration in seconds; 0 for nil.
func secondsOf(d *spec.Duration) float64 {
	if d == nil {
		return 0
	}
	return d.Std().Seconds()
}

func (d *Delivery) toDelivery() *flow.Delivery {
	if d == nil {
		return nil
	}
	out := &flow.Delivery{Tool: d.Tool}
	for _, b := range d.InputBindings {
		out.Bindings = append(out.Bindings, flow.Binding{Field: b.InputField, Value: flow.BindingValue(b.Value)})
	}
	return out
}

func (a *Agent) toTurn() *flow.AgentTurn {
	if a == nil {
		return nil
	}
	return &flow.AgentTurn{Agent: a.Agent, ModelID: a.ModelID, Prompt: a.Prompt, Messages: a.Messages, Tools: a.Tools, Output: a.Output, SessionKey: a.SessionKey}
}

// toWorkflow returns the requested workflow.
func (r *StartRequest) toWorkflow() *flow.Workflow {
	w := &flow.Workflow{Description: r.Description, OnWait: flow.OnWait(r.OnWait), Steps: r.Target.toSteps(), Timeout: toDuration(r.TimeoutSeconds)}
	if c := r.Concurrency; c != nil {
		w.Concurrency = &flow.Concurrency{Limit: c.Limit, OnLimit: flow.OnLimit(c.OnLimit)}
	}
	if t := &r.Target; t.Agent != nil || t.Tool != nil {
		w.Target = &flow.Target{Agent: t.Agent.toTurn(), Tool: t.Tool, Delivery: t.OutputDelivery.toDelivery(), Timeout: toDuration(t.TimeoutSeconds)}
	}
	if r.Match != nil {
		w.Events = []flow.EventTrigger{{Type: r.Match.Type, Source: r.Match.Source, Subject: r.Match.Subject}}
	} else {
		w.Schedules = []flow.Schedule{{Cron: r.Cron, TimeZone: r.TimeZone, Missed: flow.Missed(r.Missed), Input: r.Input}}
	}
	return w
}

// targetOf returns the target of a workflow.
func targetOf(w *flow.Workflow) Target {
	var t Target
	steps := w.AllSteps()
	for i := range steps {
		s := &steps[i]
		one := Step{ID: s.ID, Inputs: s.Inputs, Agent: agentOf(s.Agent), Tool: s.Tool, When: s.When, TimeoutSeconds: secondsOf(s.Timeout), Metadata: s.Metadata}
		if r := s.Retry; r != nil {
			one.Retry = &Retry{MaxAttempts: r.MaxAttempts, BackoffSeconds: secondsOf(r.Backoff), MaxBackoffSeconds: secondsOf(r.MaxBackoff)}
		}
		t.Steps = append(t.Steps, one)
	}
	return t
}

func agentOf(a *flow.AgentTurn) *Agent {
	if a == nil {
		return nil
	}
	return &Agent{Agent: a.Agent, ModelID: a.ModelID, Prompt: a.Prompt, Messages: a.Messages, Tools: a.Tools, Output: a.Output, SessionKey: a.SessionKey}
}

// viewStart returns a schedule or a trigger in the client's form.
func viewStart(s *workflow.Start) *Start {
	v := &Start{
		ID: s.ID, WorkflowID: s.Workflow.ID, Target: targetOf(s.Workflow), Paused: s.Paused, OnWait: string(s.Workflow.OnWait), Declared: s.Declared,
		NextRunAt: s.NextRunAt, CreatedAt: s.CreatedAt, UpdatedAt: s.UpdatedAt,
		Description: s.Workflow.Description, TimeoutSeconds: secondsOf(s.Workflow.Timeout),
	}
	if c := s.Workflow.Concurrency; c != nil {
		v.Concurrency = &Concurrency{c.Limit, string(c.OnLimit)}
	}
	if s.Schedule != nil {
		v.Cron, v.TimeZone, v.Missed, v.Input = s.Schedule.Cron, s.Schedule.TimeZone, string(s.Schedule.Missed), s.Schedule.Input
	} else {
		v.Match = &Match{s.Event.Type, s.Event.Source, s.Event.Subject}
	}
	return v
}

// viewRun returns a run in the client's form.
func viewRun(r *workflow.Run) *RunView {
	v := &RunView{
		ID: r.ID, WorkflowID: r.WorkflowID, Status: string(r.Status), CreatedBy: r.Owner.Subject, CreatedAt: r.CreatedAt, StartedAt: r.StartedAt,
		CompletedAt: r.FinishedAt, StatusMessage: r.Message, Trigger: Trigger{Kind: string(r.Trigger.Kind), Event: r.Trigger.Event},
	}
	if r.Trigger.Kind == workflow.BySchedule {
		v.Trigger.ScheduleID, v.Trigger.ScheduledFor = r.Trigger.ID, r.Trigger.ScheduledFor
	} else {
		v.Trigger.TriggerID = r.Trigger.ID
	}
	for i := range r.Steps {
		s := &r.Steps[i]
		one := StepView{
			ID: s.ID, Status: string(s.Status), Attempt: s.Attempt, SessionID: s.SessionID, TurnID: s.TurnID, Input: s.Input, Output: s.Output,
			Error: s.Error, Cost: s.Cost, StartedAt: s.StartedAt, FinishedAt: s.FinishedAt, RetryAt: s.RetryAt,
			Metadata: r.Metadata[s.ID],
		}
		if s.Usage != (event.Usage{}) {
			one.Usage = &s.Usage
		}
		if s.Status == workflow.StepSucceeded {
			v.FinalStepID, v.FinalOutput = s.ID, s.Output
		}
		v.Steps = append(v.Steps, one)
	}
	return v
}
