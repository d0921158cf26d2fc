package postgres_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/testkit/pgtest"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/postgres"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// alice owns what the tests make.
var alice = store.Owner{Tenant: "acme", Subject: "alice"}

// at is when it is made.
var at = time.Date(2026, 1, 2, 3, 4, 5, 678000, time.UTC)

// database returns the settings of a database with tables.
func database(t testing.TB) store.Settings {
	t.Helper()
	return migrated(t, pgtest.Start(t).Database(t))
}

func migrated(t testing.TB, dsn string) store.Settings {
	t.Helper()
	s := store.Settings{DSN: dsn}
	if _, err := postgres.Migrate(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	return s
}

// open opens a store that is closed with the test.
func open(t testing.TB, s store.Settings) *postgres.Store {
	t.Helper()
	st, err := postgres.Open(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	return st
}

// queue remembers the jobs it is told of.
type queue struct {
	mu   sync.Mutex
	jobs []string
	// refuse is the turn whose job is refused.
	refuse string
}

// Enqueue remembers jobs.
func (q *queue) Enqueue(_ context.Context, tx any, jobs []store.Job) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if tx == nil {
		return fmt.Errorf("there is no transaction")
	}
	for _, j := range jobs {
		if j.TurnID == q.refuse {
			return fmt.Errorf("the job of %s is refused", j.TurnID)
		}
		q.jobs = append(q.jobs, j.TurnID)
	}
	return nil
}

// taken returns the jobs since the last time.
func (q *queue) taken() []string {
	q.mu.Lock()
	defer q.mu.Unlock()
	jobs := q.jobs
	q.jobs = nil
	return jobs
}

var ids atomic.Int64

// newID returns an id that no other test has.
func newID(kind string) string { return fmt.Sprintf("%s-%08d", kind, ids.Add(1)) }

// newSession makes a session.
func newSession(t testing.TB, s store.Store) string {
	t.Helper()
	id := newID("session")
	_, err := s.CreateSession(t.Context(), &store.NewSession{Session: session(id)})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func session(id string) store.Session {
	return store.Session{
		ID: id, Owner: alice, AgentID: "agent", State: store.SessionActive, CreatedAt: at, UpdatedAt: at, ActiveAt: at,
	}
}

// newTurn makes a turn in a session.
func newTurn(t testing.TB, s store.Store, sessionID string) string {
	t.Helper()
	id := newID("turn")
	_, err := s.CreateTurn(t.Context(), &store.NewTurn{Turn: turn(id, sessionID), Input: [][]byte{[]byte(`{"role":"user"}`)}})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func turn(id, sessionID string) store.Turn {
	return store.Turn{
		ID: id, SessionID: sessionID, Owner: alice, AgentID: "agent", SnapshotID: "snap-" + id, CreatedAt: at,
		Request: json.RawMessage(`{"z":1,"a":2}`),
	}
}

// claim claims a turn and returns its fence.
func claim(t testing.TB, s store.Store, id string, lease time.Duration) int64 {
	t.Helper()
	c, err := s.Claim(t.Context(), &store.Claim{TurnID: id, Worker: "worker", Lease: lease, Now: at})
	if err != nil {
		t.Fatal(err)
	}
	return c.Turn.Fence
}

// running makes a session with a turn that runs.
func running(t testing.TB, s store.Store) (sessionID, turnID string, fence int64) {
	t.Helper()
	sessionID = newSession(t, s)
	turnID = newTurn(t, s, sessionID)
	return sessionID, turnID, claim(t, s, turnID, time.Minute)
}

// appended is a commit of one event.
func appended(turnID string, fence int64, seq uint64, data string) *store.Commit {
	return &store.Commit{TurnID: turnID, Fence: fence, Now: at, Events: []event.Record{
		{Seq: seq, Time: at, TurnID: turnID, Type: "test", Data: json.RawMessage(data)},
	}}
}

// finished is a commit that ends a turn.
func finished(turnID string, fence int64) *store.Commit {
	return &store.Commit{TurnID: turnID, Fence: fence, Now: at, Finish: &store.Finish{
		Status: store.Succeeded, Result: json.RawMessage(`{}`), Snapshot: &store.Snapshot{ID: "snap-" + turnID, TurnID: turnID, CreatedAt: at},
	}}
}
