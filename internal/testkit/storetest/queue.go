package storetest

import (
	"context"
	"slices"
	"sync"

	"github.com/agentruntime/agentruntime/store"
)

// Queue is a store.Queue that records the jobs it receives. Its zero value is ready for use. It is
// safe for concurrent use.
type Queue struct {
	mu   sync.Mutex
	jobs []store.Job
}

var _ store.Queue = (*Queue)(nil)

// Enqueue records jobs. It returns the context's error.
func (q *Queue) Enqueue(ctx context.Context, _ any, jobs []store.Job) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.jobs = append(q.jobs, jobs...)
	return nil
}

// Take returns the jobs since the last call, in order of arrival.
func (q *Queue) Take() []store.Job {
	q.mu.Lock()
	defer q.mu.Unlock()
	jobs := slices.Clone(q.jobs)
	q.jobs = nil
	return jobs
}
