package river

import (
	"context"
	"time"

	"github.com/riverqueue/river"
)

const (
	// maxAttempts is how often a job is started if processes die while handling it. The turn does
	// not depend on it: the store queues another job.
	maxAttempts = 3
	// rescueAfter is when River considers a job's process dead and queues the job again. A turn
	// that runs longer gets one second job this way, whose claim is rejected.
	rescueAfter = 5 * time.Minute
	// placePatience is how long a fetched job waits for a place that is taken by a turn without a
	// job.
	placePatience = time.Second
)

// turn is the payload of a job.
type turn struct {
	ID string `json:"turn_id"`
}

// Kind implements river.JobArgs.
func (turn) Kind() string { return "turn" }

// worker hands River's jobs to the handler.
type worker struct {
	river.WorkerDefaults[turn]
	dispatcher *Dispatcher
}

// Work implements river.Worker. The outcome of the turn is in the store, so the job is always done.
func (w *worker) Work(ctx context.Context, job *river.Job[turn]) error {
	waited := time.NewTimer(placePatience)
	defer waited.Stop()
	select {
	case w.dispatcher.slots <- struct{}{}:
		defer w.dispatcher.leaveSlot()
	case <-waited.C:
		return river.JobSnooze(0) // turns without jobs have all places: another replica may have one
	case <-ctx.Done():
	}
	if ctx.Err() != nil || w.dispatcher.ending.Load() {
		return river.JobSnooze(0) // it comes late, and is for another replica
	}
	w.dispatcher.work(ctx, job.Args.ID)
	return nil
}

// Timeout implements river.Worker. River calls it before it works on a job, where a turn may take
// any time, and again for jobs that it would rescue, where no timeout would mean never.
func (w *worker) Timeout(job *river.Job[turn]) time.Duration {
	if job.AttemptedAt != nil && time.Since(*job.AttemptedAt) >= rescueAfter {
		return rescueAfter
	}
	return -1
}

// NextRetry implements river.Worker. It retries immediately, because a rescued job has waited long
// enough.
func (w *worker) NextRetry(*river.Job[turn]) time.Time { return time.Now() }
