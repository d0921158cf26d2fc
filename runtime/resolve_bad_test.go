package runtime_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	stdruntime "runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

// begun starts a turn of the agent clerk and returns it with its log, to be
// looked at when the turn is over, and the ids of its tickets as they come.
func begun(ctx context.Context, t *testing.T, rt *runtime.AgentRuntime) (turn *runtime.Turn, log *events, asked chan string) {
	t.Helper()
	log, asked = new(events), make(chan string, 64)
	turn, err := rt.Start(ctx, runtime.Prompt("clerk", "go"), onTicket(log, func(id string) { asked <- id }))
	if err != nil {
		t.Fatal(err)
	}
	return turn, log, asked
}

// open lists what a turn waits for.
func open(turn *runtime.Turn) []string {
	var ids []string
	for _, ticket := range turn.Tickets() {
		ids = append(ids, ticket.ID)
	}
	return ids
}

func TestAnswersThatAreNoneChangeNothing(t *testing.T) {
	deep := strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001)
	turn, log, asked := begun(t.Context(), t, asking(t))
	first, second := <-asked, <-asked
	for _, tt := range []struct {
		name    string
		answer  plugins.Resolution
		unknown bool
	}{
		{"no target", plugins.Resolution{Action: plugins.ActionResume}, true},
		{"a foreign call", yes("somebody else's"), true},
		{"the turn itself", yes(turn.ID()), true},
		{"a long target", yes(strings.Repeat("x", 1<<20)), true},
		{"no action", plugins.Resolution{Target: first, Result: json.RawMessage(`true`)}, false},
		{"another action", plugins.Resolution{Target: first, Action: "perhaps"}, false},
		{"no result", plugins.Resolution{Target: first, Action: plugins.ActionResume}, false},
		{"a result of another type", plugins.Resolution{Target: first, Action: plugins.ActionResume, Result: json.RawMessage(`"true"`)}, false},
		{"null", plugins.Resolution{Target: first, Action: plugins.ActionResume, Result: json.RawMessage(`null`)}, false},
		{"half a result", plugins.Resolution{Target: first, Action: plugins.ActionResume, Result: json.RawMessage(`{"a":`)}, false},
		{"a huge result", plugins.Resolution{Target: first, Action: plugins.ActionResume, Result: json.RawMessage(`"` + strings.Repeat("x", 8<<20) + `"`)}, false},
		{"a deep result", plugins.Resolution{Target: first, Action: plugins.ActionResume, Result: json.RawMessage(deep)}, false},
		{"arguments that are no object", plugins.Resolution{Target: first, Action: plugins.ActionResume, Result: json.RawMessage(`true`), Arguments: json.RawMessage(`[]`)}, false},
		{"half the arguments", plugins.Resolution{Target: first, Action: plugins.ActionResume, Result: json.RawMessage(`true`), Arguments: json.RawMessage(`{"a":`)}, false},
	} {
		err := turn.Resolve(tt.answer)
		_, unknown := errors.AsType[*backend.UnknownTicketError](err)
		_, bad := errors.AsType[*backend.ResolutionError](err)
		if unknown != tt.unknown || bad == tt.unknown {
			t.Errorf("%s: %.200v", tt.name, err)
		}
		if got := open(turn); !slices.Equal(got, []string{first, second}) {
			t.Errorf("%s: the turn waits for %q", tt.name, got)
		}
	}
	refuse := plugins.Resolution{Target: first, Action: plugins.ActionCancel, Reason: "no"}
	if err := errors.Join(turn.Resolve(refuse), turn.Resolve(refuse), turn.Resolve(yes(second))); err != nil {
		t.Error(err)
	}
	conflict, ok := errors.AsType[*backend.ResolutionError](turn.Resolve(yes(first)))
	if !ok || !conflict.Conflict {
		t.Errorf("another answer to the same: %v", conflict)
	}
	got, err := turn.Wait(t.Context())
	if err != nil || got.Response != "all done" {
		t.Errorf("it came to %q, %v", got.Response, err)
	}
	checkLog(t, log.list)
	checkMessages(t, got.Messages)
}

func TestNothingCanBeAnsweredWhenTheTurnIsOver(t *testing.T) {
	turn, _, asked := begun(t.Context(), t, asking(t))
	first, second := <-asked, <-asked
	if err := turn.Resolve(yes(first)); err != nil {
		t.Error(err)
	}
	turn.Cancel(nil)
	if _, err := turn.Wait(t.Context()); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if got := open(turn); len(got) != 0 {
		t.Errorf("a turn that is over waits for %q", got)
	}
	if _, ok := errors.AsType[*backend.UnknownTicketError](turn.Resolve(yes(second))); !ok {
		t.Error("an answer is taken that nobody reads")
	}
	if err := turn.Resolve(yes(first)); err != nil {
		t.Errorf("the same answer again: %v", err)
	}
}

