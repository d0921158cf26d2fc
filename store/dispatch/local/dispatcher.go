// Package local holds the Dispatcher of a runtime that is one process: a queue in
// memory, which the store fills again after a restart.
package local

import (
	"container/heap"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/dispatch"
	"go.uber.org/zap"
)

// defaultConcurrency is how many handlers run at the same time unless the
// settings say otherwise.
const defaultConcurrency = 64

// Settings configures a Dispatcher.
type Settings struct {
	// Concurrency is how many handlers run at the same time; 0 means 64.
	Concurrency int
	// Logger logs jobs that remain at the end; may be nil.
	Logger *zap.Logger

	_ struct{} // keyed literals only
}

// Dispatcher calls handlers in its own process, in the order in which their jobs became due. It
// merges a job for a turn with a queued one. A job for a turn that is being handled waits until the
// handler returns, because the handler may have read the turn too early. Only the store's admission
// bounds the queue.
type Dispatcher struct {
	limit  int
	log    *zap.Logger
	cancel context.CancelFunc // ends ctx
	idle   chan struct{}      // closed when closed is set and no handler runs

	mu      sync.Mutex
	ctx     context.Context // that of the handlers
	work    dispatch.Handler
	closed  bool
	running int
	turns   map[string]state
	due     fifo
	later   schedule
	timer   *time.Timer // fires when the first job of later is due
}

var _ dispatch.Dispatcher = (*Dispatcher)(nil)

// state is the state of a turn in a Dispatcher.
type state uint8

const (
	// queued is a turn with a job that has not begun. It is in due, or is put there when its
	// running handler returns.
	queued state = 1 << iota
	// handled is a turn whose handler is running.
	handled
)

var (
	errStarted = errors.New("start dispatcher: it was started before")
	errStopped = errors.New("start dispatcher: it was stopped before")
)

// New returns a Dispatcher that queues jobs but calls no handler before Start.
func New(s Settings) *Dispatcher {
	d := &Dispatcher{
		limit: s.Concurrency, log: s.Logger,
		cancel: func() {}, idle: make(chan struct{}),
		turns: make(map[string]state), later: schedule{jobs: make(map[key]struct{})},
	}
	if d.limit <= 0 {
		d.limit = defaultConcurrency
	}
	if d.log == nil {
		d.log = zap.NewNop()
	}
	return d
}

// NewDispatcher is New for a program composed of components: it is the driver.Engine.NewDispatcher
// of a store that serves one process.
func NewDispatcher(concurrency int, logger *zap.Logger) (dispatch.Dispatcher, error) {
	return New(Settings{Concurrency: concurrency, Logger: logger}), nil
}

// Enqueue implements store.Queue. It never waits for a handler, does not use the
// transaction, and has no errors. After Drain or Stop it drops the jobs.
func (d *Dispatcher) Enqueue(_ context.Context, _ any, jobs []store.Job) error {
	now := time.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil
	}
	for _, job := range jobs {
		if job.NotBefore.After(now) {
			d.delayJob(job, now)
		} else {
			d.pushTurn(job.TurnID)
		}
	}
	d.startJobs()
	return nil
}

// Start implements dispatch.Dispatcher.
func (d *Dispatcher) Start(ctx context.Context, work dispatch.Handler) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.closed:
		return errStopped
	case d.work != nil:
		return errStarted
	}
	d.ctx, d.cancel = context.WithCancel(context.WithoutCancel(ctx))
	d.work = work
	d.startJobs()
	return nil
}

// Drain implements dispatch.Dispatcher.
func (d *Dispatcher) Drain(ctx context.Context) error {
	d.close()
	select {
	case <-d.idle:
		return nil
	case <-ctx.Done():
	}
	select {
	case <-d.idle: // both had happened
		return nil
	default:
		return context.Cause(ctx)
	}
}

// Stop implements dispatch.Dispatcher.
func (d *Dispatcher) Stop() {
	d.close()()
	<-d.idle
}

// close stops taking jobs and returns the function that cancels the handlers' contexts.
func (d *Dispatcher) close() context.CancelFunc {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return d.cancel
	}
	d.closed = true
	if d.timer != nil {
		d.timer.Stop()
	}
	if d.running == 0 {
		close(d.idle)
	}
	if left := d.due.len() + d.later.Len(); left > 0 {
		d.log.Info("jobs left for the next start", zap.Int("jobs", left))
	}
	return d.cancel
}

// pushTurn queues a turn that is due. It is called with the lock held, like all methods below that
// do not lock it themselves.
func (d *Dispatcher) pushTurn(turnID string) {
	s := d.turns[turnID]
	if s&queued != 0 {
		return
	}
	d.turns[turnID] = s | queued
	if s&handled == 0 {
		d.due.pushID(turnID)
	}
}

// delayJob queues a job for later and sets the timer to the first delayed job.
func (d *Dispatcher) delayJob(job store.Job, now time.Time) {
	if !d.later.addJob(job) {
		return
	}
	if d.later.firstDue().NotBefore.Equal(job.NotBefore) {
		d.setTimer(job.NotBefore.Sub(now))
	}
}

// setTimer sets the timer.
func (d *Dispatcher) setTimer(in time.Duration) {
	if d.timer == nil {
		d.timer = time.AfterFunc(in, d.queueDue)
		return
	}
	d.timer.Reset(in)
}

// queueDue queues the delayed jobs that are due now.
func (d *Dispatcher) queueDue() {
	now := time.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return
	}
	for d.later.Len() > 0 {
		job := d.later.firstDue()
		if job.NotBefore.After(now) {
			d.setTimer(job.NotBefore.Sub(now))
			break
		}
		heap.Pop(&d.later)
		d.pushTurn(job.TurnID)
	}
	d.startJobs()
}

// startJobs starts goroutines for due jobs, up to the limit.
func (d *Dispatcher) startJobs() {
	if d.work == nil || d.closed {
		return
	}
	for d.running < d.limit && d.due.len() > 0 {
		d.running++
		go d.handleTurns(d.popDue())
	}
}

// popDue removes the first job that is due.
func (d *Dispatcher) popDue() string {
	turnID := d.due.popID()
	d.turns[turnID] = handled
	return turnID
}

// handleTurns handles a turn and then further turns until the queue is empty or the dispatcher is
// closed.
func (d *Dispatcher) handleTurns(turnID string) {
	for more := true; more; {
		d.work(d.ctx, turnID)
		turnID, more = d.nextTurn(turnID)
	}
}

// nextTurn ends the handling of a turn and takes another one.
func (d *Dispatcher) nextTurn(handledID string) (turnID string, more bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.turns[handledID]&queued != 0 {
		d.turns[handledID] = queued
		d.due.pushID(handledID)
	} else {
		delete(d.turns, handledID)
	}
	if !d.closed && d.due.len() > 0 {
		return d.popDue(), true
	}
	d.leave()
	return "", false
}

// leave releases a handler's place.
func (d *Dispatcher) leave() {
	d.running--
	if d.closed && d.running == 0 {
		close(d.idle)
	}
}
