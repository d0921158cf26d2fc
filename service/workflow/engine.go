// Package workflow runs workflows. Schedules and events create runs, which are rows in the store,
// and each step of a run is a turn of the service. Every action on a run is short, repeatable and
// guarded by the version of its row, so a dying process loses nothing and several processes may
// share a store.
package workflow

import (
	"context"
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/spec/workflow"
	"github.com/agentruntime/agentruntime/store"
	"go.opentelemetry.io/otel/metric"
	"go.uber.org/zap"
)

const (
	// lookInterval is the interval of polling for due runs, in addition to notifications.
	lookInterval = time.Second
	// claimLease is how long a claimed run is reserved. Handling a run takes milliseconds; later
	// saves are rejected.
	claimLease = 10 * time.Second
	// claimBatch is how many runs are claimed at a time, and workers how many of them are processed
	// concurrently.
	claimBatch = 256
	workers    = 16
	// stuckPause is the delay before a run that could not be advanced is retried.
	stuckPause = 5 * time.Second
	// pruneInterval is how often old runs are deleted.
	pruneInterval = time.Hour
	// minRetention is the minimum retention of runs, because they identify repeated events.
	minRetention = 24 * time.Hour
)

// Store lists the methods of a store that an Engine uses.
type Store interface {
	store.WorkflowRuns
	Journal(ctx context.Context, turnID string) ([]store.JournalRow, error)
}

// Declared is a declared workflow: from the configuration or, with Own, from the overlay of its
// tenant.
type Declared struct {
	*workflow.Workflow

	Own bool
}

// Source returns the declared workflows. It must be safe for concurrent use.
type Source interface {
	// Workflows returns the current workflows of a tenant; an empty tenant means all. The clock
	// calls it often for all tenants, so it must be cheap while nothing changes.
	Workflows(ctx context.Context, tenant string) ([]Declared, error)
	// Begin returns the revision in which a tenant's run starts, and the workflow with the id;
	// nil if none exists. It keeps the data needed to resume turns in the revision. The error
	// wraps service.ErrRevisionGone if the tenant has no revision; other errors may be temporary.
	Begin(ctx context.Context, tenant, id string) (w *workflow.Workflow, revision string, err error)
	// Check validates a workflow that a caller of a tenant created.
	Check(ctx context.Context, tenant string, w *workflow.Workflow) error
	// CheckCall returns an error with a diagnostic if a step of a workflow that a caller of a
	// tenant created must not call a tool now.
	CheckCall(ctx context.Context, tenant, tool string) error
}

// Settings configures an Engine. Store, Turns and Source are required.
type Settings struct {
	Store  Store
	Turns  *service.Service
	Source Source
	// Retention is how long runs are kept after their end, at least a day; 0 means forever.
	Retention time.Duration
	// MaxStarts limits the schedules and event triggers that callers of a tenant may create; 0
	// means no limit.
	MaxStarts int
	// Clock returns the current time; nil means time.Now.
	Clock func() time.Time
	// MeterProvider receives the metrics; it may be nil.
	MeterProvider metric.MeterProvider
	// Logger receives the log; nil drops it.
	Logger *zap.Logger

	_ struct{} // keyed literals only
}

// Engine runs workflows. It is safe for concurrent use.
type Engine struct {
	settings Settings
	meter    *meter
	clock    clock
	// news is signaled when a run may begin, looks when a running one may be due, and changed when
	// schedules changed.
	news, looks, changed chan struct{}
	// turns are the turns that changed, or that a run has just started to wait for.
	turns turnNotes

	ctx    context.Context
	cancel context.CancelFunc
	tasks  sync.WaitGroup
}

// New returns an engine. It does nothing before Start.
func New(s Settings) (*Engine, error) {
	if s.Clock == nil {
		s.Clock = time.Now
	}
	if s.Logger == nil {
		s.Logger = zap.NewNop()
	}
	m, err := newMeter(s.MeterProvider)
	if err != nil {
		return nil, err
	}
	e := &Engine{settings: s, meter: m, news: make(chan struct{}, 1), looks: make(chan struct{}, 1), changed: make(chan struct{}, 1)}
	e.turns.news, e.clock = make(chan struct{}, 1), clock{known: make(cursors), busy: make(map[string]bool)}
	e.ctx, e.cancel = context.WithCancel(context.Background())
	return e, nil
}

// Close stops creating runs, and waits for work in progress. It may be called more than once.
func (e *Engine) Close() {
	e.cancel()
	e.tasks.Wait()
}

// TurnChanged reports that a turn ended, or waits. It does not block.
func (e *Engine) TurnChanged(turnID string) {
	if isStepTurn(turnID) {
		e.turns.add(turnID)
	}
}

// Changed reports that the declared workflows may have changed. It does not block.
func (e *Engine) Changed() { signal(e.changed) }

// now returns the time with the precision of the store.
func (e *Engine) now() time.Time { return e.settings.Clock().UTC().Truncate(time.Microsecond) }

// logError logs an error unless the engine is closing.
func (e *Engine) logError(text string, err error, fields ...zap.Field) {
	if e.ctx.Err() == nil {
		e.settings.Logger.Error(text, append(fields, zap.Error(err))...)
	}
}
