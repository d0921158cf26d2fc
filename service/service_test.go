package service_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/testkit/turntest"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/tools"
)

// echo returns a runtime whose agent "parrot" answers with the text it got, and how
// many messages it was shown.
func echo(t testing.TB) *runtime.AgentRuntime {
	t.Helper()
	exec := &turntest.Answerer{}
	exec.Answer = func(context.Context, string, int) turntest.Answer {
		last := exec.LastMessages("parrot")
		return turntest.Answer{Text: last[len(last)-1].Text() + " of " + strings.Repeat("|", len(last))}
	}
	return turntest.Build(t, turntest.WithAgents(exec, spec.Agent{ID: "parrot"}))
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

// listener is a model that calls its tool once in a turn, and then repeats what it
// got, with the roles.
func listener(t testing.TB) *runtime.AgentRuntime {
	t.Helper()
	exec := &turntest.Answerer{}
	exec.Answer = func(context.Context, string, int) turntest.Answer {
		last := exec.LastMessages("listener")
		if last[len(last)-1].Role != model.RoleTool {
			return turntest.Calls("c", "look", `{}`)
		}
		var told []string
		for i := range last {
			told = append(told, string(last[i].Role)+" "+last[i].Text())
		}
		return turntest.Answer{Text: strings.Join(told, ", ")}
	}
	look := turntest.ToolFunc(func(context.Context, *tools.Call) (tools.Result, error) { return tools.TextResult("seen"), nil })
	return turntest.Build(t, turntest.WithAgents(exec, spec.Agent{ID: "listener"}).WithTool("look", look))
}

func TestWhatTheModelIsToldOfASession(t *testing.T) {
	s := serve(t, listener(t))
	const called = ", assistant , tool "
	say := func(id, text string, change func(*service.CreateTurn)) string {
		req := says(id, text)
		change(&req)
		turn := ended(t, s, create(t, s, req).ID)
		if turn.Status != store.Succeeded {
			t.Fatalf("the turn ends as %+v", turn.Outcome)
		}
		return turn.Outcome.Response
	}
	texts := func(r *service.CreateTurn) { r.TextHistory = true }
	all := func(*service.CreateTurn) {}
	id := session(t, s, "listener")
	first := say(id, "one", texts)
	if first != "user one"+called {
		t.Errorf("the first turn gets %q", first)
	}
	if got, want := say(id, "two", texts), "user one, assistant "+first+", user two"+called; got != want {
		t.Errorf("with texts alone it gets %q", got)
	}
	if got, want := say(id, "three", all), "user one"+called+", assistant "+first+", user two"+called; !strings.HasPrefix(got, want) {
		t.Errorf("with everything it gets %q", got)
	}
	id = session(t, s, "listener")
	before := []model.Message{model.User("a"), model.Assistant("b"), model.System("c")}
	first = say(id, "d", func(r *service.CreateTurn) { r.Before = before })
	if first != "user a, assistant b, system c, user d"+called {
		t.Errorf("after earlier messages it gets %q", first)
	}
	if got, want := say(id, "e", texts), "user a, assistant b, system c, user d, assistant "+first+", user e"+called; got != want {
		t.Errorf("the next turn gets %q", got)
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
	reject := func(change func(*service.CreateTurn)) error {
		req := says(id, "x")
		change(&req)
		_, err := s.CreateTurn(ctx, alice, req)
		return err
	}
	cases := map[string]struct {
		err  error
		want any
	}{
		"no input":    {reject(func(r *service.CreateTurn) { r.Input = nil }), runtime.ErrNoInput},
		"task":        {reject(func(r *service.CreateTurn) { r.Task = "sing" }), new(*service.InvalidError)},
		"no task":     {reject(func(r *service.CreateTurn) { r.Task = service.TaskNothing }), new(*service.InvalidError)},
		"role":        {reject(func(r *service.CreateTurn) { r.Input[0].Role = model.RoleTool }), new(*service.InvalidError)},
		"role before": {reject(func(r *service.CreateTurn) { r.Before = []model.Message{{Role: model.RoleTool}} }), new(*service.InvalidError)},
		"calls before": {reject(func(r *service.CreateTurn) {
			r.Before = []model.Message{{Role: model.RoleAssistant, Parts: []model.Part{{Type: model.PartToolCall, ToolCall: &model.ToolCall{ID: "x"}}}}}
		}), new(*service.InvalidError)},
		"no session":     {reject(func(r *service.CreateTurn) { r.SessionID = "nowhere" }), new(*service.NotFoundError)},
		"no agent":       {reject(func(r *service.CreateTurn) { r.AgentID = "nobody" }), nil},
		"no snapshot":    {reject(func(r *service.CreateTurn) { r.SnapshotID = "none" }), new(*service.NotFoundError)},
		"policy":         {reject(func(r *service.CreateTurn) { r.OnBusy = "push" }), new(*service.InvalidError)},
		"id":             {reject(func(r *service.CreateTurn) { r.ID = "a b" }), new(*service.InvalidError)},
		"metadata":       {reject(func(r *service.CreateTurn) { r.Metadata = json.RawMessage(`[]`) }), new(*service.InvalidError)},
		"archived":       {reject(func(r *service.CreateTurn) { r.SessionID = archived }), new(*store.StateError)},
		"key with a NUL": {reject(func(r *service.CreateTurn) { r.IdempotencyKey = "a\x00b" }), new(*service.InvalidError)},
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
// context only, and a channel that is signaled when it was called.
func stuck(t testing.TB) (*runtime.AgentRuntime, <-chan struct{}) {
	t.Helper()
	begun := make(chan struct{}, 100)
	wait := turntest.ToolFunc(func(ctx context.Context, _ *tools.Call) (tools.Result, error) {
		begun <- struct{}{}
		<-ctx.Done()
		return tools.Result{}, ctx.Err()
	})
	exec := &turntest.Answerer{Answer: func(context.Context, string, int) turntest.Answer { return turntest.Calls("c", "wait", "{}") }}
	return turntest.Build(t, turntest.WithAgents(exec, spec.Agent{ID: "worker"}).WithTool("wait", wait)), begun
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
	reject.OnBusy = service.RejectBusy
	var busy *store.BusyError
	if _, err := s.CreateTurn(t.Context(), alice, reject); !errors.As(err, &busy) || busy.TurnID != first.ID {
		t.Errorf("the error is %v", err)
	}
	queued := create(t, s, says(id, "3"))
	if queued.Status != store.Pending {
		t.Errorf("the next turn is %s", queued.Status)
	}
	interrupt := says(id, "4")
	interrupt.OnBusy = service.Interrupt
	last := create(t, s, interrupt)
	<-begun
	for _, id := range []string{first.ID, queued.ID} {
		if got := ended(t, s, id); got.Status != store.Canceled {
			t.Errorf("the turn is %s", got.Status)
		}
	}
	until(t, s, last.ID, store.Running)
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

func TestWhoseCallerIsGoneIsCanceledUnlessItRunsInTheBackground(t *testing.T) {
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
	var seen turntest.Events
	turn, err := s.RunTurn(t.Context(), alice, says(session(t, s, "parrot"), "x"), &seen)
	if err != nil || turn.Status != store.Succeeded {
		t.Fatalf("the turn is %+v, %v", turn, err)
	}
	turntest.CheckLog(t, seen.List)
}

func TestASilentWorkerReadsAsExpired(t *testing.T) {
	rt, begun := stuck(t)
	now := time.Now()
	late := func() time.Time { return now.Add(2 * time.Minute) }
	kept := newMemory(t)
	worker := serve(t, rt, on(kept))
	turn := create(t, worker, says(session(t, worker, "worker"), "x"))
	<-begun
	if turn := until(t, worker, turn.ID, store.Running); turn.Expired {
		t.Error("the turn is expired")
	}
	reader := service.New(service.Settings{Store: kept, Clock: late})
	t.Cleanup(reader.Close)
	if got, err := reader.GetTurn(t.Context(), alice, turn.ID); err != nil || !got.Expired || got.Status != store.Running {
		t.Errorf("the turn is %+v, %v", got, err)
	}
}
