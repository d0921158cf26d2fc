// Package snapshottest tests implementations of agents.SnapshotStore.
package snapshottest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/agents"
	"github.com/agentruntime/agentruntime/agents/wire"
)

// Run runs the tests of a store. open returns an empty store for each of them.
func Run(t *testing.T, open func(t *testing.T) agents.SnapshotStore) {
	for name, test := range map[string]func(*testing.T, agents.SnapshotStore){
		"WhatDoesNotExist":       testMissing,
		"WhatIsSavedIsRead":      testRoundTrip,
		"TheStoreOwnsIdentity":   testIdentity,
		"TheLatest":              testLatest,
		"ChangesAreAtomic":       testAtomic,
		"CopiesAreDeep":          testCopies,
		"NothingOrAnErrorIsKept": testRefusal,
	} {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
	if watcher, ok := open(t).(agents.SnapshotWatcher); ok {
		t.Run("AWatcherGetsTheLatestStatus", func(t *testing.T) { testWatch(t, watcher) })
	}
}

var at = time.Date(2026, 1, 2, 3, 4, 5, 678000, time.UTC)

// save saves a snapshot and overwrites any existing one.
func save(t *testing.T, s agents.SnapshotStore, id string, row wire.Snapshot) *wire.Snapshot {
	t.Helper()
	kept, err := s.SaveSnapshot(t.Context(), id, func(*wire.Snapshot) (*wire.Snapshot, error) { return &row, nil })
	if err != nil || kept == nil {
		t.Fatalf("save %q: %+v, %v", id, kept, err)
	}
	return kept
}

func get(t *testing.T, s agents.SnapshotStore, id string) *wire.Snapshot {
	t.Helper()
	row, err := s.GetSnapshot(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return row
}

func testMissing(t *testing.T, s agents.SnapshotStore) {
	if row := get(t, s, "none"); row != nil {
		t.Errorf("got %+v", row)
	}
	if row, err := s.GetLatestSnapshot(t.Context(), "none"); row != nil || err != nil {
		t.Errorf("got %+v, %v", row, err)
	}
	if _, err := s.GetLatestSnapshot(t.Context(), ""); err == nil {
		t.Error("an empty session id is taken")
	}
}

func testRoundTrip(t *testing.T, s agents.SnapshotStore) {
	text := "hello"
	row := wire.Snapshot{
		SessionID: "s", ParentID: "p", CreatedAt: at, UpdatedAt: at.Add(time.Second), HeartbeatAt: at.Add(time.Minute), Status: wire.SnapshotFailed,
		FinishReason: wire.FinishFailed, Error: &wire.Error{Status: wire.StatusAborted, Message: "no"},
		State: &wire.SessionState{SessionID: "s", Custom: []byte(`{"n":12345678901234567890}`), Messages: []wire.Message{{Role: wire.RoleUser, Content: []wire.Part{{Text: &text}}}}},
	}
	save(t, s, "a", row)
	got := get(t, s, "a")
	if got == nil || got.SnapshotID != "a" || got.SessionID != "s" || got.ParentID != "p" || !got.CreatedAt.Equal(at) || !got.UpdatedAt.Equal(row.UpdatedAt) ||
		!got.HeartbeatAt.Equal(row.HeartbeatAt) || got.Status != row.Status || got.FinishReason != row.FinishReason || got.Error == nil || got.Error.Message != "no" {
		t.Fatalf("got %+v", got)
	}
	if got.State == nil || string(got.State.Custom) != `{"n":12345678901234567890}` || len(got.State.Messages) != 1 || got.State.Messages[0].Text() != "hello" {
		t.Errorf("got the state %+v", got.State)
	}
}

func testIdentity(t *testing.T, s agents.SnapshotStore) {
	made := save(t, s, "", wire.Snapshot{SessionID: "s", CreatedAt: at})
	if made.SnapshotID == "" || made.Status != wire.SnapshotCompleted || get(t, s, made.SnapshotID) == nil {
		t.Errorf("got %+v", made)
	}
	kept := save(t, s, "a", wire.Snapshot{SnapshotID: "other", SessionID: "s", CreatedAt: at})
	if kept.SnapshotID != "a" {
		t.Errorf("the id is %q", kept.SnapshotID)
	}
	if kept = save(t, s, "a", wire.Snapshot{SessionID: "another", CreatedAt: at}); kept.SessionID != "s" {
		t.Errorf("the session is %q", kept.SessionID)
	}
	if _, err := s.SaveSnapshot(t.Context(), "b", func(*wire.Snapshot) (*wire.Snapshot, error) { return &wire.Snapshot{CreatedAt: at}, nil }); err == nil {
		t.Error("a snapshot without a session is taken")
	}
}

func testLatest(t *testing.T, s agents.SnapshotStore) {
	save(t, s, "b", wire.Snapshot{SessionID: "s", CreatedAt: at})
	save(t, s, "a", wire.Snapshot{SessionID: "s", CreatedAt: at})
	save(t, s, "z", wire.Snapshot{SessionID: "other", CreatedAt: at.Add(time.Hour)})
	expect := func(want string) {
		t.Helper()
		if row, err := s.GetLatestSnapshot(t.Context(), "s"); err != nil || row == nil || row.SnapshotID != want {
			t.Errorf("got %+v, %v; want %s", row, err, want)
		}
	}
	expect("b")
	save(t, s, "0", wire.Snapshot{SessionID: "s", CreatedAt: at.Add(time.Second), Status: wire.SnapshotFailed})
	expect("0")
	save(t, s, "b", wire.Snapshot{SessionID: "s", CreatedAt: at, UpdatedAt: at.Add(time.Hour)})
	expect("0")
}

func testAtomic(t *testing.T, s agents.SnapshotStore) {
	save(t, s, "a", wire.Snapshot{SessionID: "s", CreatedAt: at})
	const writers, times = 8, 25
	var all sync.WaitGroup
	for range writers {
		all.Go(func() {
			for range times {
				if _, err := s.SaveSnapshot(t.Context(), "a", func(existing *wire.Snapshot) (*wire.Snapshot, error) {
					existing.UpdatedAt = existing.UpdatedAt.Add(time.Second)
					return existing, nil
				}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if got := get(t, s, "a").UpdatedAt.Sub(time.Time{}); got != writers*times*time.Second {
		t.Errorf("%s of changes are left of %d", got, writers*times)
	}
}

func testCopies(t *testing.T, s agents.SnapshotStore) {
	state := &wire.SessionState{Custom: []byte(`{"a":1}`)}
	kept := save(t, s, "a", wire.Snapshot{SessionID: "s", CreatedAt: at, State: state})
	for _, row := range []*wire.Snapshot{{State: state}, kept, get(t, s, "a")} {
		row.State.Custom[5] = '2'
	}
	if got := get(t, s, "a"); string(got.State.Custom) != `{"a":1}` {
		t.Errorf("got %s", got.State.Custom)
	}
}

func testRefusal(t *testing.T, s agents.SnapshotStore) {
	save(t, s, "a", wire.Snapshot{SessionID: "s", CreatedAt: at, Status: wire.SnapshotPending})
	refused := errors.New("refused")
	for _, want := range []error{nil, refused} {
		kept, err := s.SaveSnapshot(t.Context(), "a", func(existing *wire.Snapshot) (*wire.Snapshot, error) {
			existing.Status = wire.SnapshotAborted
			return nil, want
		})
		if kept != nil || !errors.Is(err, want) {
			t.Errorf("got %+v, %v", kept, err)
		}
	}
	if got := get(t, s, "a"); got.Status != wire.SnapshotPending {
		t.Errorf("got %s", got.Status)
	}
}

func testWatch(t *testing.T, watcher agents.SnapshotWatcher) {
	s, ok := watcher.(agents.SnapshotStore)
	if !ok {
		t.Fatal("the watcher is not a store")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	missing, err := watcher.WatchStatus(ctx, "none")
	if err != nil {
		t.Fatal(err)
	}
	if status, ok := <-missing; ok {
		t.Errorf("nothing has status %s", status)
	}
	save(t, s, "a", wire.Snapshot{SessionID: "s", CreatedAt: at, Status: wire.SnapshotPending})
	watching, stop := context.WithCancel(ctx)
	changes, err := watcher.WatchStatus(watching, "a")
	if err != nil {
		t.Fatal(err)
	}
	if status := <-changes; status != wire.SnapshotPending {
		t.Errorf("it begins with %s", status)
	}
	for i := range 10 {
		save(t, s, "a", wire.Snapshot{SessionID: "s", CreatedAt: at, UpdatedAt: at.Add(time.Duration(i)), Status: wire.SnapshotPending})
	}
	save(t, s, "a", wire.Snapshot{SessionID: "s", CreatedAt: at, Status: wire.SnapshotAborted})
	for status := range changes {
		if status == wire.SnapshotAborted {
			break
		}
	}
	stop()
	for status := range changes {
		t.Logf("after the end: %s", status)
	}
}
