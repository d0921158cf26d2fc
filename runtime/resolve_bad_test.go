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

	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/internal/testkit/turntest"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

// begun starts a turn of the agent clerk and returns it with its log, to be
// looked at when the turn is over, and the ids of its interactions as they come.
func begun(ctx context.Context, t *testing.T, rt *runtime.AgentRuntime) (turn *runtime.Turn, log *turntest.Events, asked chan string) {
	t.Helper()
	log, asked = new(turntest.Events), make(chan string, 64)
	turn, err := rt.Start(ctx, runtime.Prompt("clerk", "go"), onInteraction(log, func(id string) { asked <- id }))
	if err != nil {
		t.Fatal(err)
	}
	return turn, log, asked
}

// open lists what a turn waits for.
func open(turn *runtime.Turn) []string {
	var ids []string
	for _, request := range turn.Interactions() {
		ids = append(ids, request.ID)
	}
	return ids
}

func TestAnswersThatAreNoneChangeNothing(t *testing.T) {
	deep := strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001)
	turn, log, asked := begun(t.Context(), t, turntest.Asking(t))
	first, second := <-asked, <-asked
	for _, tt := range []struct {
		name    string
		answer  interaction.Answer
		unknown bool
	}{
		{"no target", interaction.Answer{Action: interaction.Resume}, true},
		{"a foreign call", turntest.Yes("somebody else's"), true},
		{"the turn itself", turntest.Yes(turn.ID()), true},
		{"a long target", turntest.Yes(strings.Repeat("x", 1<<20)), true},
		{"no action", interaction.Answer{Target: first, Result: json.RawMessage(`true`)}, false},
		{"another action", interaction.Answer{Target: first, Action: "perhaps"}, false},
		{"no result", interaction.Answer{Target: first, Action: interaction.Resume}, false},
		{"a result of another type", interaction.Answer{Target: first, Action: interaction.Resume, Result: json.RawMessage(`"true"`)}, false},
		{"null", interaction.Answer{Target: first, Action: interaction.Resume, Result: json.RawMessage(`null`)}, false},
		{"half a result", interaction.Answer{Target: first, Action: interaction.Resume, Result: json.RawMessage(`{"a":`)}, false},
		{"a huge result", interaction.Answer{Target: first, Action: interaction.Resume, Result: json.RawMessage(`"` + strings.Repeat("x", 8<<20) + `"`)}, false},
		{"a deep result", interaction.Answer{Target: first, Action: interaction.Resume, Result: json.RawMessage(deep)}, false},
		{"arguments that are no object", interaction.Answer{Target: first, Action: interaction.Resume, Result: json.RawMessage(`true`), Arguments: json.RawMessage(`[]`)}, false},
		{"half the arguments", interaction.Answer{Target: first, Action: interaction.Resume, Result: json.RawMessage(`true`), Arguments: json.RawMessage(`{"a":`)}, false},
	} {
		err := turn.Answer(tt.answer)
		_, unknown := errors.AsType[*interaction.UnknownError](err)
		_, bad := errors.AsType[*interaction.AnswerError](err)
		if unknown != tt.unknown || bad == tt.unknown {
			t.Errorf("%s: %.200v", tt.name, err)
		}
		if got := open(turn); !slices.Equal(got, []string{first, second}) {
			t.Errorf("%s: the turn waits for %q", tt.name, got)
		}
	}
	refuse := interaction.Answer{Target: first, Action: interaction.Cancel, Reason: "no"}
	if err := errors.Join(turn.Answer(refuse), turn.Answer(refuse), turn.Answer(turntest.Yes(second))); err != nil {
		t.Error(err)
	}
	conflict, ok := errors.AsType[*interaction.AnswerError](turn.Answer(turntest.Yes(first)))
	if !ok || !conflict.Conflict {
		t.Errorf("another answer to the same: %v", conflict)
	}
	got, err := turn.Wait(t.Context())
	if err != nil || got.Response != "all done" {
		t.Errorf("it came to %q, %v", got.Response, err)
	}
	turntest.CheckLog(t, log.List)
	turntest.CheckMessages(t, got.Messages)
}

