package agents

import (
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/agents/wire"
)

// TestDetachAloneLeavesTheSessionAsItIs sends detach and nothing else: there is no turn to
// work on, so its snapshot is the session as it is, once those before it have ended.
func TestDetachAloneLeavesTheSessionAsItIs(t *testing.T) {
	t.Parallel()
	w := serving(t)
	idle := func(init string) *wire.Snapshot {
		t.Helper()
		out := w.run(`{"data":{"detach":true},"init":` + init + `}`)
		if out.FinishReason != wire.FinishDetached || out.SnapshotID == "" || out.SessionID == "" || out.Message != nil || out.State != nil {
			t.Fatalf("got %+v", out)
		}
		kept := resultOf[wire.Snapshot](w, "/agents/clerk/waitForSnapshot", about("snapshotId", out.SnapshotID))
		if kept.Status != wire.SnapshotCompleted || kept.FinishReason != "" || kept.Error != nil || kept.State == nil {
			t.Fatalf("got %+v", kept)
		}
		return kept
	}
	if kept := idle("null"); kept.ParentID != "" || len(kept.State.Messages) != 0 || kept.State.Custom != nil {
		t.Errorf("a fresh session has %+v", kept.State)
	}
	first := w.run(say("one", `{"sessionId":"s"}`))
	kept := idle(`{"sessionId":"s"}`)
	if kept.ParentID != first.SnapshotID || len(kept.State.Messages) != 2 {
		t.Errorf("got %+v", kept)
	}
	if next := w.run(say("two", `{"snapshotId":"`+kept.SnapshotID+`"}`)); next.FinishReason != wire.FinishStop {
		t.Errorf("got %+v", next)
	}
	if kept := resultOf[wire.Snapshot](w, "/agents/clerk/getSnapshot", about("sessionId", "s")); len(kept.State.Messages) != 4 {
		t.Errorf("got %+v", kept)
	}
	_, text := w.ask("alice", "POST /agents/clerk", `{"data":{"detach":true}}`, "Accept", "text/event-stream")
	if strings.Count(text, "data: ") != 1 || !strings.Contains(text, `"result":`) || !strings.Contains(text, `"finishReason":"detached"`) {
		t.Errorf("the stream is %s", text)
	}
}

func TestDetachAloneHasItsPlaceInTheSession(t *testing.T) {
	t.Parallel()
	w := serving(t)
	runs := w.run(`{"data":{"message":{"content":[{"text":"hang"}]},"detach":true},"init":{"sessionId":"busy"}}`)
	out := w.run(`{"data":{"detach":true},"init":{"sessionId":"busy"}}`)
	if kept := resultOf[wire.Snapshot](w, "/agents/clerk/getSnapshot", about("snapshotId", out.SnapshotID)); kept.Status != wire.SnapshotPending {
		t.Errorf("got %+v", kept)
	}
	resultOf[wire.AbortResponse](w, "/agents/clerk/abort", about("snapshotId", runs.SnapshotID))
	if kept := resultOf[wire.Snapshot](w, "/agents/clerk/waitForSnapshot", about("snapshotId", out.SnapshotID)); kept.Status != wire.SnapshotCompleted {
		t.Errorf("got %+v", kept)
	}
	asked := w.run(say("pay", `{"sessionId":"asked"}`))
	if out := w.run(`{"data":{"detach":true},"init":{"sessionId":"asked"}}`); out.Error == nil || out.Error.Status != wire.StatusFailedPrecondition || out.SnapshotID != asked.SnapshotID {
		t.Errorf("an interrupted session: %+v", out)
	}
}
