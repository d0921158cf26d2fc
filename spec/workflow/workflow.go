// Package workflow defines workflows: what starts them, their steps, and the values and templates
// that carry data from one step to the next. It only computes and contacts nothing external;
// package service/workflow runs workflows.
package workflow

import (
	"cmp"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/check"
	"github.com/agentruntime/agentruntime/spec"
)

// OnWait is the policy for a run that must wait for a person.
type OnWait string

// The policies. Empty means WaitForPerson.
const (
	// WaitForPerson lets the run wait for the answer.
	WaitForPerson OnWait = "wait"
	// FailOnWait cancels the waiting work and fails the run.
	FailOnWait OnWait = "fail"
)

// OnLimit is the policy for a run that exceeds the limit.
type OnLimit string

// The policies. Empty means QueueRun.
const (
	// QueueRun lets the run wait until another one has ended.
	QueueRun OnLimit = "queue"
	// SkipRun ends the run immediately, as canceled.
	SkipRun OnLimit = "skip"
)

const (
	// DefaultTenant owns the runs of a workflow without a tenant.
	DefaultTenant = "default"
	// defaultSubject owns the runs of a workflow without a subject.
	defaultSubject = "workflow"
)

// Workflow is a sequence of steps, and what starts it.
type Workflow struct {
	ID          string         `json:"id,omitempty" key:"true"`
	Description string         `json:"description,omitempty" doc:"The workflow's purpose."`
	Schedules   []Schedule     `json:"schedules,omitempty" doc:"The times at which a run starts."`
	Events      []EventTrigger `json:"events,omitempty" doc:"Published events that each start a run."`
	Webhooks    []Webhook      `json:"webhooks,omitempty" doc:"Signed requests that each start a run."`
	Steps       []Step         `json:"steps,omitempty" max:"100" doc:"The steps of a run, in order."`
	Target      *Target        `json:"target,omitempty" doc:"The older form: a single agent turn or tool call instead of steps."`
	Timeout     *spec.Duration `json:"timeout,omitempty" doc:"Time limit of a run, from its first step. If absent, only its steps have limits."`
	OnWait      OnWait         `json:"on_wait,omitempty" enum:"wait|fail" default:"wait" doc:"What happens to a run that must wait for a person: it waits, or the waiting step is canceled and the run fails."`
	Concurrency *Concurrency   `json:"concurrency,omitempty" doc:"Limit on concurrent runs. Unlimited if absent."`
	Tenant      string         `json:"tenant,omitempty" default:"default" doc:"The tenant that owns the runs and whose events start them. If the server has no credentials, a workflow without tenant and subject belongs to the subject local of the tenant local, like all callers."`
	Subject     string         `json:"subject,omitempty" default:"workflow" doc:"The tenant's subject that owns the runs' sessions and turns."`

	// written maps paths of the workflow to paths of the original record.
	written []writtenPath
}

// Concurrency limits the runs of a workflow.
type Concurrency struct {
	Limit   int     `json:"limit" required:"true" min:"1" max:"1000" doc:"Maximum number of concurrent runs."`
	OnLimit OnLimit `json:"on_limit,omitempty" enum:"queue|skip" default:"queue" doc:"What happens to an additional run: it waits, or is canceled."`
}

// Owner returns the tenant and the subject that own the runs.
func (w *Workflow) Owner() (tenant, subject string) {
	return cmp.Or(w.Tenant, DefaultTenant), cmp.Or(w.Subject, defaultSubject)
}

// Limit returns how many runs may be under way at the same time; 0 means no limit.
func (w *Workflow) Limit() int {
	if w.Concurrency == nil {
		return 0
	}
	return w.Concurrency.Limit
}

// Waits reports whether a run may wait for a person.
func (w *Workflow) Waits() bool { return w.OnWait != FailOnWait }

// AllSteps returns the steps of the workflow, or its converted Target in the older form.
func (w *Workflow) AllSteps() []Step {
	if len(w.Steps) > 0 || w.Target == nil {
		return w.Steps
	}
	return w.Target.toSteps()
}

// Definition returns the parts of the workflow that a run needs: all except its starts.
func (w *Workflow) Definition() *Workflow {
	own := *w
	own.Schedules, own.Events, own.Webhooks = nil, nil, nil
	return &own
}

// Validate checks the record by itself. It does not check whether agents and tools exist.
func (w *Workflow) Validate() diag.List {
	var list diag.List
	switch {
	case len(w.Steps) > 0 && w.Target != nil:
		list = append(list, diag.New(diag.InvalidValue, "target", "target and steps exclude each other").AtKey().WithHint("write one of them"))
	case w.Target != nil:
		list = append(list, check.Within("target", w.Target.validate())...)
	case len(w.Steps) == 0:
		list = append(list, diag.New(diag.MissingField, "steps", "the workflow has no steps").WithHint("write steps: a list of tool calls and agent turns"))
	default:
		list = append(list, validateSteps(w.Steps)...)
	}
	list = append(list, w.validateTriggers()...)
	if w.Timeout != nil && w.Timeout.Std() <= 0 {
		list = append(list, diag.New(diag.InvalidValue, "timeout", "timeout must be more than 0"))
	}
	if c := w.Concurrency; c != nil {
		list = append(list, check.Within("concurrency", check.Positive("limit", &c.Limit))...)
	}
	return w.AsWritten(list)
}