func TestNothingCanBeAnsweredWhenTheTurnIsOver(t *testing.T) {
	turn, _, asked := begun(t.Context(), t, turntest.Asking(t))
	first, second := <-asked, <-asked
	if err := turn.Answer(turntest.Yes(first)); err != nil {
		t.Error(err)
	}
	turn.Cancel(nil)
	if _, err := turn.Wait(t.Context()); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if got := open(turn); len(got) != 0 {
		t.Errorf("a turn that is over waits for %q", got)
	}
	if _, ok := errors.AsType[*interaction.UnknownError](turn.Answer(turntest.Yes(second))); !ok {
		t.Error("an answer is taken that nobody reads")
	}
	if err := turn.Answer(turntest.Yes(first)); err != nil {
		t.Errorf("the same answer again: %v", err)
	}
}

// survey asks three questions and goes on with each answer that comes.
var survey = turntest.ToolFunc(func(_ context.Context, c *tools.Call) (tools.Result, error) {
	known := map[string]string{}
	if c.Resumed != nil {
		if err := json.Unmarshal(c.Resumed.State, &known); err != nil {
			return tools.Result{}, err
		}
		for _, a := range c.Resumed.Answers {
			if _, twice := known[a.Target]; twice {
				return tools.Result{}, fmt.Errorf("question %s was answered twice", a.Target)
			}
			known[a.Target] = string(a.Result)
		}
	}
	state, err := json.Marshal(known)
	if err != nil {
		return tools.Result{}, err
	}
	wait := &tools.Wait{State: state}
	for _, id := range []string{"q1", "q2", "q3"} {
		if _, ok := known[id]; !ok {
			wait.Questions = append(wait.Questions, interaction.Request{ID: id})
		}
	}
	if len(wait.Questions) > 0 {
		return tools.Result{Wait: wait}, nil
	}
	return tools.Result{Data: state}, nil
})

