package service_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/testkit/turntest"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/store"
)

func TestAFailedTurnLeavesTheSessionAsItWas(t *testing.T) {
	exec := turntest.Scripts(map[string][]turntest.Answer{"clerk": {{Text: "good"}, {Err: &model.Error{Class: model.InvalidRequest, Message: "no"}}, {Text: "better"}}})
	s := serve(t, turntest.Build(t, turntest.WithAgents(exec, spec.Agent{ID: "clerk"})))
	id := session(t, s, "clerk")
	first := ended(t, s, create(t, s, says(id, "1")).ID)
	bad := ended(t, s, create(t, s, says(id, "2")).ID)
	if bad.Status != store.Failed || bad.Outcome.SnapshotID != "" {
		t.Errorf("the turn is %s with %+v", bad.Status, bad.Outcome)
	}
	if _, err := s.GetSnapshot(t.Context(), alice, bad.SnapshotID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("its snapshot: %v", err)
	}
	third := ended(t, s, create(t, s, says(id, "3")).ID)
	if third.ParentSnapshotID != first.SnapshotID {
		t.Errorf("the next goes on from %q", third.ParentSnapshotID)
	}
	if got, want := conversation(t, s, id), []string{"1", "good", "3", "better"}; !slices.Equal(got, want) {
		t.Errorf("the conversation is %q", got)
	}
}

func TestATurnGoesOnFromAnEarlierSnapshot(t *testing.T) {
	s := serve(t, echo(t))
	id := session(t, s, "parrot")
	first := ended(t, s, create(t, s, says(id, "1")).ID)
	ended(t, s, create(t, s, says(id, "2")).ID)
	back := says(id, "again")
	back.SnapshotID = first.SnapshotID
	got := ended(t, s, create(t, s, back).ID)
	if got.Outcome.Response != "again of |||" || got.ParentSnapshotID != first.SnapshotID {
		t.Errorf("it answered %q after %s", got.Outcome.Response, got.ParentSnapshotID)
	}
	page, err := s.ListSnapshots(t.Context(), alice, store.SnapshotQuery{SessionID: id})
	if err != nil || len(page.Snapshots) != 3 {
		t.Errorf("the snapshots are %+v, %v", page, err)
	}
}

func TestAForkIsIndependent(t *testing.T) {
	s := serve(t, echo(t))
	id := session(t, s, "parrot")
	first := ended(t, s, create(t, s, says(id, "1")).ID)
	ended(t, s, create(t, s, says(id, "2")).ID)
	fork, err := s.ForkSession(t.Context(), alice, service.ForkSession{SessionID: id, SnapshotID: first.SnapshotID})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteSession(t.Context(), alice, id); err != nil {
		t.Fatal(err)
	}
	ended(t, s, create(t, s, says(fork.ID, "3")).ID)
	if got, want := conversation(t, s, fork.ID), []string{"1", "1 of |", "3", "3 of |||"}; !slices.Equal(got, want) {
		t.Errorf("the conversation is %q", got)
	}
}

func TestASessionMovesElsewhere(t *testing.T) {
	here, there := serve(t, echo(t)), serve(t, echo(t))
	id := session(t, here, "parrot")
	ended(t, here, create(t, here, says(id, "1")).ID)
	ended(t, here, create(t, here, says(id, "2")).ID)
	export, err := here.ExportSession(t.Context(), alice, id)
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(export)
	if err != nil {
		t.Fatal(err)
	}
	read := new(service.SessionExport)
	if err := json.Unmarshal(data, read); err != nil {
		t.Fatal(err)
	}
	made, err := there.ImportSession(t.Context(), alice, service.CreateSession{}, read)
	if err != nil {
		t.Fatal(err)
	}
	ended(t, there, create(t, there, says(made.ID, "3")).ID)
	if got, want := conversation(t, there, made.ID), append(conversation(t, here, id), "3", "3 of |||||"); !slices.Equal(got, want) {
		t.Errorf("the conversation is %q, not %q", got, want)
	}
	read.Version = 99
	if _, err := there.ImportSession(t.Context(), alice, service.CreateSession{}, read); !errors.As(err, new(*service.InvalidError)) {
		t.Errorf("the error of another version is %v", err)
	}
}

// A reader that goes page by page takes an empty page for the end.
func TestAPageHasSomethingWhileThereIsMore(t *testing.T) {
	t.Parallel()
	s := serve(t, echo(t), func(v *service.Settings) {
		v.EventTransform = func(_ context.Context, ev *event.Event) (*event.Event, error) {
			if ev.Terminal() {
				return ev, nil
			}
			return nil, nil
		}
	})
	turn := ended(t, s, create(t, s, says(session(t, s, "parrot"), "x")).ID)
	records, err := s.ReadEvents(t.Context(), alice, turn.ID, 0, 1)
	if err != nil || len(records) != 1 || records[0].Seq != turn.Seq {
		t.Errorf("the first page has %v, %v", typesOf(records), err)
	}
	if records, err = s.ReadEvents(t.Context(), alice, turn.ID, turn.Seq, 1); err != nil || len(records) != 0 {
		t.Errorf("the next page has %v, %v", typesOf(records), err)
	}
}

func TestTransformsChangeWhatCallersSeeAndNothingElse(t *testing.T) {
	fail := errors.New("not for you")
	var mode string
	s := serve(t, echo(t), func(v *service.Settings) {
		v.StateTransform = func(_ context.Context, state *service.SessionState) (*service.SessionState, error) {
			switch mode {
			case "nil":
				return nil, nil
			case "error":
				return nil, fail
			case "panic":
				panic("oh")
			}
			state.Messages = state.Messages[:1]
			return state, nil
		}
		v.EventTransform = func(_ context.Context, ev *event.Event) (*event.Event, error) {
			switch ev.Data.(type) {
			case *event.TextDelta:
				return nil, nil
			case *event.RunFinish:
				if mode == "error" {
					return nil, fail
				}
			}
			ev.Seq = 99
			return ev, nil
		}
	})
	ctx := t.Context()
	turn := ended(t, s, create(t, s, says(session(t, s, "parrot"), "x")).ID)
	snapshot := func() (*service.Snapshot, error) { return s.GetSnapshot(ctx, alice, turn.SnapshotID) }
	if got, err := snapshot(); err != nil || len(got.State.Messages) != 1 || got.Custom != nil {
		t.Errorf("the snapshot is %+v, %v", got, err)
	}
	mode = "nil"
	if got, err := snapshot(); err != nil || got.State != nil {
		t.Errorf("the snapshot is %+v, %v", got, err)
	}
	var seqs []uint64
	for r, err := range s.Events(ctx, alice, turn.ID, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if r.Type == event.TypeTextDelta {
			t.Error("a delta is shown")
		}
		seqs = append(seqs, r.Seq)
	}
	if !slices.IsSorted(seqs) || seqs[0] != 1 {
		t.Errorf("the seqs are %v", seqs)
	}
	mode = "error"
	if _, err := snapshot(); !errors.Is(err, fail) {
		t.Errorf("the error is %v", err)
	}
	var last error
	for _, err := range s.Events(ctx, alice, turn.ID, 0) {
		last = err
	}
	if !errors.Is(last, fail) {
		t.Errorf("the events end with %v", last)
	}
	mode = "panic"
	if _, err := snapshot(); !errors.As(err, new(*backend.PanicError)) {
		t.Errorf("the error is %v", err)
	}
}
