// Package river holds the Dispatcher for several replicas on one PostgreSQL. It uses River's queue
// in the database of the turns, so that a job is committed together with its turn.
//
// River fetches jobs, wakes the replicas with LISTEN, and cleans up. Two things bypass River. Jobs
// are inserted with our own statement, which takes one round trip and makes delayed jobs visible to
// every replica when they are due; River's own scheduler polls every five seconds, on one replica.
// And a ringer notifies the replicas of jobs.
package river

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agentruntime/agentruntime/store/dispatch"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"go.uber.org/zap"
)

// Defaults of Settings.
const (
	defaultConcurrency = 64
	defaultQueue       = "agentruntime"
)

const (
	// fetchCooldown is the minimum time between two fetches of a replica, which delays jobs on a
	// busy one. River's default is 100 ms. A lower value would cost more than it saves.
	fetchCooldown = 2 * time.Millisecond
	// fetchPoll is how long a job waits if it has no notification because it was delayed or the
	// notification was lost.
	fetchPoll = time.Second
	// fetchPollOnly is how long a job of another replica waits with Settings.PollOnly.
	fetchPollOnly = 250 * time.Millisecond
	// completedFor is how long completed jobs stay in the table. The turns have the
	// results; these rows only wait to be vacuumed.
	completedFor = time.Second
	// discardedFor is the retention of jobs that never completed.
	discardedFor = time.Hour
)

// Settings configures a Dispatcher.
type Settings struct {
	// Queue names the queue, for runtimes that share a database but not their turns; empty means
	// agentruntime. It consists of letters, digits, _ and -.
	Queue string
	// Concurrency is how many handlers of this process run at the same time, at
	// most 10 000; 0 means 64.
	Concurrency int
	// PollOnly polls for jobs every 250 ms instead of listening. Listening needs a connection that
	// no pooler assigns by transaction.
	PollOnly bool
	// Logger receives River's log; nil drops it.
	Logger *zap.Logger

	_ struct{} // keyed literals only
}

// Dispatcher calls handlers for jobs in PostgreSQL. All replicas with the same
// queue share them. The jobs of one turn may be handled at the same time.
type Dispatcher struct {
	pool   *pgxpool.Pool
	queue  string
	log    *zap.Logger
	client *river.Client[pgx.Tx]
	ringer *ringer

	work   dispatch.Handler // set before the client starts
	ending atomic.Bool      // set when it is to end
	// slots is a semaphore: each running handler holds one.
	slots chan struct{}

	mu      sync.Mutex
	stopped <-chan struct{} // closed when a running client has stopped
	hints   hints
}

// hints are the handlers started by hints. The mutex of the Dispatcher guards them.
type hints struct {
	// ctx is the handlers' context, and cancel cancels it; nil before Start.
	ctx     context.Context //nolint:containedctx // it ends with Stop
	cancel  context.CancelFunc
	running sync.WaitGroup
}

var _ dispatch.Dispatcher = (*Dispatcher)(nil)

var (
	errStarted = errors.New("start dispatcher: it was started before")
	errStopped = errors.New("start dispatcher: it was stopped before")
)

// New returns a Dispatcher on a pool, which the caller owns and closes after Stop. Once started,
// the Dispatcher holds one separate connection for listening, unless Settings.PollOnly is set. New
// does not connect; it fails only for invalid settings. The database must be migrated before Start.
func New(pool *pgxpool.Pool, s Settings) (*Dispatcher, error) {
	if s.Queue == "" {
		s.Queue = defaultQueue
	}
	if s.Concurrency == 0 {
		s.Concurrency = defaultConcurrency
	}
	if s.Logger == nil {
		s.Logger = zap.NewNop()
	}
	d := &Dispatcher{pool: pool, queue: s.Queue, log: s.Logger}
	workers := river.NewWorkers()
	if err := river.AddWorkerSafely(workers, &worker{dispatcher: d}); err != nil {
		return nil, fmt.Errorf("make dispatcher: %w", err)
	}
	poll := fetchPoll
	if s.PollOnly {
		poll = fetchPollOnly
	}
	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{
		Queues:                      map[string]river.QueueConfig{s.Queue: {MaxWorkers: s.Concurrency}},
		Workers:                     workers,
		FetchCooldown:               fetchCooldown,
		FetchPollInterval:           poll,
		PollOnly:                    s.PollOnly,
		JobTimeout:                  -1,
		MaxAttempts:                 maxAttempts,
		RescueStuckJobsAfter:        rescueAfter,
		CompletedJobRetentionPeriod: completedFor,
		DiscardedJobRetentionPeriod: discardedFor,
		Logger:                      slog.New(&logHandler{to: s.Logger}),
	})
	if err != nil {
		return nil, fmt.Errorf("make dispatcher: %w", err)
	}
	d.client, d.slots = client, make(chan struct{}, s.Concurrency)
	d.ringer = newRinger(d.notifyReplicas)
	return d, nil
}

