package service_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/testkit/turntest"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/dispatch"
	"github.com/agentruntime/agentruntime/store/dispatch/local"
	"github.com/agentruntime/agentruntime/tools"
)

// effects is a tool that counts its calls, by idempotency key.
type effects struct {
	class tools.Effect
	call  func(ctx context.Context, n int) (tools.Result, error)

	mu   sync.Mutex
	keys map[string]int
}

func (e *effects) Descriptor() tools.Descriptor {
	return tools.Descriptor{Description: "for tests", Effect: e.class}
}

func (e *effects) Call(ctx context.Context, call *tools.Call) (tools.Result, error) {
	e.mu.Lock()
	if e.keys == nil {
		e.keys = make(map[string]int)
	}
	e.keys[call.IdempotencyKey]++
	n := 0
	for _, times := range e.keys {
		n += times
	}
	e.mu.Unlock()
	return e.call(ctx, n)
}

func (e *effects) counts() (keys, calls int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, n := range e.keys {
		calls += n
	}
	return len(e.keys), calls
}

// orphaned makes a service whose machine is gone when the tool is called first, and
// lets another one take over what it left.
func orphaned(t *testing.T, class tools.Effect, settings ...setting) (tool *effects, turn *service.Turn, survivor *service.Service) {
	t.Helper()
	kept := newMemory(t)
	grave := &mortal{Store: kept}
	called := make(chan struct{})
	tool = &effects{class: class, call: func(ctx context.Context, n int) (tools.Result, error) {
		if n == 1 {
			grave.dead.Store(true)
			close(called)
			<-ctx.Done()
			return tools.Result{}, ctx.Err()
		}
		return tools.TextResult("done"), nil
	}}
	exec := turntest.Scripts(map[string][]turntest.Answer{"clerk": {turntest.Calls("c", "effect", "{}"), {Text: "finished"}, {Text: "finished"}}})
	rt := turntest.Build(t, turntest.WithAgents(exec, spec.Agent{ID: "clerk"}).WithTool("effect", tool))
	victim := serve(t, rt, on(grave))
	made := create(t, victim, says(session(t, victim, "clerk"), "x"))
	<-called
	go victim.Close()
	survivor = serve(t, rt, append(settings, on(kept))...)
	return tool, made, survivor
}

func TestWhatATakeOverDoesWithACallOfEachClass(t *testing.T) {
	for _, c := range []struct {
		class   tools.Effect
		calls   int
		outcome event.CallOutcome
	}{
		{tools.Idempotent, 2, event.CallSucceeded},
		{tools.Once, 1, event.CallIndeterminate},
	} {
		t.Run(string(c.class), func(t *testing.T) {
			tool, made, s := orphaned(t, c.class)
			turn := ended(t, s, made.ID)
			if turn.Status != store.Succeeded || turn.Outcome.Response != "finished" {
				t.Fatalf("the turn is %s: %+v", turn.Status, turn.Outcome)
			}
			if keys, calls := tool.counts(); keys != 1 || calls != c.calls {
				t.Errorf("it was called %d times under %d keys", calls, keys)
			}
			if how, text := callOutcome(t, log(t, s, turn.ID), "c"); how != c.outcome {
				t.Errorf("the call %s: %s", how, text)
			}
		})
	}
}

func TestAPersonSaysWhatBecameOfACallThatMustNotBeRepeated(t *testing.T) {
	tool, made, s := orphaned(t, tools.Once, func(v *service.Settings) { v.Indeterminate = backend.IndeterminateAsk })
	turn := until(t, s, made.ID, store.Waiting)
	open, err := s.ListInteractions(t.Context(), alice, store.InteractionQuery{TurnID: turn.ID})
	if err != nil || len(open) != 1 {
		t.Fatalf("the interactions are %+v, %v", open, err)
	}
	answer := turntest.Yes(open[0].ID)
	answer.Result = json.RawMessage(`"it was paid"`)
	if _, err := s.AnswerInteraction(t.Context(), alice, turn.ID, answer); err != nil {
		t.Fatal(err)
	}
	if turn := ended(t, s, turn.ID); turn.Status != store.Succeeded {
		t.Errorf("the turn is %s: %+v", turn.Status, turn.Outcome)
	}
	if how, text := callOutcome(t, log(t, s, turn.ID), "c"); how != event.CallSucceeded || !strings.Contains(text, "it was paid") {
		t.Errorf("the call %s: %s", how, text)
	}
	if _, calls := tool.counts(); calls != 1 {
		t.Errorf("it was called %d times", calls)
	}
}

