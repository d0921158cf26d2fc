package postgres_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/url"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/testkit/pgtest"
	"github.com/agentruntime/agentruntime/store"
	"github.com/jackc/pgx/v5"
)

// TestRoundTrips keeps what a turn costs within exact numbers of round trips and
// statements.
func TestRoundTrips(t *testing.T) {
	server := pgtest.Start(t)
	dsn := server.Database(t)
	migrated(t, dsn)
	count := newTripCounter(t, server.Socket())
	s := open(t, store.Settings{DSN: count.dsn(t, dsn)})
	s.Attach(&batchedQueue{})

	var sessionID, id string
	var fence int64
	var runs []*store.WorkflowRun
	steps := []struct {
		name              string
		do                func()
		trips, statements int64
	}{
		{"create session", func() { sessionID = newSession(t, s) }, 1, 1},
		{"create turn", func() { id = newTurn(t, s, sessionID) }, 2, 7},
		{"claim", func() { fence = claim(t, s, id, time.Minute) }, 1, 4},
		{"append", func() { mustCommit(t, s, appended(id, fence, 1, `{"n":1}`)) }, 3, 6},
		{"finish", func() { mustCommit(t, s, finished(id, fence)) }, 3, 12},
		{"start turn", func() { id, fence = startTurn(t, s, sessionID) }, 2, 7},
		{"append to it", func() { mustCommit(t, s, appended(id, fence, 1, `{"n":1}`)) }, 3, 6},
		{"finish it", func() { mustCommit(t, s, finished(id, fence)) }, 3, 12},
		{"create runs", func() { createRuns(t, s, 50) }, 4, 4},
		{"claim runs", func() { runs = claimRuns(t, s) }, 1, 1},
		{"save a run", func() { saveRun(t, s, runs[0]) }, 1, 1},
	}
	for round := range 2 { // the first prepares the statements
		for _, step := range steps {
			trips, statements := count.trips.Load(), count.statements.Load()
			step.do()
			trips, statements = count.trips.Load()-trips, count.statements.Load()-statements
			if round > 0 && (trips != step.trips || statements != step.statements) {
				t.Errorf("%s: %d round trips, %d statements, want %d and %d", step.name, trips, statements, step.trips, step.statements)
			}
		}
	}
}

// startTurn makes a turn and claims it at once.
func startTurn(t *testing.T, s store.Starter, sessionID string) (id string, fence int64) {
	t.Helper()
	n := &store.NewTurn{Turn: turn(newID("turn"), sessionID), Input: [][]byte{[]byte(`{"role":"user"}`)}}
	_, claimed, err := s.StartTurn(t.Context(), n, &store.Claim{TurnID: n.Turn.ID, Worker: "w", Lease: time.Minute, Now: time.Now()})
	if err != nil || claimed == nil {
		t.Fatal(claimed, err)
	}
	return claimed.Turn.ID, claimed.Turn.Fence
}

// batchedQueue sends one statement for its jobs, as River's dispatcher does.
type batchedQueue struct{ queue }

// EnqueueBatch queues the statement.
func (*batchedQueue) EnqueueBatch(b *pgx.Batch, jobs []store.Job) {
	b.Queue("SELECT $1::bigint", len(jobs))
}

func createRuns(t *testing.T, s store.Store, count int) {
	t.Helper()
	now := time.Now()
	var list []*store.WorkflowRun
	var cursors []store.ScheduleCursor
	for i := range count {
		id := fmt.Sprint(now.UnixNano(), "-", i)
		list = append(list, &store.WorkflowRun{ID: id, WorkflowID: "w", Owner: store.Owner{Tenant: "acme"}, Status: store.RunPending, DueAt: now, CreatedAt: now, UpdatedAt: now})
		cursors = append(cursors, store.ScheduleCursor{Tenant: "acme", ID: fmt.Sprint("s", i), Last: now})
	}
	if created, err := s.CreateRuns(t.Context(), list, cursors); err != nil || len(created) != count {
		t.Fatal(len(created), err)
	}
}

func claimRuns(t *testing.T, s store.Store) []*store.WorkflowRun {
	t.Helper()
	runs, err := s.ClaimRuns(t.Context(), &store.ClaimRuns{Part: store.RunsToBegin, Lease: time.Minute, Limit: 100, Now: time.Now()})
	if err != nil || len(runs) != 50 {
		t.Fatal(len(runs), err)
	}
	return runs
}

func saveRun(t *testing.T, s store.Store, r *store.WorkflowRun) {
	t.Helper()
	r.Status = store.RunRunning
	if err := s.SaveRun(t.Context(), r); err != nil {
		t.Fatal(err)
	}
}

func mustCommit(t *testing.T, s store.Store, c *store.Commit) {
	t.Helper()
	if err := s.Commit(t.Context(), c); err != nil {
		t.Fatal(err)
	}
}

// tripCounter is a proxy that counts what clients send.
type tripCounter struct {
	dir               string
	trips, statements atomic.Int64
	live              sync.WaitGroup
}

func newTripCounter(t *testing.T, socket string) *tripCounter {
	t.Helper()
	c := &tripCounter{dir: t.TempDir()}
	listener, err := net.Listen("unix", filepath.Join(c.dir, filepath.Base(socket)))
	if err != nil {
		t.Fatal(err)
	}
	c.live.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("unix", socket)
			if err != nil {
				t.Error(err)
				_ = client.Close()
				return
			}
			c.live.Go(func() {
				defer client.Close()
				defer server.Close()
				c.passRequests(client, server)
			})
			c.live.Go(func() {
				_, _ = io.Copy(client, server)
				_, _ = client.Close(), server.Close()
			})
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		c.live.Wait()
	})
	return c
}

func (c *tripCounter) dsn(t *testing.T, direct string) string {
	t.Helper()
	u, err := url.Parse(direct)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set("host", c.dir)
	q.Set("pool_max_conns", "1") // so that the first round prepares for the second
	u.RawQuery = q.Encode()
	return u.String()
}

// passRequests passes the messages of a client and counts them. The first has no
// type.
func (c *tripCounter) passRequests(client io.Reader, server io.Writer) {
	for typed := 0; ; typed = 1 {
		head := make([]byte, typed+4)
		if _, err := io.ReadFull(client, head); err != nil {
			return
		}
		body := make([]byte, binary.BigEndian.Uint32(head[typed:])-4)
		if _, err := io.ReadFull(client, body); err != nil {
			return
		}
		// The pool pings a connection that was idle for a second.
		if typed > 0 && !bytes.HasPrefix(body, []byte("-- ping")) {
			switch head[0] {
			case 'Q': // a simple query
				c.trips.Add(1)
				c.statements.Add(1)
			case 'E': // execute
				c.statements.Add(1)
			case 'S': // sync
				c.trips.Add(1)
			}
		}
		if _, err := server.Write(append(head, body...)); err != nil {
			return
		}
	}
}
