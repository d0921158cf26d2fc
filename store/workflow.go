package store

import (
	"context"
	"encoding/json"
	"errors"
	"time"
)

// RunStatus is the state of a run of a workflow.
type RunStatus string

// The states of a run. Pending, running and waiting runs are live.
const (
	// RunPending is a run that has not begun.
	RunPending RunStatus = "pending"
	// RunRunning is a run whose steps are running.
	RunRunning RunStatus = "running"
	// RunWaiting is a run that waits for a person.
	RunWaiting RunStatus = "waiting"
	// RunSucceeded, RunFailed and RunCanceled are runs that have ended.
	RunSucceeded RunStatus = "succeeded"
	RunFailed    RunStatus = "failed"
	RunCanceled  RunStatus = "canceled"
)

// Live reports whether a run in the state has not ended.
func (s RunStatus) Live() bool { return s == RunPending || s == RunRunning || s == RunWaiting }

// WorkflowRun is one run of a workflow.
type WorkflowRun struct {
	// ID is unique within the tenant of the owner.
	ID         string
	WorkflowID string
	// Owner owns the sessions and turns of the run. A Shared run is visible to the whole tenant,
	// any other run only to its owner.
	Owner  Owner
	Shared bool
	Status RunStatus
	// Revision is the hash of the revision in which the run's turns begin. It is kept as long as
	// the run is live.
	Revision string
	// Definition is the workflow, Trigger the origin of the run, Input its input and State the
	// state of its steps, all as JSON. Lists omit all but Trigger.
	Definition, Trigger, Input, State json.RawMessage
	// Message describes the end of the run, or the reason it waits.
	Message string
	// TurnID is the turn that the run waits for; empty if none.
	TurnID string
	// DueAt is when the run is due again, regardless of the turn; zero means never.
	DueAt time.Time
	// Limit is how many runs of the workflow with the same owner may be under way at the same time;
	// 0 means no limit.
	Limit int
	// CancelReason is set if the run was canceled.
	CancelReason string
	// Version increases with every change.
	Version int64

	// StartedAt is zero until the run starts, FinishedAt until it ends.
	CreatedAt, UpdatedAt, StartedAt, FinishedAt time.Time
}

// ErrRunLimit reports that a run cannot begin now because its workflow has the maximum number of
// runs under way. It is due again when one of them ends.
var ErrRunLimit = errors.New("as many runs of the workflow are under way as may be")

// RunScope limits the runs and triggers that a caller sees: those with its Owner, and the shared
// ones of the tenant. With All the caller sees everything.
type RunScope struct {
	Owner Owner
	All   bool
}

// Sees reports whether a record of an owner is in the scope.
func (s RunScope) Sees(o Owner, shared bool) bool {
	return s.All || o.Tenant == s.Owner.Tenant && (shared || o.Subject == s.Owner.Subject)
}

// ScheduleCursor is the position up to which a schedule has been processed.
type ScheduleCursor struct {
	Tenant, ID string
	// Last is the latest time for which a run was created or skipped.
	Last time.Time
}

// WorkflowTrigger is a schedule or event trigger created by a caller, or the state of a declared
// trigger.
type WorkflowTrigger struct {
	// ID is unique per tenant and kind.
	ID string
	// Kind is schedule or event.
	Kind  string
	Owner Owner
	// Declared reports whether the configuration declares the trigger; only Paused is then used.
	Declared bool
	Paused   bool
	// Definition is the workflow with the one trigger; nil if the trigger is declared.
	Definition           json.RawMessage
	CreatedAt, UpdatedAt time.Time
}

// RunQuery selects a page of runs, newest first.
type RunQuery struct {
	Scope RunScope
	// WorkflowID and Status restrict the runs if set.
	WorkflowID string
	Status     RunStatus
	// Whole also reads the definitions, inputs and states of the runs, which lists omit.
	Whole bool
	Page  Page
}

// RunPage is a page of runs.
type RunPage struct {
	Runs []*WorkflowRun
	// Next is where the next page begins; empty if absent.
	Next string
}