func TestATurnThatKillsItsWorkersIsPoison(t *testing.T) {
	kept := newMemory(t)
	exec := turntest.Scripts(map[string][]turntest.Answer{"clerk": {{Text: "never"}}})
	rt := turntest.Build(t, turntest.WithAgents(exec, spec.Agent{ID: "clerk"}))
	s := idle(t, rt, on(kept))
	made := create(t, s, says(session(t, s, "clerk"), "x"))
	for range service.DefaultStrikes {
		if _, err := kept.Claim(t.Context(), &store.Claim{TurnID: made.ID, Worker: "victim", Lease: time.Hour, Now: time.Now()}); err != nil {
			t.Fatal(err)
		}
		if n, err := kept.Recover(t.Context(), time.Now()); err != nil || n != 1 {
			t.Fatalf("%d turns are recovered, %v", n, err)
		}
	}
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	turn := ended(t, s, made.ID)
	if turn.Status != store.Failed || turn.Outcome.Termination.Code != service.CodePoison {
		t.Errorf("the turn is %s: %+v", turn.Status, turn.Outcome)
	}
	log(t, s, turn.ID)
}

// tellingDrain is a dispatcher that tells when it is drained.
type tellingDrain struct {
	dispatch.Dispatcher
	told chan struct{}
}

func (d tellingDrain) Drain(ctx context.Context) error {
	close(d.told)
	return d.Dispatcher.Drain(ctx)
}

func TestAStepUnderWayEndsBeforeATurnIsHandedOn(t *testing.T) {
	kept := newMemory(t)
	begun, release := make(chan struct{}), make(chan struct{})
	tool := &effects{class: tools.Once, call: func(context.Context, int) (tools.Result, error) {
		close(begun)
		<-release
		return tools.TextResult("done"), nil
	}}
	exec := turntest.Scripts(map[string][]turntest.Answer{"clerk": {turntest.Calls("c", "effect", "{}"), {Text: "finished"}}})
	rt := turntest.Build(t, turntest.WithAgents(exec, spec.Agent{ID: "clerk"}).WithTool("effect", tool))
	draining := make(chan struct{})
	first := serve(t, rt, on(kept), func(v *service.Settings) { v.Dispatcher = tellingDrain{v.Dispatcher, draining} })
	made := create(t, first, says(session(t, first, "clerk"), "x"))
	<-begun
	drained := make(chan error, 1)
	go func() { drained <- first.Drain(t.Context()) }()
	<-draining
	close(release)
	if err := <-drained; err != nil {
		t.Fatal(err)
	}
	if turn := until(t, first, made.ID, store.Pending); turn.Steps != 1 || turn.Strikes != 0 {
		t.Errorf("the turn is handed on as %+v", turn.Turn)
	}
	first.Close()
	second := serve(t, rt, on(kept))
	if turn := ended(t, second, made.ID); turn.Status != store.Succeeded || turn.Outcome.Steps != 2 {
		t.Errorf("the turn is %s: %+v", turn.Status, turn.Outcome)
	}
	if _, calls := tool.counts(); calls != 1 {
		t.Errorf("the tool was called %d times", calls)
	}
	log(t, second, made.ID)
}

func TestAGraceTimeThatIsOverCutsAStepShort(t *testing.T) {
	kept := newMemory(t)
	rt, begun := stuck(t)
	first := serve(t, rt, on(kept))
	made := create(t, first, says(session(t, first, "worker"), "x"))
	<-begun
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := first.Drain(ctx); err == nil {
		t.Error("nothing is left, it says")
	}
	first.Close()
	if turn := until(t, first, made.ID, store.Pending); turn.Worker != "" {
		t.Errorf("it still belongs to %s", turn.Worker)
	}
}

