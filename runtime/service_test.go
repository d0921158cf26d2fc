package runtime_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/tools"
)

// echo returns a runtime whose agent "parrot" answers with what it is told, and
// how many messages it was shown.
func echo(t testing.TB) *runtime.AgentRuntime {
	t.Helper()
	exec := &answerer{}
	exec.answer = func(context.Context, string, int) answer {
		exec.mu.Lock()
		defer exec.mu.Unlock()
		list := exec.requests["parrot"]
		last := list[len(list)-1].Messages
		return answer{text: last[len(last)-1].Text() + " of " + strings.Repeat("|", len(last))}
	}
	return build(t, withAgents(exec, spec.Agent{ID: "parrot"}))
}

func TestATurnIsKeptAndRun(t *testing.T) {
	s := serve(t, echo(t))
	id := session(t, s, "parrot")
	made := create(t, s, says(id, "one"))
	if made.Status.Live() && made.Outcome != nil || made.SnapshotID == "" {
		t.Errorf("the turn begins as %+v", made)
	}
	turn := ended(t, s, made.ID)
	if turn.Status != store.Succeeded || turn.Outcome.Response != "one of |" || turn.Outcome.SnapshotID != made.SnapshotID || turn.FinishedAt.IsZero() {
		t.Errorf("the turn ends as %+v with %+v", turn.Turn, turn.Outcome)
	}
	types := typesOf(log(t, s, made.ID))
	if types[0] != event.TypeRunStart || count(types, event.TypeRunFinish) != 1 {
		t.Errorf("its events are %v", types)
	}
	second := ended(t, s, create(t, s, says(id, "two")).ID)
	if second.Outcome.Response != "two of |||" || second.ParentSnapshotID != made.SnapshotID {
		t.Errorf("the next turn goes on from %q and says %q", second.ParentSnapshotID, second.Outcome.Response)
	}
	if got, want := conversation(t, s, id), []string{"one", "one of |", "two", "two of |||"}; !slices.Equal(got, want) {
		t.Errorf("the conversation is %q", got)
	}
}

func TestWhatASurfaceMustRefuse(t *testing.T) {
	s := serve(t, echo(t))
	id := session(t, s, "parrot")
	ctx := t.Context()
	archived := session(t, s, "parrot")
	state := store.SessionArchived
	if _, err := s.UpdateSession(ctx, alice, archived, store.SessionPatch{State: &state}); err != nil {
		t.Fatal(err)
	}
	reject := func(change func(*runtime.CreateTurn)) error {
		req := says(id, "x")
		change(&req)
		_, err := s.CreateTurn(ctx, alice, req)
		return err
	}
	cases := map[string]struct {
		err  error
		want any
	}{
		"no input":       {reject(func(r *runtime.CreateTurn) { r.Input = nil }), runtime.ErrNoInput},
		"role":           {reject(func(r *runtime.CreateTurn) { r.Input[0].Role = model.RoleTool }), new(*runtime.InvalidError)},
		"no session":     {reject(func(r *runtime.CreateTurn) { r.SessionID = "nowhere" }), new(*runtime.NotFoundError)},
		"no agent":       {reject(func(r *runtime.CreateTurn) { r.AgentID = "nobody" }), nil},
		"no snapshot":    {reject(func(r *runtime.CreateTurn) { r.SnapshotID = "none" }), new(*runtime.NotFoundError)},
		"policy":         {reject(func(r *runtime.CreateTurn) { r.OnBusy = "push" }), new(*runtime.InvalidError)},
		"id":             {reject(func(r *runtime.CreateTurn) { r.ID = "a b" }), new(*runtime.InvalidError)},
		"metadata":       {reject(func(r *runtime.CreateTurn) { r.Metadata = json.RawMessage(`[]`) }), new(*runtime.InvalidError)},
		"archived":       {reject(func(r *runtime.CreateTurn) { r.SessionID = archived }), new(*store.StateError)},
		"key with a NUL": {reject(func(r *runtime.CreateTurn) { r.IdempotencyKey = "a\x00b" }), new(*runtime.InvalidError)},
	}
	for name, c := range cases {
		if c.err == nil {
			t.Errorf("%s: it is taken", name)
			continue
		}
		if target, ok := c.want.(error); ok && !errors.Is(c.err, target) {
			t.Errorf("%s: the error is %v", name, c.err)
		} else if !ok && c.want != nil && !errors.As(c.err, c.want) {
			t.Errorf("%s: the error is %T %v", name, c.err, c.err)
		}
	}
	if page, err := s.ListTurns(ctx, alice, store.TurnQuery{}); err != nil || len(page.Turns) != 0 {
		t.Errorf("there are turns %v, %v", page, err)
	}
}