func TestACallThatAsksAgainIsAnsweredOncePerQuestion(t *testing.T) {
	exec := turntest.Scripts(map[string][]turntest.Answer{"clerk": {turntest.Calls("s", "survey", "{}"), {Text: "done"}}})
	rt := turntest.Build(t, turntest.WithAgents(exec, spec.Agent{ID: "clerk"}).WithTool("survey", survey))
	turn, log, asked := begun(t.Context(), t, rt)
	for range 3 {
		<-asked
	}
	for i, id := range []string{"q2", "q3", "q1"} {
		answer := interaction.Answer{Target: id, Action: interaction.Resume, Result: json.RawMessage(fmt.Sprint(i))}
		if err := turn.Answer(answer); err != nil {
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
		if bad, ok := errors.AsType[*interaction.AnswerError](turn.Answer(other)); !ok || !bad.Conflict {
			t.Errorf("a second answer to %s is taken", id)
		}
	}
	got, err := turn.Wait(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	turntest.CheckMessages(t, got.Messages)
	if done := log.Done(); !slices.Equal(done, []string{`s succeeded {"q1":"2","q2":"0","q3":"1"}`}) {
		t.Errorf("the calls came to %q", done)
	}
}

func TestAnswersFromEverywhereAtOnceAreTakenOnce(t *testing.T) {
	const calling = 8
	first := turntest.Answer{}
	for i := range calling {
		first.Calls = append(first.Calls, turntest.Calls(fmt.Sprint("c", i), "risky", "{}").Calls...)
	}
	for _, mode := range []spec.ToolExecution{spec.Parallel, spec.Sequential} {
		for _, cancel := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/cancelled %v", mode, cancel), func(t *testing.T) {
				exec := turntest.Scripts(map[string][]turntest.Answer{"clerk": {first, {Text: "done"}}})
				rt := turntest.Build(t, turntest.WithAgents(exec, spec.Agent{ID: "clerk", PluginIDs: []string{"cautious"}, ToolExecution: mode}).
					WithTool("risky", turntest.Risky).WithPlugin("cautious", turntest.Cautious))
				turn, log, asked := begun(t.Context(), t, rt)
				taken := make([]int, calling)
				var mu sync.Mutex
				var all sync.WaitGroup
				for range calling {
					select {
					case id := <-asked:
						for n := range 8 {
							all.Go(func() {
								answer := turntest.Yes(id)
								answer.Reason = fmt.Sprint(n)
								if n == 7 {
									answer = interaction.Answer{Target: id, Action: interaction.Cancel}
								}
								turn.Interactions()
								if turn.Answer(answer) == nil {
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
				turntest.CheckLog(t, log.List)
				turntest.CheckMessages(t, got.Messages)
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
			turn, log, asked := begun(ctx, t, turntest.Asking(t))
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
			turntest.CheckLog(t, log.List)
			turntest.CheckMessages(t, got.Messages)
			cancel()
		}
	})
}

// A call in a sequence may have its answer before it has its turn.
func TestAnAnswerAheadOfItsTurnIsKept(t *testing.T) {
	agent := spec.Agent{ID: "clerk", PluginIDs: []string{"cautious"}}
	first := turntest.Answer{Calls: slices.Concat(turntest.Calls("a", "risky", "{}").Calls, turntest.Calls("b", "risky", "{}").Calls)}
	mode := func(m spec.ToolExecution) *runtime.AgentRuntime {
		agent.ToolExecution = m
		exec := turntest.Scripts(map[string][]turntest.Answer{"clerk": {{Text: "done"}}})
		if m == spec.Parallel {
			exec = turntest.Scripts(map[string][]turntest.Answer{"clerk": {first}})
		}
		return turntest.Build(t, turntest.WithAgents(exec, agent).WithTool("risky", turntest.Risky).WithPlugin("cautious", turntest.Cautious))
	}
	got, err := mode(spec.Parallel).Run(t.Context(), runtime.Prompt("clerk", "go"), nil)
	if err != nil || len(got.Interactions) != 2 {
		t.Fatalf("%d interactions, %v", len(got.Interactions), err)
	}
	// Meanwhile the agent was changed: it now makes one call after the other.
	rt := mode(spec.Sequential)
	req := runtime.Prompt("clerk", "go")
	req.TurnID, req.State = got.TurnID, kept(t, got.State)
	req.Answers = []interaction.Answer{turntest.Yes("may_b")}
	second, err := rt.Run(t.Context(), req, nil)
	if err != nil || second.State == nil {
		t.Fatalf("it ended by %+v, %v", second.Termination, err)
	}
	if open := kept(t, second.State).Interactions(); len(open) != 1 || open[0].ID != "may_a" {
		t.Errorf("it waits for %d answers", len(open))
	}
	req.State, req.Answers = kept(t, second.State), []interaction.Answer{turntest.Yes("may_a")}
	turn, err := rt.Start(t.Context(), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	last, err := turn.Wait(t.Context())
	if err != nil || last.Response != "done" {
		t.Errorf("it came to %q, %v", last.Response, err)
	}
	turntest.CheckMessages(t, last.Messages)
}

func TestASinkThatEndsItsGoroutineDoesNotHideTheEnd(t *testing.T) {
	for _, at := range []event.Type{event.TypeRunStart, event.TypeTextDelta, event.TypeRunFinish} {
		rt := turntest.Build(t, turntest.WithAgents(turntest.Scripts(map[string][]turntest.Answer{"clerk": {{Text: "done"}}}), spec.Agent{ID: "clerk"}))
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
	exec := turntest.Scripts(map[string][]turntest.Answer{
		"boss":  {turntest.Calls("d", "agent_run_clerk", `{"prompt":"do it"}`), {Text: "it is done"}},
		"clerk": {turntest.Calls("r", "risky", `{}`), {Text: "did it"}},
	})
	b := builder.New().WithProvider("fake", exec).WithTool("risky", turntest.Risky).WithPlugin("cautious", turntest.Cautious)
	price := &spec.Pricing{InputPerMillion: 1e5, OutputPerMillion: 1e6}
	for _, id := range []string{"boss", "clerk"} {
		b.WithModel(spec.Model{ID: id, ProviderID: "fake", UpstreamModel: id, Pricing: price})
	}
	b.WithAgentSpec(spec.Agent{ID: "boss", ModelID: "boss", Delegates: []string{"clerk"}}).
		WithAgentSpec(spec.Agent{ID: "clerk", ModelID: "clerk", PluginIDs: []string{"cautious"}})
	rt := turntest.Build(t, b)
	req := runtime.Prompt("boss", "go")
	got, err := rt.Run(t.Context(), req, nil)
	if err != nil || len(got.Interactions) != 1 {
		t.Fatalf("%d interactions, %v", len(got.Interactions), err)
	}
	req.TurnID, req.State, req.Answers = got.TurnID, kept(t, got.State), []interaction.Answer{turntest.Yes("d")}
	got, err = rt.Run(t.Context(), req, nil)
	if err != nil || got.Usage.Total() != 44 || got.Cost == nil || math.Abs(got.Cost.Amount-8) > 1e-9 {
		t.Errorf("four model calls used %+v and cost %+v, %v", got.Usage, got.Cost, err)
	}
}