// A worker that is cut short ends all calls of its step for itself. Those that it
// never made, and those that failed because it was, have no outcome for anybody else.
func TestCallsHaveOneOutcomeWhenAStepIsCutShort(t *testing.T) {
	for _, mode := range []spec.ToolExecution{spec.Sequential, spec.Parallel} {
		t.Run(string(mode), func(t *testing.T) {
			kept := newMemory(t)
			begun := make(chan struct{}, 9)
			var cut atomic.Bool
			tool := &effects{class: tools.Idempotent, call: func(ctx context.Context, _ int) (tools.Result, error) {
				begun <- struct{}{}
				if cut.Load() {
					return tools.TextResult("done"), nil
				}
				<-ctx.Done()
				return tools.Result{}, ctx.Err()
			}}
			two := turntest.Answer{Calls: []model.ToolCall{
				{ID: "a", Name: "effect", Arguments: json.RawMessage("{}")}, {ID: "b", Name: "effect", Arguments: json.RawMessage("{}")},
			}}
			exec := turntest.Scripts(map[string][]turntest.Answer{"clerk": {two, {Text: "finished"}}})
			rt := turntest.Build(t, turntest.WithAgents(exec, spec.Agent{ID: "clerk", ToolExecution: mode}).WithTool("effect", tool))
			first := serve(t, rt, on(kept))
			made := create(t, first, says(session(t, first, "clerk"), "x"))
			<-begun
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			_ = first.Drain(ctx) // it fails, since something is left
			first.Close()
			cut.Store(true)
			second := serve(t, rt, on(kept))
			ended(t, second, made.ID)
			for _, r := range log(t, second, made.ID) {
				var d event.ToolCallDone
				if r.Type != event.TypeToolCallDone {
					continue
				}
				if err := json.Unmarshal(r.Data, &d); err != nil {
					t.Fatal(err)
				}
				if d.Outcome != event.CallSucceeded {
					t.Errorf("call %s %s: %s", d.ID, d.Outcome, d.Result.Text())
				}
				if strings.Contains(d.Result.Text(), "interrupted") {
					t.Errorf("call %s was not made, and %s", d.ID, d.Outcome)
				}
			}
		})
	}
}

// Whether a call took effect that failed when its worker stopped, nobody knows. It is
// not repeated.
func TestACallThatIsCutShortIsInDoubt(t *testing.T) {
	kept := newMemory(t)
	begun := make(chan struct{}, 2)
	tool := &effects{class: tools.Once, call: func(ctx context.Context, _ int) (tools.Result, error) {
		begun <- struct{}{}
		<-ctx.Done()
		return tools.Result{}, ctx.Err()
	}}
	exec := turntest.Scripts(map[string][]turntest.Answer{"clerk": {turntest.Calls("c", "effect", "{}"), {Text: "finished"}}})
	rt := turntest.Build(t, turntest.WithAgents(exec, spec.Agent{ID: "clerk"}).WithTool("effect", tool))
	first := serve(t, rt, on(kept))
	made := create(t, first, says(session(t, first, "clerk"), "x"))
	<-begun
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_ = first.Drain(ctx) // it fails, since something is left
	first.Close()
	second := serve(t, rt, on(kept))
	turn := ended(t, second, made.ID)
	if how, text := callOutcome(t, log(t, second, turn.ID), "c"); how != event.CallIndeterminate {
		t.Errorf("the call %s: %s", how, text)
	}
	if _, calls := tool.counts(); calls != 1 {
		t.Errorf("the tool was called %d times", calls)
	}
}

func TestAWorkerThatWakesUpLateChangesNothing(t *testing.T) {
	kept := newMemory(t)
	begun, release := make(chan struct{}, 2), make(chan struct{})
	tool := &effects{class: tools.Idempotent, call: func(_ context.Context, n int) (tools.Result, error) {
		begun <- struct{}{}
		if n == 1 {
			<-release
			return tools.TextResult("late"), nil
		}
		return tools.TextResult("in time"), nil
	}}
	exec := turntest.Scripts(map[string][]turntest.Answer{"clerk": {turntest.Calls("c", "effect", "{}"), {Text: "finished"}, {Text: "late"}}})
	rt := turntest.Build(t, turntest.WithAgents(exec, spec.Agent{ID: "clerk"}).WithTool("effect", tool))
	frozen := serve(t, rt, on(kept))
	made := create(t, frozen, says(session(t, frozen, "clerk"), "x"))
	<-begun
	second := serve(t, rt, on(kept), func(v *service.Settings) { v.Dispatcher = local.New(local.Settings{}) })
	turn := ended(t, second, made.ID)
	close(release)
	if how, text := callOutcome(t, log(t, second, turn.ID), "c"); how != event.CallSucceeded || text != "in time" {
		t.Errorf("the call %s: %s", how, text)
	}
	frozen.Close()
	if again := ended(t, second, made.ID); string(again.Result) != string(turn.Result) || again.Fence != turn.Fence {
		t.Errorf("the turn became %+v", again)
	}
}

