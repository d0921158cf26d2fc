package sqlite

import (
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/internal/sqlstore"
)

func openForTest(t *testing.T) *Store {
	t.Helper()
	s, err := Open(t.Context(), store.Settings{DSN: filepath.Join(t.TempDir(), "runtime.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// occupy keeps the writer busy until the function that it returns is called, so
// that what comes meanwhile shares a transaction.
func occupy(t *testing.T, s *Store) (free func()) {
	t.Helper()
	begun, end := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		err := s.runOperation(t.Context(), func(context.Context, *tx) error {
			close(begun)
			<-end
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
	<-begun
	return func() { close(end); wg.Wait() }
}

// put is an operation that writes a key and queues a job and then fails with err.
func put(key string, err error) operation {
	return func(ctx context.Context, tx *tx) error {
		tx.jobs = append(tx.jobs, store.Job{TurnID: key})
		return errors.Join(rememberKey(ctx, tx, "test", store.Key{Value: key}, "", "", time.Time{}), err)
	}
}

func has(t *testing.T, s *Store, key string) bool {
	t.Helper()
	_, err := sqlstore.FindRow(t.Context(), session{s.read}, func(id *string) []any { return []any{id} }, "SELECT id FROM idempotency_keys WHERE scope = 'test' AND key = ?", key)
	return err == nil
}

// wait returns when n requests wait for the writer.
func wait(s *Store, n int) {
	for len(s.writer.(*fileWriter).requests) < n {
		runtime.Gosched()
	}
}

type jobList struct {
	ids []string
	err error
}

func (q *jobList) Enqueue(_ context.Context, _ any, jobs []store.Job) error {
	if q.err != nil {
		return q.err
	}
	for _, j := range jobs {
		q.ids = append(q.ids, j.TurnID)
	}
	return nil
}

func TestAnOperationThatFailsHalfWayUndoesItselfAlone(t *testing.T) {
	s := openForTest(t)
	jobs := new(jobList)
	s.Attach(jobs)
	free := occupy(t, s)
	broken := errors.New("broken")
	outcomes := make([]error, 3)
	var wg sync.WaitGroup
	for i, run := range []operation{put("first", nil), put("second", broken), put("third", nil)} {
		wg.Go(func() { outcomes[i] = s.runOperation(t.Context(), run) })
		wait(s, i+1)
	}
	free()
	wg.Wait()
	if outcomes[0] != nil || !errors.Is(outcomes[1], broken) || outcomes[2] != nil {
		t.Fatal(outcomes)
	}
	if !has(t, s, "first") || has(t, s, "second") || !has(t, s, "third") {
		t.Error("what the second wrote is there, or what the others wrote is not")
	}
	if len(jobs.ids) != 2 || jobs.ids[0] != "first" || jobs.ids[1] != "third" {
		t.Errorf("the queue was told of %v", jobs.ids)
	}
}

func TestAnOperationWhoseCallerHasGoneDoesNotBegin(t *testing.T) {
	s := openForTest(t)
	free := occupy(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	outcome := make(chan error, 1)
	go func() { outcome <- s.runOperation(ctx, put("late", nil)) }()
	wait(s, 1)
	cancel()
	if err := <-outcome; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	free()
	if has(t, s, "late") {
		t.Error("it was written")
	}
}

func TestAnOperationThatHasBegunIsWaitedFor(t *testing.T) {
	s := openForTest(t)
	ctx, cancel := context.WithCancel(t.Context())
	err := s.runOperation(ctx, func(ctx context.Context, tx *tx) error {
		cancel()
		return put("begun", nil)(ctx, tx)
	})
	if err != nil || !has(t, s, "begun") {
		t.Errorf("the error is %v", err)
	}
}

func TestCloseWritesWhatWaits(t *testing.T) {
	s := openForTest(t)
	free := occupy(t, s)
	outcome := make(chan error, 1)
	go func() { outcome <- s.runOperation(t.Context(), put("waits", nil)) }()
	wait(s, 1)
	closed := make(chan error, 1)
	go func() { closed <- s.Close() }()
	<-s.writer.(*fileWriter).stop
	free()
	if err := errors.Join(<-outcome, <-closed); err != nil {
		t.Error(err)
	}
	if err := s.runOperation(t.Context(), put("after", nil)); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close the error is %v", err)
	}
}

func TestJobsThatTheQueueDoesNotTakeAreOfferedAgain(t *testing.T) {
	s := openForTest(t)
	jobs := &jobList{err: errors.New("full")}
	s.Attach(jobs)
	if err := s.runOperation(t.Context(), put("one", nil)); err != nil {
		t.Fatal(err)
	}
	jobs.err = nil
	if err := s.runOperation(t.Context(), put("two", nil)); err != nil {
		t.Fatal(err)
	}
	if len(jobs.ids) != 2 || jobs.ids[0] != "one" || jobs.ids[1] != "two" {
		t.Errorf("the queue was told of %v", jobs.ids)
	}
}