func TestAForeignIDLooksUnknown(t *testing.T) {
	s := serve(t, asking(t))
	id := session(t, s, "clerk")
	turn := until(t, s, create(t, s, says(id, "x")).ID, store.Waiting)
	ctx := t.Context()
	events := func() error {
		for _, err := range s.Events(ctx, bob, turn.ID, 0) {
			return err
		}
		return nil
	}
	label := map[string]string{}
	attempts := map[string]func() error{
		"GetSession":    func() error { _, err := s.GetSession(ctx, bob, id); return err },
		"UpdateSession": func() error { _, err := s.UpdateSession(ctx, bob, id, store.SessionPatch{Labels: &label}); return err },
		"DeleteSession": func() error { return s.DeleteSession(ctx, bob, id) },
		"ForkSession":   func() error { _, err := s.ForkSession(ctx, bob, runtime.ForkSession{SessionID: id}); return err },
		"ExportSession": func() error { _, err := s.ExportSession(ctx, bob, id); return err },
		"ListSnapshots": func() error { _, err := s.ListSnapshots(ctx, bob, store.SnapshotQuery{SessionID: id}); return err },
		"CreateTurn":    func() error { _, err := s.CreateTurn(ctx, bob, says(id, "x")); return err },
		"GetTurn":       func() error { _, err := s.GetTurn(ctx, bob, turn.ID); return err },
		"CancelTurn":    func() error { _, err := s.CancelTurn(ctx, bob, turn.ID, ""); return err },
		"DetachTurn":    func() error { _, err := s.DetachTurn(ctx, bob, turn.ID); return err },
		"WaitTurn":      func() error { _, err := s.WaitTurn(ctx, bob, turn.ID); return err },
		"Events":        events,
		"ReadEvents":    func() error { _, err := s.ReadEvents(ctx, bob, turn.ID, 0, 1); return err },
		"ListInteractions": func() error {
			_, err := s.ListInteractions(ctx, bob, store.InteractionQuery{TurnID: turn.ID})
			return err
		},
		"ResolveInteraction": func() error { _, err := s.ResolveInteraction(ctx, bob, turn.ID, yes("a")); return err },
	}
	for name, attempt := range attempts {
		if err := attempt(); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
	if page, err := s.ListSessions(ctx, bob, store.SessionQuery{}); err != nil || len(page.Sessions) != 0 {
		t.Errorf("bob sees the sessions %v, %v", page, err)
	}
	if page, err := s.ListTurns(ctx, bob, store.TurnQuery{SessionID: id}); err != nil || len(page.Turns) != 0 {
		t.Errorf("bob sees the turns %v, %v", page, err)
	}
	if _, err := s.GetSession(ctx, runtime.Caller{}, id); !errors.Is(err, runtime.ErrNoCaller) {
		t.Errorf("without a caller the error is %v", err)
	}
	until(t, s, turn.ID, store.Waiting)
}

func TestARequestWithAKeyHasOneOutcome(t *testing.T) {
	s := serve(t, echo(t))
	id := session(t, s, "parrot")
	req := says(id, "once")
	req.IdempotencyKey = "k"
	first, again := create(t, s, req), create(t, s, req)
	if first.ID != again.ID {
		t.Errorf("the turns are %s and %s", first.ID, again.ID)
	}
	req.Input = []model.Message{model.User("other")}
	if _, err := s.CreateTurn(t.Context(), alice, req); !errors.As(err, new(*store.KeyConflictError)) {
		t.Errorf("the error is %v", err)
	}
	ended(t, s, first.ID)
	if got := conversation(t, s, id); len(got) != 2 {
		t.Errorf("the conversation is %q", got)
	}
}

// stuck returns a runtime whose agent "worker" calls a tool that ends with its
// context only, and a channel that is signalled when it was called.
func stuck(t testing.TB) (*runtime.AgentRuntime, <-chan struct{}) {
	t.Helper()
	begun := make(chan struct{}, 100)
	wait := toolFunc(func(ctx context.Context, _ *tools.Call) (tools.Result, error) {
		begun <- struct{}{}
		<-ctx.Done()
		return tools.Result{}, ctx.Err()
	})
	exec := &answerer{answer: func(context.Context, string, int) answer { return calls("c", "wait", "{}") }}
	return build(t, withAgents(exec, spec.Agent{ID: "worker"}).WithTool("wait", wait)), begun
}

func TestCancelEndsATurnWhoseToolIsSilent(t *testing.T) {
	rt, begun := stuck(t)
	s := serve(t, rt)
	id := session(t, s, "worker")
	turn := create(t, s, says(id, "x"))
	<-begun
	got, err := s.CancelTurn(t.Context(), alice, turn.ID, "no more")
	if err != nil || got.Status != store.Canceled || got.Outcome.Termination.Detail != "no more" {
		t.Fatalf("the turn is %+v, %v", got, err)
	}
	again, err := s.CancelTurn(t.Context(), alice, turn.ID, "still not")
	if err != nil || again.Outcome.Termination.Detail != "no more" {
		t.Errorf("the second time it is %+v, %v", again, err)
	}
	if records := log(t, s, turn.ID); !records[len(records)-1].Terminal() {
		t.Errorf("the events are %v", typesOf(records))
	}
	if got := conversation(t, s, id); got != nil {
		t.Errorf("the conversation is %q", got)
	}
}

func TestWhatASecondTurnDoesToABusySession(t *testing.T) {
	rt, begun := stuck(t)
	s := serve(t, rt)
	id := session(t, s, "worker")
	first := create(t, s, says(id, "1"))
	<-begun
	reject := says(id, "2")
	reject.OnBusy = runtime.RejectBusy
	var busy *store.BusyError
	if _, err := s.CreateTurn(t.Context(), alice, reject); !errors.As(err, &busy) || busy.TurnID != first.ID {
		t.Errorf("the error is %v", err)
	}
	queued := create(t, s, says(id, "3"))
	if queued.Status != store.Pending {
		t.Errorf("the turn behind is %s", queued.Status)
	}
	interrupt := says(id, "4")
	interrupt.OnBusy = runtime.Interrupt
	last := create(t, s, interrupt)
	<-begun
	for _, id := range []string{first.ID, queued.ID} {
		if got := ended(t, s, id); got.Status != store.Canceled {
			t.Errorf("the turn is %s", got.Status)
		}
	}
	until(t, s, last.ID, store.Running)
}

func TestAPersonIsWaitedForWithoutAWorker(t *testing.T) {
	s := serve(t, asking(t))
	id := session(t, s, "clerk")
	turn := until(t, s, create(t, s, says(id, "x")).ID, store.Waiting)
	if turn.Worker != "" {
		t.Errorf("worker %s waits", turn.Worker)
	}
	ctx := t.Context()
	open, err := s.ListInteractions(ctx, alice, store.InteractionQuery{TurnID: turn.ID})
	if err != nil || len(open) != 2 || open[0].Ticket.Message != "may I?" {
		t.Fatalf("the interactions are %+v, %v", open, err)
	}
	wrong := yes("may_a")
	wrong.Result = json.RawMessage(`"maybe"`)
	if _, err := s.ResolveInteraction(ctx, alice, turn.ID, wrong); !errors.As(err, new(*backend.ResolutionError)) {
		t.Errorf("the error of an answer that does not fit is %v", err)
	}
	if _, err := s.ResolveInteraction(ctx, alice, turn.ID, yes("nothing")); !errors.As(err, new(*runtime.NotFoundError)) {
		t.Errorf("the error of an unknown one is %v", err)
	}
	first, err := s.ResolveInteraction(ctx, alice, turn.ID, yes("a"))
	if err != nil || first.ID != "may_a" || first.ResolvedBy != "alice" {
		t.Fatalf("the interaction is %+v, %v", first, err)
	}
	if again, err := s.ResolveInteraction(ctx, alice, turn.ID, yes("may_a")); err != nil || !again.ResolvedAt.Equal(first.ResolvedAt) {
		t.Errorf("the same answer gives %+v, %v", again, err)
	}
	if _, err := s.ResolveInteraction(ctx, alice, turn.ID, refuse("may_a", "")); !errors.As(err, new(*store.ConflictError)) {
		t.Errorf("the error of another answer is %v", err)
	}
	if _, err := s.ResolveInteraction(ctx, alice, turn.ID, refuse("may_b", "no")); err != nil {
		t.Fatal(err)
	}
	got := ended(t, s, turn.ID)
	if got.Status != store.Succeeded || got.Outcome.Response != "all done" {
		t.Errorf("the turn is %s: %+v", got.Status, got.Outcome)
	}
	records := log(t, s, turn.ID)
	if how, _ := callOutcome(t, records, "a"); how != event.CallSucceeded {
		t.Errorf("call a %s", how)
	}
	if how, text := callOutcome(t, records, "b"); how != event.CallFailed || !strings.Contains(text, "no") {
		t.Errorf("call b %s: %s", how, text)
	}
}

func TestNobodyAnswersInTime(t *testing.T) {
	for policy, want := range map[runtime.TimeoutPolicy]store.Status{runtime.TimeoutCancels: store.Succeeded, runtime.TimeoutFails: store.Failed} {
		t.Run(string(policy), func(t *testing.T) {
			s := serve(t, asking(t), func(v *runtime.ServiceSettings) {
				v.InteractionTimeout, v.OnTimeout, v.Lease = 30*time.Millisecond, policy, 300*time.Millisecond
			})
			got := ended(t, s, create(t, s, says(session(t, s, "clerk"), "x")).ID)
			if got.Status != want {
				t.Errorf("the turn is %s: %+v", got.Status, got.Outcome)
			}
			if want == store.Failed && got.Outcome.Termination.Code != runtime.CodeInteractionTimeout {
				t.Errorf("it ended by %+v", got.Outcome.Termination)
			}
			open, err := s.ListInteractions(t.Context(), alice, store.InteractionQuery{TurnID: got.ID, State: store.InteractionPending})
			if err != nil || len(open) != 0 {
				t.Errorf("%v are still open, %v", open, err)
			}
		})
	}
}

func TestAFailedTurnLeavesTheSessionAsItWas(t *testing.T) {
	exec := scripts(map[string][]answer{"clerk": {{text: "good"}, {err: &model.Error{Class: model.InvalidRequest, Message: "no"}}, {text: "better"}}})
	s := serve(t, build(t, withAgents(exec, spec.Agent{ID: "clerk"})))
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
		t.Errorf("it says %q behind %s", got.Outcome.Response, got.ParentSnapshotID)
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
	fork, err := s.ForkSession(t.Context(), alice, runtime.ForkSession{SessionID: id, SnapshotID: first.SnapshotID})
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
	read := new(runtime.SessionExport)
	if err := json.Unmarshal(data, read); err != nil {
		t.Fatal(err)
	}
	made, err := there.ImportSession(t.Context(), alice, runtime.CreateSession{}, read)
	if err != nil {
		t.Fatal(err)
	}
	ended(t, there, create(t, there, says(made.ID, "3")).ID)
	if got, want := conversation(t, there, made.ID), append(conversation(t, here, id), "3", "3 of |||||"); !slices.Equal(got, want) {
		t.Errorf("the conversation is %q, not %q", got, want)
	}
	read.Version = 99
	if _, err := there.ImportSession(t.Context(), alice, runtime.CreateSession{}, read); !errors.As(err, new(*runtime.InvalidError)) {
		t.Errorf("the error of another version is %v", err)
	}
}

func TestADeletedSessionTakesItsTurnsWithIt(t *testing.T) {
	rt, begun := stuck(t)
	s := serve(t, rt)
	id := session(t, s, "worker")
	turn := create(t, s, says(id, "x"))
	<-begun
	if err := s.DeleteSession(t.Context(), alice, id); err != nil {
		t.Fatal(err)
	}
	if _, err := s.GetTurn(t.Context(), alice, turn.ID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the turn: %v", err)
	}
}

func TestWhoseCallerIsGoneIsCancelledUnlessItRunsInTheBackground(t *testing.T) {
	rt, begun := stuck(t)
	s := serve(t, rt)
	for name, c := range map[string]struct {
		background, detach bool
		want               store.Status
	}{
		"foreground": {false, false, store.Canceled},
		"background": {true, false, store.Running},
		"detached":   {false, true, store.Running},
	} {
		t.Run(name, func(t *testing.T) {
			req := says(session(t, s, "worker"), "x")
			req.ID, req.Background = name, c.background
			ctx, leave := context.WithCancel(t.Context())
			go func() {
				<-begun
				if c.detach {
					if _, err := s.DetachTurn(t.Context(), alice, name); err != nil {
						t.Error(err)
					}
				}
				leave()
			}()
			turn, err := s.RunTurn(ctx, alice, req, nil)
			if !errors.Is(err, context.Canceled) || turn.Status != c.want {
				t.Errorf("the turn is %s, %v", turn.Status, err)
			}
		})
	}
}

func TestAForegroundTurnShowsItsEvents(t *testing.T) {
	s := serve(t, echo(t))
	var seen events
	turn, err := s.RunTurn(t.Context(), alice, says(session(t, s, "parrot"), "x"), &seen)
	if err != nil || turn.Status != store.Succeeded {
		t.Fatalf("the turn is %+v, %v", turn, err)
	}
	checkLog(t, seen.list)
}

func TestTransformsChangeWhatCallersSeeAndNothingElse(t *testing.T) {
	fail := errors.New("not for you")
	var mode string
	s := serve(t, echo(t), func(v *runtime.ServiceSettings) {
		v.StateTransform = func(_ context.Context, state *runtime.SessionState) (*runtime.SessionState, error) {
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
	snapshot := func() (*runtime.Snapshot, error) { return s.GetSnapshot(ctx, alice, turn.SnapshotID) }
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

func TestASilentWorkerReadsAsExpired(t *testing.T) {
	rt, begun := stuck(t)
	now := time.Now()
	late := func() time.Time { return now.Add(2 * time.Minute) }
	worker := serve(t, rt)
	turn := create(t, worker, says(session(t, worker, "worker"), "x"))
	<-begun
	if turn := until(t, worker, turn.ID, store.Running); turn.Expired {
		t.Error("the turn is expired")
	}
	reader := runtime.NewService(runtime.ServiceSettings{Store: worker.Store, Clock: late})
	t.Cleanup(reader.Close)
	if got, err := reader.GetTurn(t.Context(), alice, turn.ID); err != nil || !got.Expired || got.Status != store.Running {
		t.Errorf("the turn is %+v, %v", got, err)
	}
}

func TestASchedulesDueTimeGivesOneTurn(t *testing.T) {
	kept := newMemory(t)
	settings := []setting{on(kept), func(v *runtime.ServiceSettings) {
		v.Schedules = []runtime.Schedule{{ID: "tick", Cron: "@every 1s", AgentID: "parrot", Input: []model.Message{model.User("tick")}, SessionID: "ticks", Owner: alice}}
	}}
	s := serve(t, echo(t), settings...)
	serve(t, echo(t), settings...)
	eventually(t, func() string {
		if page, err := s.ListTurns(t.Context(), alice, store.TurnQuery{SessionID: "ticks", Statuses: []store.Status{store.Succeeded}}); err != nil || len(page.Turns) < 2 {
			return "no two turns were made"
		}
		return ""
	})
	page, err := s.ListTurns(t.Context(), alice, store.TurnQuery{SessionID: "ticks"})
	if err != nil {
		t.Fatal(err)
	}
	due := map[string]bool{}
	for _, turn := range page.Turns {
		if key := string(turn.Metadata); due[key] {
			t.Errorf("there are two turns for %s", key)
		} else {
			due[key] = true
		}
	}
	if err := runtime.CheckSchedule("every day", ""); err == nil {
		t.Error("a bad expression is taken")
	}
	if err := runtime.CheckSchedule("TZ=0", ""); err == nil {
		t.Error("a time zone in the expression is taken")
	}
	if err := runtime.CheckSchedule("0 9 * * *", "Europe/Atlantis"); err == nil {
		t.Error("a bad time zone is taken")
	}
}

func TestADelayedTurnIsNotRunBeforeItsTime(t *testing.T) {
	s := serve(t, echo(t))
	req := says(session(t, s, "parrot"), "later")
	req.NotBefore = time.Now().Add(80 * time.Millisecond)
	turn := ended(t, s, create(t, s, req).ID)
	if turn.StartedAt.Before(turn.NotBefore) {
		t.Errorf("it began at %s, which is before %s", turn.StartedAt, turn.NotBefore)
	}
}