func TestTurnsWithOneDeathLeftAreWorkedOnOneAtATime(t *testing.T) {
	kept := newMemory(t)
	begun, release := make(chan string, 9), make(chan struct{})
	exec := &turntest.Answerer{Answer: func(_ context.Context, upstream string, _ int) turntest.Answer {
		begun <- upstream
		<-release
		return turntest.Answer{Text: "not guilty"}
	}}
	rt := turntest.Build(t, turntest.WithAgents(exec, spec.Agent{ID: "one"}, spec.Agent{ID: "two"}))
	s := idle(t, rt, on(kept))
	var made []string
	for _, agent := range []string{"one", "two"} {
		made = append(made, create(t, s, says(session(t, s, agent), "x")).ID)
	}
	for range service.DefaultStrikes - 1 {
		for _, id := range made {
			if _, err := kept.Claim(t.Context(), &store.Claim{TurnID: id, Worker: "victim", Lease: time.Hour, Now: time.Now()}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := kept.Recover(t.Context(), time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	first := <-begun
	eventually(t, func() string { // the other one was claimed, and handed back
		for _, id := range made {
			if turn, err := kept.Turn(t.Context(), store.Everything, id); err == nil && turn.Status == store.Pending && turn.Fence >= service.DefaultStrikes && turn.Strikes == service.DefaultStrikes-1 {
				return ""
			}
		}
		return "both turns are worked on"
	})
	close(release)
	if second := <-begun; second == first {
		t.Errorf("%s is asked twice", first)
	}
	for _, id := range made {
		if turn := ended(t, s, id); turn.Status != store.Succeeded {
			t.Errorf("the turn is %s: %+v", turn.Status, turn.Outcome)
		}
	}
}

// The crash of a worker is recorded before the next attempt, and the last attempt has its
// process for itself, whichever turn is claimed first.
func TestTheLastAttemptOfASuspectTurnRunsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept := newMemory(t)
		var running atomic.Int32
		var suspected, shared atomic.Bool
		release := make(chan struct{})
		exec := &turntest.Answerer{Answer: func(_ context.Context, upstream string, _ int) turntest.Answer {
			others := running.Add(1) - 1
			defer running.Add(-1)
			if upstream == "suspect" {
				suspected.Store(true)
				defer suspected.Store(false)
			}
			if suspected.Load() && others > 0 {
				shared.Store(true)
			}
			<-release
			return turntest.Answer{Text: "not guilty"}
		}}
		rt := turntest.Build(t, turntest.WithAgents(exec, spec.Agent{ID: "suspect"}, spec.Agent{ID: "other"}))
		s := idle(t, rt, on(kept))
		var made []string
		for _, agent := range []string{"other", "other", "suspect", "other"} {
			made = append(made, create(t, s, says(session(t, s, agent), "x")).ID)
		}
		const suspect = 2
		for n := range service.DefaultStrikes - 1 {
			if _, err := kept.Claim(t.Context(), &store.Claim{TurnID: made[suspect], Worker: "victim", Lease: time.Hour, Now: time.Now()}); err != nil {
				t.Fatal(err)
			}
			if _, err := kept.Recover(t.Context(), time.Now()); err != nil {
				t.Fatal(err)
			}
			if turn, err := kept.Turn(t.Context(), store.Everything, made[suspect]); err != nil || turn.Strikes != n+1 || turn.Status != store.Pending {
				t.Fatalf("after crash %d the turn is %+v, %v", n+1, turn, err)
			}
		}
		if err := s.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		for range made {
			release <- struct{}{}
			synctest.Wait()
		}
		for _, id := range made {
			if turn := ended(t, s, id); turn.Status != store.Succeeded {
				t.Errorf("the turn is %s: %+v", turn.Status, turn.Outcome)
			}
		}
		if shared.Load() {
			t.Error("the suspect turn ran beside others")
		}
	})
}

// crashTurns has a worker die during turns, which adds a strike to each.
func crashTurns(t *testing.T, kept store.Store, turns ...string) {
	t.Helper()
	for _, id := range turns {
		if _, err := kept.Claim(t.Context(), &store.Claim{TurnID: id, Worker: "victim", Lease: time.Hour, Now: time.Now()}); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := kept.Recover(t.Context(), time.Now()); err != nil || n != len(turns) {
		t.Fatalf("%d turns are recovered, %v", n, err)
	}
}

// Turns of a process that died do not wait for each other, and none of them runs beside a
// turn that was not there, whichever is claimed first.
func TestSuspectTurnsRunBesideEachOtherOnly(t *testing.T) {
	for _, agents := range [][]string{
		{"suspect", "suspect", "suspect", "other", "other"},
		{"other", "other", "suspect", "suspect", "suspect"},
		{"suspect", "other", "suspect", "other", "suspect"},
	} {
		t.Run(strings.Join(agents, " "), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				kept := newMemory(t)
				running := map[string]*atomic.Int32{"suspect": {}, "other": {}}
				var most atomic.Int32
				var mixed atomic.Bool
				release := make(chan struct{})
				exec := &turntest.Answerer{Answer: func(_ context.Context, upstream string, _ int) turntest.Answer {
					n := running[upstream].Add(1)
					defer running[upstream].Add(-1)
					if upstream == "suspect" {
						most.Store(max(n, most.Load()))
					}
					if running["suspect"].Load() > 0 && running["other"].Load() > 0 {
						mixed.Store(true)
					}
					<-release
					return turntest.Answer{Text: "not guilty"}
				}}
				rt := turntest.Build(t, turntest.WithAgents(exec, spec.Agent{ID: "suspect"}, spec.Agent{ID: "other"}))
				s := idle(t, rt, on(kept))
				var made, suspects []string
				for _, agent := range agents {
					id := create(t, s, says(session(t, s, agent), "x")).ID
					if made = append(made, id); agent == "suspect" {
						suspects = append(suspects, id)
					}
				}
				crashTurns(t, kept, suspects...)
				if err := s.Start(t.Context()); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				for range made {
					release <- struct{}{}
					synctest.Wait()
				}
				for _, id := range made {
					if turn := ended(t, s, id); turn.Status != store.Succeeded {
						t.Errorf("the turn is %s: %+v", turn.Status, turn.Outcome)
					}
				}
				if mixed.Load() || int(most.Load()) != len(suspects) {
					t.Errorf("%d suspect turns ran at the same time; beside others: %t", most.Load(), mixed.Load())
				}
			})
		})
	}
}

