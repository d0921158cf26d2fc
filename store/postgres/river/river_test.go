package river_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/testkit/dispatchtest"
	"github.com/agentruntime/agentruntime/internal/testkit/pgtest"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/dispatch"
	"github.com/agentruntime/agentruntime/store/postgres/river"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

func TestDispatcherDoesWhatDispatchersDo(t *testing.T) {
	t.Parallel()
	dispatchtest.Run(t, func(t *testing.T, concurrency int) dispatch.Dispatcher {
		return newDispatcher(t, newPool(t), river.Settings{Concurrency: concurrency})
	})
}

func TestAJobIsCommittedWithItsTransaction(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	d := newDispatcher(t, pool, river.Settings{})
	handled := start(t, d)
	undo := errors.New("undo")
	err := pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
		if err := d.Enqueue(t.Context(), tx, []store.Job{{TurnID: "undone"}}); err != nil {
			t.Error(err)
		}
		return undo
	})
	if !errors.Is(err, undo) {
		t.Fatal(err)
	}
	enqueueTx(t, pool, d, "committed")
	if got := next(t, handled); got != "committed" {
		t.Errorf("handled %s, want committed", got)
	}
	if n := query(t, pool, "SELECT count(*) FROM river_job WHERE args->>'turn_id' = 'undone'"); n != 0 {
		t.Errorf("%d jobs are left of a transaction that was undone", n)
	}
}

// The notification of the first one is seen before the second one is committed.
func TestAJobRightBehindAnotherIsHandledAtOnce(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	d := newDispatcher(t, pool, river.Settings{})
	handled := start(t, d)
	const pairs = 10
	late := 0
	for i := range pairs {
		enqueueTx(t, pool, d, "first")
		var committed time.Time
		err := pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
			err := d.Enqueue(t.Context(), tx, []store.Job{{TurnID: strconv.Itoa(i)}})
			if got := next(t, handled); got != "first" {
				t.Errorf("handled %s, want first", got)
			}
			committed = time.Now()
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := next(t, handled); got != strconv.Itoa(i) {
			t.Errorf("handled %s, want %d", got, i)
		}
		if time.Since(committed) > 200*time.Millisecond {
			late++
		}
	}
	// A poll would make one of five come within that time.
	if late > pairs/2 {
		t.Errorf("%d of %d jobs waited for a poll", late, pairs)
	}
}

func TestReplicasShareTheJobs(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	one, two := newDispatcher(t, pool, river.Settings{Concurrency: 2}), newDispatcher(t, pool, river.Settings{Concurrency: 2})
	both := [2]<-chan string{start(t, one), start(t, two)}
	other := start(t, newDispatcher(t, pool, river.Settings{Queue: "other-turns"}))
	enqueuer := newDispatcher(t, pool, river.Settings{}) // never started
	const jobs = 400
	for i := range jobs {
		enqueueTx(t, pool, enqueuer, strconv.Itoa(i))
	}
	counts := map[string]int{}
	var shares [2]int
	for range jobs {
		select {
		case id := <-both[0]:
			counts[id]++
			shares[0]++
		case id := <-both[1]:
			counts[id]++
			shares[1]++
		case id := <-other:
			t.Fatalf("%s was handled for another queue", id)
		case <-time.After(patience):
			t.Fatalf("%d of %d jobs were handled", len(counts), jobs)
		}
	}
	if len(counts) != jobs {
		t.Errorf("%d of %d jobs were handled in %d times", len(counts), jobs, jobs)
	}
	if shares[0] == 0 || shares[1] == 0 {
		t.Errorf("a replica had nothing to do: %v", shares)
	}
}

func TestAJobOfADeadProcessIsHandledAgain(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	d := newDispatcher(t, pool, river.Settings{})
	if err := d.Enqueue(t.Context(), nil, []store.Job{{TurnID: "orphan"}, {TurnID: "elsewhere"}}); err != nil {
		t.Fatal(err)
	}
	exec(t, pool, `UPDATE river_job SET state = 'running', attempt = 1, attempted_by = '{dead}', attempted_at = now() -
		CASE args->>'turn_id' WHEN 'orphan' THEN interval '6 minutes' ELSE interval '4 minutes' END`)
	handled := start(t, d)
	if got := next(t, handled); got != "orphan" {
		t.Errorf("handled %s, want orphan", got)
	}
	if n := query(t, pool, "SELECT count(*) FROM river_job WHERE state = 'running' AND args->>'turn_id' = 'elsewhere'"); n != 1 {
		t.Error("a job that another process may be at was taken from it")
	}
}

func TestJobsThatAreDoneAreDeleted(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	d := newDispatcher(t, pool, river.Settings{})
	if err := d.Enqueue(t.Context(), nil, []store.Job{{TurnID: "done"}}); err != nil {
		t.Fatal(err)
	}
	exec(t, pool, "UPDATE river_job SET state = 'completed', finalized_at = now() - interval '1 minute'")
	start(t, d)
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for late := time.After(patience); query(t, pool, "SELECT count(*) FROM river_job") > 0; {
		select {
		case <-again.C:
		case <-late:
			t.Fatal("the job is still there")
		}
	}
}

