package service_test

import (
	"context"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/agentruntime/agentruntime/internal/testkit/turntest"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/dispatch/local"
	"github.com/agentruntime/agentruntime/store/sqlite"
)

// countedJobs counts the jobs that a dispatcher is given.
type countedJobs struct {
	*local.Dispatcher
	jobs atomic.Int64
}

func (c *countedJobs) Enqueue(ctx context.Context, tx any, jobs []store.Job) error {
	c.jobs.Add(int64(len(jobs)))
	return c.Dispatcher.Enqueue(ctx, tx, jobs)
}

func TestAProcessWithRoomBeginsWithItsTurnsWithoutAJob(t *testing.T) {
	t.Parallel()
	file, err := sqlite.Open(t.Context(), store.Settings{DSN: filepath.Join(t.TempDir(), "runtime.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	queue := &countedJobs{Dispatcher: local.New(local.Settings{Concurrency: 1})}
	s := serve(t, turntest.Asking(t), on(file), func(v *service.Settings) { v.Dispatcher = queue })
	made := create(t, s, says(session(t, s, "clerk"), "x"))
	if made.Status != store.Pending || made.Worker != "" || !made.StartedAt.IsZero() || !made.UpdatedAt.Equal(made.CreatedAt) {
		t.Errorf("the turn that is made is %+v", made.Turn)
	}
	waits := until(t, s, made.ID, store.Waiting)
	if n := queue.jobs.Load(); n != 0 || waits.Fence != 1 {
		t.Errorf("%d jobs were queued, and the turn has been claimed %d times", n, waits.Fence)
	}
	for _, id := range []string{"may_a", "may_b"} {
		if _, err := s.AnswerInteraction(t.Context(), alice, made.ID, turntest.Yes(id)); err != nil {
			t.Fatal(err)
		}
	}
	if done := ended(t, s, made.ID); done.Status != store.Succeeded || done.Fence < 2 {
		t.Errorf("the turn is %+v", done.Turn)
	}
	if queue.jobs.Load() == 0 {
		t.Error("the turn went on without a job")
	}
	log(t, s, made.ID)
}
