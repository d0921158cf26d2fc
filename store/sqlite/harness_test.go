package sqlite_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/sqlite"
)

var owner = store.Owner{Tenant: "acme", Subject: "ann"}

// startTurn is when the tests take place.
var startTurn = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// open opens a store in a directory of its own, and closes it with the test.
func open(t testing.TB) *sqlite.Store {
	t.Helper()
	return reopen(t, filepath.Join(t.TempDir(), "runtime.db"))
}

// reopen opens a store, and closes it with the test.
func reopen(t testing.TB, path string) *sqlite.Store {
	t.Helper()
	return openWith(t, store.Settings{DSN: path})
}

func openWith(t testing.TB, settings store.Settings) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), settings)
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

// newSession makes a session.
func newSession(t testing.TB, s store.Store, id string) {
	t.Helper()
	if _, err := s.CreateSession(t.Context(), sessionOf(id)); err != nil {
		t.Fatal(err)
	}
}

// sessionOf returns a session that was not made yet.
func sessionOf(id string) *store.NewSession {
	return &store.NewSession{Session: store.Session{
		ID: id, Owner: owner, AgentID: "helper", State: store.SessionActive, CreatedAt: startTurn, UpdatedAt: startTurn, ActiveAt: startTurn,
	}}
}

// newTurn returns a turn of a session that was not made yet.
func newTurn(session, id string) *store.NewTurn {
	return &store.NewTurn{Input: [][]byte{[]byte(`{"role":"user"}`)}, Turn: store.Turn{
		ID: id, SessionID: session, Owner: owner, AgentID: "helper", Request: []byte(`{"input":1}`), SnapshotID: id + "/snapshot", CreatedAt: startTurn,
	}}
}

// running makes a turn of a session and claims it.
func running(t testing.TB, s store.Store, session, id string) *store.Claimed {
	t.Helper()
	if _, err := s.CreateTurn(t.Context(), newTurn(session, id)); err != nil {
		t.Fatal(err)
	}
	claimed, err := s.Claim(t.Context(), claim(id))
	if err != nil {
		t.Fatal(err)
	}
	return claimed
}

func claim(id string) *store.Claim {
	return &store.Claim{TurnID: id, Worker: "worker", Lease: time.Minute, Now: startTurn}
}

// commit returns a commit of n events that follow on a seq.
func commit(turn string, fence int64, seq uint64, n int) *store.Commit {
	c := &store.Commit{TurnID: turn, Fence: fence, Now: startTurn}
	for range n {
		seq++
		c.Events = append(c.Events, event.Record{Seq: seq, Time: startTurn, TurnID: turn, Type: event.TypeTextDelta, Data: payload})
	}
	return c
}

// payload is data of 512 bytes.
var payload = []byte(`{"delta":"` + string(bytes.Repeat([]byte("x"), 500)) + `"}`)

// finish returns a commit that ends a turn with a snapshot.
func finish(c *store.Claimed, seq uint64) *store.Commit {
	last := commit(c.Turn.ID, c.Turn.Fence, seq, 1)
	last.Messages = [][]byte{[]byte(`{"role":"assistant"}`)}
	last.Finish = &store.Finish{Status: store.Succeeded, Result: []byte(`{}`), Snapshot: &store.Snapshot{
		ID: c.Turn.SnapshotID, SessionID: c.Turn.SessionID, Owner: owner, ParentID: c.Turn.ParentSnapshotID, TurnID: c.Turn.ID, CreatedAt: startTurn,
	}}
	return last
}

func numbered(name string, n int) string { return fmt.Sprintf("%s-%06d", name, n) }
