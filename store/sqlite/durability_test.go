package sqlite_test

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/sqlite"
	"github.com/google/go-cmp/cmp"
)

// all reads everything that belongs to a session with one turn.
func all(t *testing.T, s store.Store, session, turn string) map[string]any {
	t.Helper()
	out := make(map[string]any)
	keep := func(name string, value any, err error) {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		out[name] = value
	}
	ctx := t.Context()
	kept, err := s.Session(ctx, store.Everything, session)
	keep("session", kept, err)
	made, err := s.Turn(ctx, store.Everything, turn)
	keep("turn", made, err)
	events, err := s.Events(ctx, turn, 0, 1000)
	keep("events", events, err)
	journal, err := s.Journal(ctx, turn)
	keep("journal", journal, err)
	messages, err := s.Conversation(ctx, kept.Tip)
	keep("conversation", messages, err)
	snapshots, err := s.Snapshots(ctx, store.SnapshotQuery{Scope: store.Everything, SessionID: session})
	keep("snapshots", snapshots, err)
	artifacts, err := s.Artifacts(ctx, store.Everything, turn)
	keep("artifacts", artifacts, err)
	return out
}

// fullTurn works on a turn to its end, with something of everything.
func fullTurn(t *testing.T, s store.Store) {
	t.Helper()
	newSession(t, s, "session")
	c := running(t, s, "session", "turn")
	step := commit("turn", c.Turn.Fence, 0, 3)
	step.State, step.Steps, step.Messages = []byte("state"), 1, [][]byte{[]byte("called"), {0, 1, 255}}
	step.Journal = []store.JournalRow{{Key: "call", Entry: []byte(`{"b":1,"a":2}`), Result: []byte("result")}}
	step.Artifacts = []*store.Artifact{{ID: "artifact", Name: "file", Data: []byte("data"), CreatedAt: startTurn}}
	if err := s.Commit(t.Context(), step); err != nil {
		t.Fatal(err)
	}
	if err := s.Commit(t.Context(), finish(c, 3)); err != nil {
		t.Fatal(err)
	}
}

func TestAFileThatIsOpenedAgainHasEverything(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runtime.db")
	s, err := sqlite.Open(t.Context(), store.Settings{DSN: path})
	if err != nil {
		t.Fatal(err)
	}
	fullTurn(t, s)
	before := all(t, s, "session", "turn")
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, all(t, reopen(t, path), "session", "turn")); diff != "" {
		t.Error(diff)
	}
}

func TestWhatWasCommittedIsInTheFilesWhileTheStoreIsOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runtime.db")
	s := reopen(t, path)
	fullTurn(t, s)
	copied := filepath.Join(t.TempDir(), "copy.db")
	for _, suffix := range []string{"", "-wal"} { // as a machine that loses its power leaves them
		data, err := os.ReadFile(path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(copied+suffix, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(all(t, s, "session", "turn"), all(t, reopen(t, copied), "session", "turn")); diff != "" {
		t.Error(diff)
	}
}

func TestTheTurnsOfAProcessThatWasKilledAreTakenOver(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runtime.db")
	_, kill := startOther(t, path)
	kill()
	s := reopen(t, path)
	n, err := s.Recover(t.Context(), startTurn)
	if err != nil || n != 1 {
		t.Fatalf("recovered %d turns, %v", n, err)
	}
	c, err := s.Claim(t.Context(), claim("turn"))
	if err != nil {
		t.Fatal(err)
	}
	if c.Turn.Seq != 3 || c.Turn.Strikes != 1 || c.Turn.Fence != 2 {
		t.Errorf("seq %d, strikes %d, fence %d", c.Turn.Seq, c.Turn.Strikes, c.Turn.Fence)
	}
}

func TestTheFilesAreTheirOwnersAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "made", "runtime.db")
	fullTurn(t, reopen(t, path))
	for name, want := range map[string]os.FileMode{
		filepath.Dir(path): 0o700, path: 0o600, path + "-wal": 0o600, path + "-shm": 0o600, path + ".lock": 0o600,
	} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has mode %o, not %o", filepath.Base(name), got, want)
		}
	}
}

func TestAFullDiskFailsWhatDoesNotFitAndNothingElse(t *testing.T) {
	s := open(t)
	newSession(t, s, "session")
	c := running(t, s, "session", "turn")
	if err := s.LimitPages(t.Context(), 20); err != nil {
		t.Fatal(err)
	}
	big := commit("turn", c.Turn.Fence, 0, 1000)
	big.State = []byte("state")
	if err := s.Commit(t.Context(), big); err == nil {
		t.Fatal("a full disk took 1000 events")
	}
	events, err := s.Events(t.Context(), "turn", 0, 10)
	turn, turnErr := s.Turn(t.Context(), store.Everything, "turn")
	if err := errors.Join(err, turnErr); err != nil {
		t.Fatal(err)
	}
	if len(events) != 0 || turn.Seq != 0 {
		t.Errorf("%d events are half-written, seq %d", len(events), turn.Seq)
	}
	if err := s.Commit(t.Context(), commit("turn", c.Turn.Fence, 0, 1)); err != nil {
		t.Errorf("what fits: %v", err)
	}
	if err := s.LimitPages(t.Context(), -1); err != nil {
		t.Fatal(err)
	}
	if err := s.Commit(t.Context(), commit("turn", c.Turn.Fence, 1, 1000)); err != nil {
		t.Errorf("with space again: %v", err)
	}
}

func TestAFullDiskFailsOneOfSeveralAlone(t *testing.T) {
	s := open(t)
	var turns []*store.Claimed
	for i := range 8 {
		newSession(t, s, numbered("session", i))
		turns = append(turns, running(t, s, numbered("session", i), numbered("turn", i)))
	}
	if err := s.LimitPages(t.Context(), 40); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	outcomes := make([]error, len(turns))
	for i, c := range turns {
		wg.Go(func() {
			events := 1
			if i == 3 {
				events = 1000
			}
			outcomes[i] = s.Commit(t.Context(), commit(c.Turn.ID, c.Turn.Fence, 0, events))
		})
	}
	wg.Wait()
	for i, err := range outcomes {
		events, readErr := s.Events(t.Context(), turns[i].Turn.ID, 0, 1000)
		if readErr != nil || (err == nil) != (i != 3) || (len(events) == 1) != (i != 3) {
			t.Errorf("turn %d has %d events, and the error is %v, %v", i, len(events), err, readErr)
		}
	}
}