// ClaimRuns requests runs that are due.
type ClaimRuns struct {
	// Lease is how long no other caller gets the runs.
	Lease time.Duration
	// Part restricts the claim to runs that have begun or have not.
	Part RunPart
	// TurnIDs restricts the claim to runs that wait for these turns; empty means all runs.
	TurnIDs []string
	Limit   int
	Now     time.Time
}

// RunPart is a part of the live runs. New runs and runs under way are claimed separately, so that
// many of one kind do not delay the other.
type RunPart int

// The parts.
const (
	// EveryRun is all live runs.
	EveryRun RunPart = iota
	// RunsToBegin are the pending runs.
	RunsToBegin
	// RunsUnderWay are the runs that have begun.
	RunsUnderWay
)

// Has reports whether the part includes runs in a state.
func (p RunPart) Has(s RunStatus) bool {
	return p == EveryRun || (p == RunsToBegin) == (s == RunPending)
}

// WorkflowRuns is the part of a Store that keeps the runs of workflows.
type WorkflowRuns interface {
	// CreateRuns stores new runs and moves cursors to later times. A run whose id is taken stays
	// unchanged. It returns the ids of the new runs.
	CreateRuns(ctx context.Context, runs []*WorkflowRun, cursors []ScheduleCursor) (created []string, err error)
	// GetRun returns a run. The error is ErrNotFound if the scope does not include it.
	GetRun(ctx context.Context, scope RunScope, tenant, id string) (*WorkflowRun, error)
	// ListRuns returns a page of runs, newest first.
	ListRuns(ctx context.Context, q RunQuery) (RunPage, error)
	// ClaimRuns returns live runs that are due: their time has come, the turn that they wait for
	// has ended or no longer exists, or only one of the run and the turn waits for a person. No
	// other caller gets them until the lease ends or they are saved.
	ClaimRuns(ctx context.Context, c *ClaimRuns) ([]*WorkflowRun, error)
	// SaveRun replaces a run and raises its version, also in r. If the stored version differs,
	// nothing changes and the error is a *StateError. If a pending run cannot start because its
	// limit is reached, it is held back with ErrRunLimit: it stays pending, and is due when
	// another run ends.
	SaveRun(ctx context.Context, r *WorkflowRun) error
	// CancelRun requests the end of a live run, which makes it due. The error is ErrNotFound if
	// the scope does not include it, and a *StateError if it has ended.
	CancelRun(ctx context.Context, scope RunScope, tenant, id, reason string, now time.Time) (*WorkflowRun, error)
	// PruneRuns deletes up to limit runs that ended before a time.
	PruneRuns(ctx context.Context, before time.Time, limit int) (int, error)

	// Cursors returns the cursors of all schedules.
	Cursors(ctx context.Context) ([]ScheduleCursor, error)
	// SaveTrigger stores a trigger, replacing one with the same tenant, kind and id. With isNew the
	// error is an *ExistsError if there is one.
	SaveTrigger(ctx context.Context, t *WorkflowTrigger, isNew bool) error
	// Triggers returns all triggers that the scope sees, oldest first.
	Triggers(ctx context.Context, scope RunScope) ([]*WorkflowTrigger, error)
	// DeleteTrigger deletes a trigger. The error is ErrNotFound if the scope does not include it.
	DeleteTrigger(ctx context.Context, scope RunScope, tenant, kind, id string) error
}

// CheckText returns ErrText for a run that every store rejects.
func (r *WorkflowRun) CheckText() error {
	return checkTexts(r.ID, r.WorkflowID, r.Owner.Tenant, r.Owner.Subject, string(r.Status), r.Revision, r.Message, r.TurnID, r.CancelReason)
}

// CheckText returns ErrText for a trigger that every store rejects.
func (t *WorkflowTrigger) CheckText() error {
	return checkTexts(t.ID, t.Kind, t.Owner.Tenant, t.Owner.Subject)
}