// Neither a suspect turn that makes no progress, nor another one that does not end, delays
// turns for long.
func TestSuspectTurnsAndOthersWaitForEachOtherForALimitedTime(t *testing.T) {
	for first, limit := range map[string]time.Duration{"suspect": 10 * time.Second, "other": 2 * time.Second} {
		t.Run(first, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				kept := newMemory(t)
				begun, release := make(chan string, 2), make(chan struct{})
				exec := &turntest.Answerer{Answer: func(_ context.Context, upstream string, _ int) turntest.Answer {
					begun <- upstream
					<-release
					return turntest.Answer{Text: "not guilty"}
				}}
				rt := turntest.Build(t, turntest.WithAgents(exec, spec.Agent{ID: "suspect"}, spec.Agent{ID: "other"}))
				s := serve(t, rt, on(kept))
				due := says(session(t, s, "suspect"), "x")
				due.NotBefore = time.Now().Add(time.Second)
				made := []string{create(t, s, due).ID}
				if first == "other" {
					made = append(made, create(t, s, says(session(t, s, "other"), "x")).ID)
				}
				if _, err := kept.Claim(t.Context(), &store.Claim{TurnID: made[0], Worker: "victim", Lease: 2 * time.Second, Now: due.NotBefore}); err != nil {
					t.Fatal(err)
				}
				eventually(t, func() string {
					if turn, err := kept.Turn(t.Context(), store.Everything, made[0]); err != nil || turn.Strikes == 0 {
						return "the turn is not suspect"
					}
					return ""
				})
				reaped := time.Now()
				order := []string{<-begun}
				if first == "suspect" {
					made = append(made, create(t, s, says(session(t, s, "other"), "x")).ID)
				}
				order = append(order, <-begun)
				if waited := time.Since(reaped).Round(time.Second); order[0] != first || waited != limit {
					t.Errorf("turns began as %v, the second one after %s", order, waited)
				}
				close(release)
				for _, id := range made {
					if turn := ended(t, s, id); turn.Status != store.Succeeded {
						t.Errorf("the turn is %s: %+v", turn.Status, turn.Outcome)
					}
				}
			})
		})
	}
}
