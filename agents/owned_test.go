package agents_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/agents"
	"github.com/agentruntime/agentruntime/agents/snapshottest"
	"github.com/agentruntime/agentruntime/agents/wire"
)

// full is a snapshot store that takes no writes.
type full struct{ agents.SnapshotStore }

func (full) SaveSnapshot(context.Context, string, func(*wire.Snapshot) (*wire.Snapshot, error)) (*wire.Snapshot, error) {
	return nil, errors.New("the disk is full")
}

func TestD10ASnapshotThatIsNotKeptFailsItsTurn(t *testing.T) {
	agent, err := agents.Custom("full", func(_ context.Context, t *agents.Turn[ledger]) (*agents.Result, error) {
		return &agents.Result{Text: "done"}, t.Update(func(l *ledger) error { l.Turns++; return nil })
	}, agents.Options[ledger]{Snapshots: full{snapshottest.NewMemory()}})
	if err != nil {
		t.Fatal(err)
	}
	serveSet(t, newRuntime(t, yes{}, agent), agent)
	out, err := agent.RunText(t.Context(), agents.Source{}, "hello")
	if err != nil || out.FinishReason != wire.FinishFailed || out.Error == nil || out.Error.Status != wire.StatusUnavailable || out.SnapshotID != "" {
		t.Errorf("%v, %+v", err, out)
	}
}

func TestAStoreOfOnesOwnHasItsHeartbeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept := snapshottest.NewMemory()
		agent, err := agents.Custom("slow", func(ctx context.Context, _ *agents.Turn[ledger]) (*agents.Result, error) {
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}, agents.Options[ledger]{Snapshots: kept, Heartbeat: agents.Heartbeat{Interval: time.Second, Expiry: 3 * time.Second}})
		if err != nil {
			t.Fatal(err)
		}
		rt := newRuntime(t, yes{}, agent)
		set, err := agents.NewSet(agents.Settings{Runtime: rt, Agents: []agents.Definition{agent}})
		if err != nil {
			t.Fatal(err)
		}
		begun, err := agent.Detach(t.Context(), agents.FromSession("s"), agents.Text("work"), agents.DetachOptions{})
		if err != nil {
			t.Fatal(err)
		}
		expect := func(want wire.SnapshotStatus) {
			t.Helper()
			if row, err := agent.GetSnapshot(t.Context(), begun.SnapshotID); err != nil || row.Status != want {
				t.Errorf("%v, %+v, want %s", err, row, want)
			}
		}
		time.Sleep(10 * time.Second) // of the bubble
		expect(wire.SnapshotPending)
		set.Close()
		time.Sleep(10 * time.Second)
		expect(wire.SnapshotExpired)
	})
}

func TestOptionsThatDoNotGoTogetherAreAllReported(t *testing.T) {
	_, err := agents.Declared("", agents.Options[chan int]{ClientManaged: true, Snapshots: snapshottest.NewMemory(), Heartbeat: agents.Heartbeat{Interval: time.Hour}})
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok || len(joined.Unwrap()) != 4 {
		t.Errorf("%v", err)
	}
}
