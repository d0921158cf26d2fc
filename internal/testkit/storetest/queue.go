package storetest

import (
	"context"
	"slices"
	"sync"

	"github.com/agentruntime/agentruntime/store"
)

// Queue is a store.Queue that keeps the jobs it is told of. Its zero value is
// ready. It is safe for concurrent use.
type Queue struct {
	mu   sync.Mutex
	jobs []store.Job
}

var _ store.Queue = (*Queue)(nil)

// Enqueue records jobs. The error is the context's.
func (q *Queue) Enqueue(ctx context.Context, _ any, jobs []store.Job) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.jobs = append(q.jobs, jobs...)
	return nil
}

// Take returns the jobs since the last time, in the order in which they came.
func (q *Queue) Take() []store.Job {
	q.mu.Lock()
	defer q.mu.Unlock()
	jobs := slices.Clone(q.jobs)
	q.jobs = nil
	return jobs
}
