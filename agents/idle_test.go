package agents_test

import (
	"context"
	"testing"

	"github.com/agentruntime/agentruntime/agents"
	"github.com/agentruntime/agentruntime/agents/snapshottest"
	"github.com/agentruntime/agentruntime/agents/wire"
	"github.com/google/go-cmp/cmp"
)

// detachAlone detaches without a message and returns the resulting snapshot.
func detachAlone(t *testing.T, agent *agents.Agent[ledger], source agents.Source) *agents.Snapshot[ledger] {
	t.Helper()
	out, err := agent.Detach(t.Context(), source, &wire.Input{}, agents.DetachOptions{})
	if err != nil || out.FinishReason != wire.FinishDetached {
		t.Fatalf("%v, %+v", err, out)
	}
	kept, err := agent.WaitForSnapshot(t.Context(), out.SnapshotID)
	if err != nil || kept.Status != wire.SnapshotCompleted || kept.FinishReason != "" || kept.State == nil {
		t.Fatalf("%v, %+v", err, kept)
	}
	return kept
}

func TestDetachAloneKeepsWhatTheSessionHas(t *testing.T) {
	eachStore(t, func(t *testing.T, open opener) {
		p := newPlaceOn(t, open)
		if kept := detachAlone(t, p.agent, agents.Source{}); kept.State.Custom.Turns != 0 || len(kept.State.Messages) != 0 {
			t.Errorf("%+v", kept.State)
		}
		first, err := p.agent.RunText(t.Context(), agents.FromSession("s"), "work")
		if err != nil {
			t.Fatal(err)
		}
		before, err := p.agent.GetSnapshot(t.Context(), first.SnapshotID)
		if err != nil {
			t.Fatal(err)
		}
		after := detachAlone(t, p.agent, agents.FromSession("s"))
		if diff := cmp.Diff(before.State, after.State); diff != "" || after.ParentID != first.SnapshotID {
			t.Errorf("%s, it continues from %s", diff, after.ParentID)
		}
		next, err := p.agent.RunText(t.Context(), agents.FromSnapshot(after.SnapshotID), "hello")
		if err != nil || next.Error != nil {
			t.Fatal(err, next)
		}
		if kept, err := p.agent.GetSnapshot(t.Context(), next.SnapshotID); err != nil || kept.State.Custom.Turns != 2 {
			t.Errorf("%v, %+v", err, kept)
		}
	})
}

// keepCount counts its turns.
func keepCount(_ context.Context, t *agents.Turn[ledger]) (*agents.Result, error) {
	return &agents.Result{Text: "done"}, t.Update(func(l *ledger) error { l.Turns++; return nil })
}

func TestDetachAloneOnAStoreOfOnesOwn(t *testing.T) {
	agent, err := agents.Custom("own", keepCount, agents.Options[ledger]{Snapshots: snapshottest.NewMemory()})
	if err != nil {
		t.Fatal(err)
	}
	serveSet(t, newRuntime(t, yes{}, agent), agent)
	detachAlone(t, agent, agents.Source{})
	if _, err := agent.RunText(t.Context(), agents.FromSession("s"), "one"); err != nil {
		t.Fatal(err)
	}
	if kept := detachAlone(t, agent, agents.FromSession("s")); kept.State.Custom.Turns != 1 || len(kept.State.Messages) != 2 {
		t.Errorf("%+v", kept.State)
	}
}

func TestAConversationIsDetachedWhenItsTurnHasEnded(t *testing.T) {
	p := newPlace(t)
	talk, err := p.agent.Connect(t.Context(), agents.Source{})
	if err != nil {
		t.Fatal(err)
	}
	if err := talk.SendText(t.Context(), "hello"); err != nil {
		t.Fatal(err)
	}
	if _, err := talk.Output(t.Context()); err != nil {
		t.Fatal(err)
	}
	out, err := talk.Detach(t.Context())
	if err != nil || out.FinishReason != wire.FinishDetached {
		t.Fatal(err, out)
	}
	if kept, err := p.agent.WaitForSnapshot(t.Context(), out.SnapshotID); err != nil || kept.Status != wire.SnapshotCompleted || kept.State.Custom.Turns != 1 {
		t.Errorf("%v, %+v", err, kept)
	}
}
