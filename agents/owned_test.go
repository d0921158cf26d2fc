package agents_test

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/agents"
	"github.com/agentruntime/agentruntime/agents/snapshottest"
	"github.com/agentruntime/agentruntime/agents/wire"
)

// full is a snapshot store that rejects writes.
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

// TestD2OverlappingTurnsOfASessionAreSerializedOnAStoreOfOnesOwn covers every way to read turns, in
// one conversation and in several.
func TestD2OverlappingTurnsOfASessionAreSerializedOnAStoreOfOnesOwn(t *testing.T) {
	agent, err := agents.Custom("own", func(_ context.Context, t *agents.Turn[ledger]) (*agents.Result, error) {
		return &agents.Result{Text: "done"}, t.Update(func(l *ledger) error { l.Turns++; return l.enter(t.Input()[0].Text()) })
	}, agents.Options[ledger]{Snapshots: snapshottest.NewMemory()})
	if err != nil {
		t.Fatal(err)
	}
	serveSet(t, newRuntime(t, yes{}, agent), agent)
	open, err := agent.Connect(t.Context(), agents.FromSession("s")) // before the others
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			if i%2 == 0 {
				if out, err := agent.RunText(t.Context(), agents.FromSession("s"), strconv.Itoa(i)); err != nil || out.Error != nil {
					t.Error(err, out)
				}
				return
			}
			for piece, err := range agent.StreamText(t.Context(), agents.FromSession("s"), strconv.Itoa(i)) {
				if err != nil || piece.Output != nil && piece.Output.Error != nil {
					t.Error(err, piece)
				}
			}
		})
	}
	all.Wait()
	if err := open.Send(t.Context(), agents.Text("late")); err != nil {
		t.Fatal(err)
	}
	if out, err := open.Output(t.Context()); err != nil || out.Error != nil {
		t.Fatal(err, out)
	}
	kept, err := agent.LatestSnapshot(t.Context(), "s")
	if err != nil || kept.State.Custom.Turns != 9 || len(kept.State.Custom.Entries) != 9 || len(kept.State.Messages) != 18 {
		t.Fatalf("%+v, %v", kept, err)
	}
}

// TestATurnWaitsForItsSession waits until the caller abandons it; an unread stream blocks no other
// turn. Its own snapshot is then not kept.
func TestATurnWaitsForItsSession(t *testing.T) {
	begun, end := make(chan struct{}), make(chan struct{})
	agent, err := agents.Custom("own", func(_ context.Context, t *agents.Turn[ledger]) (*agents.Result, error) {
		if t.Input()[0].Text() == "slow" {
			close(begun)
			<-end
		}
		return &agents.Result{Text: "done"}, t.SendText("done")
	}, agents.Options[ledger]{Snapshots: snapshottest.NewMemory()})
	if err != nil {
		t.Fatal(err)
	}
	serveSet(t, newRuntime(t, yes{}, agent), agent)
	slow := make(chan error, 1)
	go func() {
		_, err := agent.RunText(t.Context(), agents.FromSession("s"), "slow")
		slow <- err
	}()
	<-begun
	gone, giveUp := context.WithCancel(t.Context())
	giveUp()
	if out, err := agent.RunText(gone, agents.FromSession("s"), "quick"); err == nil {
		t.Errorf("it did not wait: %+v", out)
	}
	close(end)
	if err := <-slow; err != nil {
		t.Fatal(err)
	}
	handle, err := agent.Handle()
	if err != nil {
		t.Fatal(err)
	}
	left, err := handle.Begin(t.Context(), &wire.Init{SessionID: "s"}, agents.Text("left"))
	if err != nil {
		t.Fatal(err)
	}
	for range left.Chunks(t.Context()) {
		break
	}
	if out, err := agent.RunText(t.Context(), agents.FromSession("s"), "quick"); err != nil || out.Error != nil {
		t.Errorf("%v, %+v", err, out)
	}
	if out, err := left.Output(t.Context()); err != nil || out.Error == nil || out.Error.Status != wire.StatusAborted {
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