// survey asks three questions and goes on with each answer that comes.
var survey = toolFunc(func(_ context.Context, c *tools.Call) (tools.Result, error) {
	known := map[string]string{}
	if c.Resumed != nil {
		if err := json.Unmarshal(c.Resumed.State, &known); err != nil {
			return tools.Result{}, err
		}
		for _, a := range c.Resumed.Answers {
			if _, twice := known[a.ID]; twice {
				return tools.Result{}, fmt.Errorf("question %s was answered twice", a.ID)
			}
			known[a.ID] = string(a.Result)
		}
	}
	state, err := json.Marshal(known)
	if err != nil {
		return tools.Result{}, err
	}
	wait := &tools.Wait{State: state}
	for _, id := range []string{"q1", "q2", "q3"} {
		if _, ok := known[id]; !ok {
			wait.Questions = append(wait.Questions, tools.Question{ID: id})
		}
	}
	if len(wait.Questions) > 0 {
		return tools.Result{Wait: wait}, nil
	}
	return tools.Result{Data: state}, nil
})

func TestACallThatAsksAgainIsAnsweredOncePerQuestion(t *testing.T) {
	exec := scripts(map[string][]answer{"clerk": {calls("s", "survey", "{}"), {text: "done"}}})
	rt := build(t, withAgents(exec, spec.Agent{ID: "clerk"}).WithTool("survey", survey))
	turn, log, asked := begun(t.Context(), t, rt)
	for range 3 {
		<-asked
	}
	for i, id := range []string{"q2", "q3", "q1"} {
		answer := plugins.Resolution{Target: id, Action: plugins.ActionResume, Result: json.RawMessage(fmt.Sprint(i))}
		if err := turn.Resolve(answer); err != nil {
			t.Fatal(err)
		}
		if slices.Contains(open(turn), id) {
			t.Errorf("the turn still waits for %s", id)
		}
		for range 2 - i { // it asks again for the others
			<-asked
		}
		other := answer
		other.Result = json.RawMessage(`"other"`)
		if bad, ok := errors.AsType[*backend.ResolutionError](turn.Resolve(other)); !ok || !bad.Conflict {
			t.Errorf("a second answer to %s is taken", id)
		}
	}
	got, err := turn.Wait(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	checkMessages(t, got.Messages)
	if done := log.done(); !slices.Equal(done, []string{`s succeeded {"q1":"2","q2":"0","q3":"1"}`}) {
		t.Errorf("the calls came to %q", done)
	}
}

func TestAnswersFromEverywhereAtOnceAreTakenOnce(t *testing.T) {
	const calling = 8
	first := answer{}
	for i := range calling {
		first.calls = append(first.calls, calls(fmt.Sprint("c", i), "risky", "{}").calls...)
	}
	for _, mode := range []spec.ToolExecution{spec.Parallel, spec.Sequential} {
		for _, cancel := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/cancelled %v", mode, cancel), func(t *testing.T) {
				exec := scripts(map[string][]answer{"clerk": {first, {text: "done"}}})
				rt := build(t, withAgents(exec, spec.Agent{ID: "clerk", PluginIDs: []string{"cautious"}, ToolExecution: mode}).
					WithTool("risky", risky).WithPlugin("cautious", cautious))
				turn, log, asked := begun(t.Context(), t, rt)
				taken := make([]int, calling)
				var mu sync.Mutex
				var all sync.WaitGroup
				for range calling {
					select {
					case id := <-asked:
						for n := range 8 {
							all.Go(func() {
								answer := yes(id)
								answer.Reason = fmt.Sprint(n)
								if n == 7 {
									answer = plugins.Resolution{Target: id, Action: plugins.ActionCancel}
								}
								turn.Tickets()
								if turn.Resolve(answer) == nil {
									var call int
									_, _ = fmt.Sscanf(id, "may_c%d", &call)
									mu.Lock()
									taken[call]++
									mu.Unlock()
								}
							})
						}
						if cancel && id == "may_c4" {
							all.Go(func() { turn.Cancel(errors.New("enough")) })
						}
					case <-turn.Done():
					}
				}
				got, err := turn.Wait(t.Context())
				all.Wait()
				if cancel != (err != nil) {
					t.Errorf("it ended by %+v, %v", got.Termination, err)
				}
				for call, n := range taken {
					if n > 1 || n == 0 && !cancel {
						t.Errorf("%d answers to call %d are taken", n, call)
					}
				}
				checkLog(t, log.list)
				checkMessages(t, got.Messages)
			})
		}
	}
}

func TestATurnThatWaitsEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, end := range []struct {
			name   string
			limit  time.Duration
			status event.Status
		}{{"cancelled", 0, event.StatusCanceled}, {"deadline", time.Hour, event.StatusFailed}} {
			ctx, cancel := context.WithCancel(t.Context())
			if end.limit > 0 {
				ctx, cancel = context.WithTimeout(t.Context(), end.limit)
			}
			turn, log, asked := begun(ctx, t, asking(t))
			<-asked
			<-asked
			synctest.Wait()
			if end.limit == 0 {
				cancel()
			}
			got, err := turn.Wait(t.Context())
			if err == nil || got.Status != end.status || got.State != nil {
				t.Errorf("%s: it ended by %+v, %v", end.name, got.Termination, err)
			}
			checkLog(t, log.list)
			checkMessages(t, got.Messages)
			cancel()
		}
	})
}

// A call in a sequence may have its answer before it has its turn.
func TestAnAnswerAheadOfItsTurnIsKept(t *testing.T) {
	agent := spec.Agent{ID: "clerk", PluginIDs: []string{"cautious"}}
	first := answer{calls: slices.Concat(calls("a", "risky", "{}").calls, calls("b", "risky", "{}").calls)}
	mode := func(m spec.ToolExecution) *runtime.AgentRuntime {
		agent.ToolExecution = m
		exec := scripts(map[string][]answer{"clerk": {{text: "done"}}})
		if m == spec.Parallel {
			exec = scripts(map[string][]answer{"clerk": {first}})
		}
		return build(t, withAgents(exec, agent).WithTool("risky", risky).WithPlugin("cautious", cautious))
	}
	got, err := mode(spec.Parallel).Run(t.Context(), runtime.Prompt("clerk", "go"), nil)
	if err != nil || len(got.Tickets) != 2 {
		t.Fatalf("%d tickets, %v", len(got.Tickets), err)
	}
	// Meanwhile the agent was changed: it now makes one call after the other.
	rt := mode(spec.Sequential)
	req := runtime.Prompt("clerk", "go")
	req.TurnID, req.State = got.TurnID, kept(t, got.State)
	req.Resolutions = []plugins.Resolution{yes("may_b")}
	second, err := rt.Run(t.Context(), req, nil)
	if err != nil || second.State == nil {
		t.Fatalf("it ended by %+v, %v", second.Termination, err)
	}
	if open := kept(t, second.State).Tickets(); len(open) != 1 || open[0].ID != "may_a" {
		t.Errorf("it waits for %d answers", len(open))
	}
	req.State, req.Resolutions = kept(t, second.State), []plugins.Resolution{yes("may_a")}
	turn, err := rt.Start(t.Context(), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	last, err := turn.Wait(t.Context())
	if err != nil || last.Response != "done" {
		t.Errorf("it came to %q, %v", last.Response, err)
	}
	checkMessages(t, last.Messages)
}

func TestASinkThatEndsItsGoroutineDoesNotHideTheEnd(t *testing.T) {
	for _, at := range []event.Type{event.TypeRunStart, event.TypeTextDelta, event.TypeRunFinish} {
		rt := build(t, withAgents(scripts(map[string][]answer{"clerk": {{text: "done"}}}), spec.Agent{ID: "clerk"}))
		turn, err := rt.Start(t.Context(), runtime.Prompt("clerk", "go"), event.SinkFunc(func(ev event.Event) {
			if ev.Data.Type() == at {
				stdruntime.Goexit()
			}
		}))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := turn.Wait(t.Context()); err == nil {
			t.Errorf("%s: the turn ended without an error", at)
		}
	}
}

func TestADelegateThatWaitedIsPaidForOnce(t *testing.T) {
	exec := scripts(map[string][]answer{
		"boss":  {calls("d", "agent_run_clerk", `{"prompt":"do it"}`), {text: "it is done"}},
		"clerk": {calls("r", "risky", `{}`), {text: "did it"}},
	})
	b := builder.New().WithProvider("fake", exec).WithTool("risky", risky).WithPlugin("cautious", cautious)
	price := &spec.Pricing{InputPerMillion: 1e5, OutputPerMillion: 1e6}
	for _, id := range []string{"boss", "clerk"} {
		b.WithModel(spec.Model{ID: id, ProviderID: "fake", UpstreamModel: id, Pricing: price})
	}
	b.WithAgentSpec(spec.Agent{ID: "boss", ModelID: "boss", Delegates: []string{"clerk"}}).
		WithAgentSpec(spec.Agent{ID: "clerk", ModelID: "clerk", PluginIDs: []string{"cautious"}})
	rt := build(t, b)
	req := runtime.Prompt("boss", "go")
	got, err := rt.Run(t.Context(), req, nil)
	if err != nil || len(got.Tickets) != 1 {
		t.Fatalf("%d tickets, %v", len(got.Tickets), err)
	}
	req.TurnID, req.State, req.Resolutions = got.TurnID, kept(t, got.State), []plugins.Resolution{yes("d")}
	got, err = rt.Run(t.Context(), req, nil)
	if err != nil || got.Usage.Total() != 44 || got.Cost == nil || math.Abs(got.Cost.Amount-8) > 1e-9 {
		t.Errorf("four model calls used %+v and cost %+v, %v", got.Usage, got.Cost, err)
	}
}