// Start implements dispatch.Dispatcher. It returns errors of the database, and does not wait for
// an unreachable one.
func (d *Dispatcher) Start(ctx context.Context, work dispatch.Handler) error {
	if err := d.setHandler(work); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	if err := d.client.Start(ctx); err != nil {
		return fmt.Errorf("start dispatcher: %w", err)
	}
	d.mu.Lock()
	d.stopped = d.client.Stopped()
	d.hints.ctx, d.hints.cancel = context.WithCancel(ctx)
	d.mu.Unlock()
	if d.ending.Load() {
		d.Stop() // a Stop in between found nothing to stop
		return errStopped
	}
	d.ringer.requestEchoes() // for jobs between the first fetch and listening
	return nil
}

// setHandler sets the handler, once.
func (d *Dispatcher) setHandler(work dispatch.Handler) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.ending.Load():
		return errStopped
	case d.work != nil:
		return errStarted
	}
	d.work = work
	return nil
}

// Drain implements dispatch.Dispatcher.
func (d *Dispatcher) Drain(ctx context.Context) error {
	select {
	case <-d.stopClient(d.client.Stop):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case <-d.hintsHandled():
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Stop implements dispatch.Dispatcher. Jobs may be queued after it, for other
// replicas or the next start.
func (d *Dispatcher) Stop() {
	stopped := d.stopClient(d.client.StopAndCancel)
	d.cancelHints()
	<-stopped
	<-d.hintsHandled()
	d.ringer.close()
}

// cancelHints cancels the contexts of the handlers started by hints.
func (d *Dispatcher) cancelHints() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.hints.cancel != nil {
		d.hints.cancel()
	}
}

// hintsHandled returns a channel that is closed when the handlers started by hints have returned.
// It is called after the last hint is taken.
func (d *Dispatcher) hintsHandled() <-chan struct{} {
	done := make(chan struct{})
	go func() {
		d.hints.running.Wait()
		close(done)
	}()
	return done
}

func (d *Dispatcher) leaveSlot() { <-d.slots }

// notifyReplicas notifies the replicas of jobs.
func (d *Dispatcher) notifyReplicas(ctx context.Context) {
	bounded, cancel := context.WithTimeout(ctx, notifyTimeout)
	defer cancel()
	if _, err := d.pool.Exec(bounded, "SELECT "+notify, d.queue); err != nil && ctx.Err() == nil {
		d.log.Warn("job notification failed, replicas poll", zap.String("queue", d.queue), zap.Error(err))
	}
}

// stopClient starts stopping the client and returns a channel that is closed when it has stopped.
func (d *Dispatcher) stopClient(stop func(context.Context) error) <-chan struct{} {
	d.mu.Lock()
	d.ending.Store(true) // no hint is taken after that
	stopped := d.stopped
	d.mu.Unlock()
	if stopped == nil {
		nothing := make(chan struct{})
		close(nothing)
		return nothing
	}
	// The context is canceled so that stop does not wait: while it waits, no other caller can make
	// the client hurry.
	told, cancel := context.WithCancel(context.Background())
	cancel()
	_ = stop(told) // fails because it did not wait
	return stopped
}