func TestDispatcherSurvivesARestartOfTheDatabase(t *testing.T) {
	t.Parallel()
	server := pgtest.New(t)
	pool := connect(t, server.Database(t))
	if _, err := river.Migrate(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	d := newDispatcher(t, pool, river.Settings{})
	handled := start(t, d)
	enqueueTx(t, pool, d, "before")
	if got := next(t, handled); got != "before" {
		t.Errorf("handled %s, want before", got)
	}
	server.Restart(t)
	for _, id := range []string{"after-1", "after-2"} {
		for d.Enqueue(t.Context(), nil, []store.Job{{TurnID: id}}) != nil {
			// Connections of the pool that were cut off are found out one by one.
			if t.Context().Err() != nil {
				t.Fatal("nothing can be queued")
			}
		}
	}
	got := []string{next(t, handled), next(t, handled)}
	for slices.Contains(got, "before") { // its completion may have been lost
		got = append(slices.DeleteFunc(got, func(id string) bool { return id == "before" }), next(t, handled))
	}
	if slices.Sort(got); !slices.Equal(got, []string{"after-1", "after-2"}) {
		t.Errorf("handled %v", got)
	}
}

func TestWhatCannotBeQueuedIsAnError(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	d := newDispatcher(t, pool, river.Settings{})
	jobs := []store.Job{{TurnID: "turn-7"}}
	if err := d.Enqueue(t.Context(), "no transaction", jobs); err == nil || !strings.Contains(err.Error(), "string") {
		t.Errorf("the error does not name the argument: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := d.Enqueue(ended, nil, jobs); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "turn-7") {
		t.Errorf("err = %v", err)
	}
}

func TestWrongSettingsAreErrors(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	for name, s := range map[string]river.Settings{
		"queue":       {Queue: "no such queue!"},
		"concurrency": {Concurrency: 1_000_000},
		"negative":    {Concurrency: -1},
	} {
		if d, err := river.New(pool, s); err == nil {
			d.Stop()
			t.Errorf("%s: it is accepted", name)
		}
	}
}

func TestStartIsRefusedWhereItMakesNoSense(t *testing.T) {
	t.Parallel()
	nothing := func(context.Context, string) {}
	t.Run("Twice", func(t *testing.T) {
		d := newDispatcher(t, newPool(t), river.Settings{})
		start(t, d)
		if d.Start(t.Context(), nothing) == nil {
			t.Error("it was started twice")
		}
	})
	t.Run("BehindStop", func(t *testing.T) {
		d := newDispatcher(t, newPool(t), river.Settings{})
		d.Stop()
		if d.Start(t.Context(), nothing) == nil {
			t.Error("it was started after Stop")
		}
	})
	t.Run("NotMigrated", func(t *testing.T) {
		d := newDispatcher(t, connect(t, pgtest.Start(t).Database(t)), river.Settings{})
		if d.Start(t.Context(), nothing) == nil {
			t.Error("it was started on a database that is not migrated")
		}
	})
}

func TestReplicasThatStartTogetherMigrateOnce(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Start(t).Database(t)
	const replicas = 6
	applied := make([][]string, replicas)
	var all sync.WaitGroup
	for i := range replicas {
		pool := connect(t, dsn+"&pool_max_conns=1")
		all.Go(func() {
			var err error
			if applied[i], err = river.Migrate(t.Context(), pool); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	at := slices.IndexFunc(applied, func(a []string) bool { return len(a) > 0 })
	if at < 0 {
		t.Fatal("nobody migrated")
	}
	for i, a := range applied {
		if i != at && len(a) > 0 {
			t.Errorf("%d applied %v, %d applied %v", at, applied[at], i, a)
		}
	}
}

// patience is how long a test waits for what has to happen.
const patience = 30 * time.Second

// start starts a dispatcher; the ids of what it handles are sent.
func start(t *testing.T, d *river.Dispatcher) <-chan string {
	t.Helper()
	handled := make(chan string, 1000)
	if err := d.Start(t.Context(), func(_ context.Context, id string) { handled <- id }); err != nil {
		t.Fatal(err)
	}
	return handled
}

func next(t *testing.T, handled <-chan string) string {
	t.Helper()
	select {
	case id := <-handled:
		return id
	case <-time.After(patience):
		t.Error("nothing is handled")
		return ""
	}
}

// newPool returns a pool on a database of its own that is migrated.
func newPool(t testing.TB) *pgxpool.Pool {
	t.Helper()
	pool := connect(t, pgtest.Start(t).Database(t))
	if _, err := river.Migrate(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	return pool
}

func connect(t testing.TB, dsn string) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

func newDispatcher(t testing.TB, pool *pgxpool.Pool, s river.Settings) *river.Dispatcher {
	t.Helper()
	d, err := river.New(pool, s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Stop)
	return d
}

// enqueueTx queues a turn in a transaction.
func enqueueTx(t testing.TB, pool *pgxpool.Pool, d *river.Dispatcher, turnID string) {
	t.Helper()
	err := pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
		return d.Enqueue(t.Context(), tx, []store.Job{{TurnID: turnID}})
	})
	if err != nil {
		t.Error(err)
	}
}

func exec(t *testing.T, pool *pgxpool.Pool, statement string) {
	t.Helper()
	if _, err := pool.Exec(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

func query(t *testing.T, pool *pgxpool.Pool, statement string) (n int) {
	t.Helper()
	if err := pool.QueryRow(t.Context(), statement).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
