package runtime

import (
	"context"
	"errors"
	"fmt"
	"runtime/pprof"
	"time"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/internal/panics"
)

// patience is how long a turn may take to return after its context has ended before it is
// abandoned. Its goroutine then ends when its blocking call does. Abandoning takes up to a second
// more, to end tasks at peers.
const patience = 10 * time.Second

// errNoOutcome is the error of a turn whose goroutine was ended by runtime.Goexit.
var errNoOutcome = errors.New("the turn ended without a result")

// outcome is a backend's return values.
type outcome struct {
	result *backend.Result
	err    error
}

// jobRun is a job running on a separate goroutine.
type jobRun struct {
	host *host
	ctx  context.Context //nolint:containedctx // that of the job
	// done is closed when the outcome is available.
	done chan struct{}
	outcome
}

// executeJob runs the job on its own goroutine: a plugin or executor that ignores
// its context must not block the caller forever.
func (h *host) executeJob(ctx context.Context) (*backend.Result, error) {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	h.job.Abort, h.job.RunAside = end, h.runtime.aside
	e := &jobRun{host: h, ctx: ctx, done: make(chan struct{})}
	h.runtime.workers.runAside(e.run)
	select {
	case <-e.done:
		return e.result, e.err
	case <-ctx.Done():
	}
	h.overdue = time.Now().Add(patience)
	over := time.NewTimer(patience)
	defer over.Stop()
	select {
	case <-e.done:
		return e.result, e.err
	case <-over.C:
		h.shutGate()
		return nil, &AbandonedError{TurnID: h.turnID, Err: backend.Ended(ctx)}
	}
}

// run runs the job. A Goexit in it must not block the caller.
func (e *jobRun) run() {
	defer close(e.done)
	e.err = errNoOutcome
	pprof.SetGoroutineLabels(e.ctx) // its labels may be of an earlier turn
	e.outcome = e.host.runJob(e.ctx)
}

// runJob runs the job and turns a panic of the backend, or of the sink, into an
// error.
func (h *host) runJob(ctx context.Context) (o outcome) {
	defer panics.Handle(func(p *panics.Error) {
		o = outcome{err: p}
	})
	h.emitStart()
	o.result, o.err = h.where.Execute(ctx, &h.job, h.backendHost())
	if o.err != nil {
		_ = o.err.Error() // an error with a nil pointer panics here, where it is recovered
	}
	return o
}

// AbandonedError reports that a turn was abandoned because something in it did not
// end with its context.
type AbandonedError struct {
	TurnID string
	// Err is the reason that the context ended.
	Err error
}

// Error names the turn and the reason that its context ended.
func (e *AbandonedError) Error() string {
	return fmt.Sprintf("turn %s did not end within %s: %v", e.TurnID, patience, e.Err)
}

// Unwrap returns the reason that the context ended.
func (e *AbandonedError) Unwrap() error { return e.Err }
