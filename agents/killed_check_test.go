package agents_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/agents"
	"github.com/agentruntime/agentruntime/agents/wire"
	"github.com/google/go-cmp/cmp"
)

// told is the expected session in the middle of a story.
type told struct {
	book   book
	last   string // the latest usable snapshot
	latest string
}

// checkStory compares the sessions of a story with the expected results of its turns.
func checkStory(t *testing.T, s *scene) {
	t.Helper()
	a, err := enterScene(t.Context(), s, false)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := a.leave(); err != nil {
			t.Error(err)
		}
	}()
	begun, err := readLines(s.begun())
	if err != nil || len(begun) != len(s.Story.Steps) {
		t.Fatalf("%d steps were begun, %v", len(begun), err)
	}
	sessions := make(map[string]*told)
	for i := range s.Story.Steps {
		one := &s.Story.Steps[i]
		if sessions[one.Session] == nil {
			sessions[one.Session] = new(told)
		}
		kept, err := a.agent.GetSnapshot(t.Context(), begun[i])
		if err != nil || kept.State == nil {
			t.Fatalf("step %d: %v, %+v", i, err, kept)
		}
		sessions[one.Session].check(t, one, kept)
		a.checkChunks(t, one, kept)
	}
	for name, session := range sessions {
		kept, err := a.agent.LatestSnapshot(t.Context(), s.Story.Name+" "+name)
		if err != nil || kept.SnapshotID != session.latest {
			t.Errorf("the latest of session %s is %v, %v", name, kept, err)
		}
	}
}

// check compares a step's snapshot with the previous session.
func (w *told) check(t *testing.T, s *step, kept *agents.Snapshot[ledger]) {
	t.Helper()
	got := readBook(kept.State)
	if kept.ParentID != w.last && (kept.Status != wire.SnapshotAborted || kept.ParentID != "") { // never begun, so no parent
		t.Errorf("%q continues from %q, not from %q", s.Text, kept.ParentID, w.last)
	}
	w.latest = kept.SnapshotID
	switch {
	case s.Aborted || s.fails():
		w.checkDead(t, s, kept, got)
		return
	case kept.Status != wire.SnapshotCompleted || kept.FinishReason != wire.FinishStop || kept.Error != nil:
		t.Errorf("%q comes to %s, %s: %v", s.Text, kept.Status, kept.FinishReason, kept.Error)
		return
	}
	w.last = kept.SnapshotID
	w.book.expect(s.Text, paid(s, got.Texts[min(len(w.book.Texts)+1, len(got.Texts)):])...)
	if diff := cmp.Diff(&w.book, got); diff != "" {
		t.Errorf("%q: %s", s.Text, diff)
	}
}

// paid returns the results of a turn's pay calls. Calls during which a process died are in doubt.
func paid(s *step, texts []string) []string {
	out := []string{"paid", "paid"}
	if !strings.HasPrefix(s.Text, "pay") {
		return nil
	}
	for i := range out {
		if i < len(texts) && strings.Contains(texts[i], "may or may not have taken effect") {
			out[i] = texts[i]
		}
	}
	return out
}

// checkDead verifies that a failed or aborted turn changed nothing.
func (w *told) checkDead(t *testing.T, s *step, kept *agents.Snapshot[ledger], got *book) {
	t.Helper()
	switch {
	case s.Aborted:
		if kept.Status != wire.SnapshotAborted || kept.FinishReason != wire.FinishAborted {
			t.Errorf("%q comes to %s, %s: %v", s.Text, kept.Status, kept.FinishReason, kept.Error)
		}
	case kept.Status != wire.SnapshotFailed || kept.Error == nil || kept.Error.Message != "as you wish":
		t.Errorf("%q comes to %s: %v", s.Text, kept.Status, kept.Error)
	}
	if kept.ParentID != w.last {
		return
	}
	want := w.book
	if n := len(want.Texts); len(got.Texts) >= n { // the conversation up to its end
		want.Texts = append(want.Texts[:n:n], got.Texts[n:]...)
	}
	if diff := cmp.Diff(&want, got); diff != "" {
		t.Errorf("%q left: %s", s.Text, diff)
	}
}

// checkChunks verifies that a turn's chunks end once and, if it succeeded, lead to its snapshot's
// custom state.
func (a *actor) checkChunks(t *testing.T, s *step, kept *agents.Snapshot[ledger]) {
	t.Helper()
	ends, outputs := 0, 0
	var custom json.RawMessage
	for piece, err := range a.agent.Follow(context.WithoutCancel(t.Context()), kept.SnapshotID) {
		switch {
		case err != nil:
			t.Fatalf("%q: %v", s.Text, err)
		case piece.Output != nil:
			outputs++
		case piece.Chunk.TurnEnd != nil:
			ends++
		case piece.Chunk.CustomPatch != nil:
			if custom, err = agents.ApplyPatch(custom, piece.Chunk.CustomPatch); err != nil {
				t.Errorf("%q: %v", s.Text, err)
			}
		}
	}
	if ends != 1 || outputs != 1 {
		t.Errorf("%q has %d ends and %d outputs", s.Text, ends, outputs)
	}
	if kept.Status != wire.SnapshotCompleted {
		return
	}
	var shown ledger
	if err := json.Unmarshal(custom, &shown); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(kept.State.Custom, shown); diff != "" {
		t.Errorf("the chunks of %q: %s", s.Text, diff)
	}
}

// checkCalls verifies that calls that must not be repeated were made once.
func checkCalls(t *testing.T, s *scene) {
	t.Helper()
	lines, err := readLines(s.calls())
	if err != nil {
		t.Fatal(err)
	}
	made, repeated := make(map[string]int), 0
	for _, line := range lines {
		if made[line]++; made[line] == 1 {
			continue
		}
		repeated++
		if strings.HasSuffix(line, " once") {
			t.Errorf("call %s was made %d times", line, made[line])
		}
	}
	t.Logf("%d calls, %d of them repeated", len(made), repeated)
}
