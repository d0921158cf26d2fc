package runtime_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/internal/agenttool"
	"github.com/agentruntime/agentruntime/internal/testkit/turntest"
	"github.com/agentruntime/agentruntime/model/scripted"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

// onInteraction returns a sink that keeps events and tells of interactions.
func onInteraction(log *turntest.Events, tell func(id string)) event.Sink {
	return event.SinkFunc(func(ev event.Event) {
		log.Emit(ev)
		if q, ok := ev.Data.(*event.InteractionRequest); ok {
			tell(q.ID)
		}
	})
}

// TestEventsHaveTheTimeAtWhichTheyCame has a model that streams an answer slowly.
func TestEventsHaveTheTimeAtWhichTheyCame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		exec, err := scripted.New(scripted.Script{Replies: []scripted.Reply{
			{Text: "abc", Chunks: 3, Delay: time.Minute / 2, ChunkDelay: time.Second},
		}})
		if err != nil {
			t.Fatal(err)
		}
		rt := turntest.Build(t, turntest.WithAgents(exec, spec.Agent{ID: "clerk"}))
		var log turntest.Events
		begun := time.Now()
		if _, err := rt.Run(t.Context(), runtime.Prompt("clerk", "go"), &log); err != nil {
			t.Fatal(err)
		}
		var pieces []time.Duration
		for _, ev := range log.List {
			if _, ok := ev.Data.(*event.TextDelta); ok {
				pieces = append(pieces, ev.Time.Sub(begun))
			}
		}
		if want := []time.Duration{30 * time.Second, 31 * time.Second, 32 * time.Second}; !slices.Equal(pieces, want) {
			t.Errorf("the pieces came after %v, want %v", pieces, want)
		}
		if last := log.List[len(log.List)-1]; last.Time.Sub(begun) != 32*time.Second {
			t.Errorf("%s came after %v", last.Data.Type(), last.Time.Sub(begun))
		}
	})
}

func TestATurnGoesOnWhenItIsAnswered(t *testing.T) {
	rt := turntest.Asking(t)
	var log turntest.Events
	asked := make(chan string, 2)
	turn, err := rt.Start(t.Context(), runtime.Prompt("clerk", "go"), onInteraction(&log, func(id string) { asked <- id }))
	if err != nil {
		t.Fatal(err)
	}
	first, second := <-asked, <-asked
	if err := turn.Answer(turntest.Yes("nobody")); err == nil {
		t.Error("an answer to nothing is taken")
	}
	for _, r := range []interaction.Answer{turntest.Yes(first), turntest.Yes(first), turntest.Yes("a"), turntest.Yes(second)} {
		if err := turn.Answer(r); err != nil {
			t.Errorf("%s: %v", r.Target, err)
		}
	}
	got, err := turn.Wait(t.Context())
	if err != nil || got.Status != event.StatusSucceeded || got.Response != "all done" || got.Steps != 2 {
		t.Fatalf("the turn ended by %+v with %q, %v", got.Termination, got.Response, err)
	}
	if !slices.ContainsFunc(log.List, func(ev event.Event) bool { return ev.Data.Type() == event.TypeRunWaiting }) {
		t.Error("the log has no entry for the wait")
	}
	turntest.CheckLog(t, log.List)
	turntest.CheckMessages(t, got.Messages)
	if err := turn.Answer(turntest.Yes(first)); err != nil {
		t.Errorf("the same answer again, when the turn is over: %v", err)
	}
}

func TestAnAnswerThatDoesNotFitLeavesTheTurnWaiting(t *testing.T) {
	rt := turntest.Asking(t)
	var log turntest.Events
	asked := make(chan string, 2)
	turn, err := rt.Start(t.Context(), runtime.Prompt("clerk", "go"), onInteraction(&log, func(id string) { asked <- id }))
	if err != nil {
		t.Fatal(err)
	}
	first := <-asked
	wrong := turntest.Yes(first)
	wrong.Result = json.RawMessage(`"perhaps"`)
	if _, ok := errors.AsType[*interaction.AnswerError](turn.Answer(wrong)); !ok {
		t.Error("an answer of the wrong form is taken")
	}
	reason := errors.New("changed my mind")
	turn.Cancel(reason)
	got, err := turn.Wait(t.Context())
	if !errors.Is(err, context.Canceled) || !errors.Is(err, reason) || got.Status != event.StatusCanceled {
		t.Errorf("the turn ended by %+v, %v", got.Termination, err)
	}
	turntest.CheckLog(t, log.List)
	turntest.CheckMessages(t, got.Messages)
}

func TestASuspendedTurnGoesOnFromItsState(t *testing.T) {
	rt := turntest.Asking(t)
	first, err := rt.Run(t.Context(), runtime.Prompt("clerk", "go"), nil)
	if err != nil || len(first.Interactions) != 2 {
		t.Fatalf("%v, %d interactions", err, len(first.Interactions))
	}
	req := runtime.Prompt("clerk", "go")
	req.TurnID, req.State = first.TurnID, kept(t, first.State)
	req.Answers = []interaction.Answer{turntest.Yes("nobody")}
	if _, err := rt.Run(t.Context(), req, nil); err == nil {
		t.Error("an answer to nothing is taken")
	}
	req.Answers = []interaction.Answer{turntest.Yes("a"), turntest.Yes("b")}
	got, err := rt.Run(t.Context(), req, nil)
	if err != nil || got.Response != "all done" || got.TurnID != first.TurnID {
		t.Errorf("it came to %q, %v", got.Response, err)
	}
}

// kept returns a state as it comes back from where it was kept.
func kept(t fataler, s *backend.State) *backend.State {
	t.Helper()
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	back, err := backend.DecodeState(data)
	if err != nil {
		t.Fatal(err)
	}
	return back
}

func TestADelegateThatWaitsIsResumedWithItsAnswers(t *testing.T) {
	exec := turntest.Scripts(map[string][]turntest.Answer{
		"boss":  {turntest.Calls("d", "agent_run_clerk", `{"prompt":"do it"}`), {Text: "it is done"}},
		"clerk": {turntest.Calls("r", "risky", "{}"), {Text: "did it"}},
	})
	rt := turntest.Build(t, turntest.WithAgents(exec,
		spec.Agent{ID: "boss", Delegates: []string{"clerk"}, AllowedTools: spec.Names{"agent_run_clerk"}},
		spec.Agent{ID: "clerk", PluginIDs: []string{"cautious"}},
	).WithTool("risky", turntest.Risky).WithPlugin("cautious", turntest.Cautious))
	first, err := rt.Run(t.Context(), runtime.Prompt("boss", "go"), nil)
	if err != nil || len(first.Interactions) != 1 || first.Interactions[0].CallID != "d" || first.Interactions[0].Message != "may I?" {
		t.Fatalf("the interactions are %+v, %v", first.Interactions, err)
	}
	req := runtime.Prompt("boss", "go")
	req.TurnID, req.State, req.Answers = first.TurnID, kept(t, first.State), []interaction.Answer{turntest.Yes("d")}
	got, err := rt.Run(t.Context(), req, nil)
	if err != nil || got.Response != "it is done" {
		t.Fatalf("it came to %q, %v", got.Response, err)
	}
	result := got.Messages[1].Parts[0].ToolResult
	if text := result.Content[0].Text; text != "did it" {
		t.Errorf("the delegate answered %q", text)
	}
	if n := len(exec.Requests["clerk"]); n != 2 {
		t.Errorf("the delegate's model was asked %d times", n)
	}
}

func TestTheConversationChangesHands(t *testing.T) {
	exec := turntest.Scripts(map[string][]turntest.Answer{
		"front":   {turntest.Calls("h", "hand_off_to_billing", "{}")},
		"billing": {{Text: "I take care of it"}},
	})
	rt := turntest.Build(t, turntest.WithAgents(exec,
		spec.Agent{ID: "front", Handoffs: []string{"billing"}, SystemPrompt: "front desk"},
		spec.Agent{ID: "billing", SystemPrompt: "billing"},
	))
	var log turntest.Events
	got, err := rt.Run(t.Context(), runtime.Prompt("front", "my invoice"), &log)
	if err != nil || got.Agent != "billing" || got.Response != "I take care of it" {
		t.Fatalf("agent %s came to %q, %v", got.Agent, got.Response, err)
	}
	turntest.CheckLog(t, log.List)
	asked := exec.Requests["billing"][0]
	if asked.Messages[0].Text() != "billing" || asked.Messages[1].Text() != "my invoice" || len(asked.Messages) != 4 {
		t.Errorf("the second agent was asked %+v", asked.Messages)
	}
	at := slices.IndexFunc(log.List, func(ev event.Event) bool { return ev.Data.Type() == event.TypeHandoff })
	if at < 0 || *log.List[at].Data.(*event.Handoff) != (event.Handoff{From: "front", To: "billing", Count: 1}) {
		t.Error("no event tells of the handoff")
	}
}

func TestAgentsCannotHandEachOtherTheConversationForEver(t *testing.T) {
	pass := func(to string) []turntest.Answer {
		list := make([]turntest.Answer, 9)
		for i := range list {
			list[i] = turntest.Calls("", "hand_off_to_"+to, "{}")
		}
		return append(list, turntest.Answer{Text: "I give up"})
	}
	exec := turntest.Scripts(map[string][]turntest.Answer{"a": pass("b"), "b": pass("a")})
	rt := turntest.Build(t, turntest.WithAgents(exec,
		spec.Agent{ID: "a", Handoffs: []string{"b"}, MaxHandoffs: new(3), MaxRounds: new(6)},
		spec.Agent{ID: "b", Handoffs: []string{"a"}, MaxHandoffs: new(3), MaxRounds: new(6)},
	))
	var log turntest.Events
	got, err := rt.Run(t.Context(), runtime.Prompt("a", "go"), &log)
	if err != nil || got.Termination.Code != "max_rounds" {
		t.Errorf("it ended by %+v, %v", got.Termination, err)
	}
	count := 0
	for i := range log.List {
		if log.List[i].Data.Type() == event.TypeHandoff {
			count++
		}
	}
	if count != 3 {
		t.Errorf("the conversation changed hands %d times", count)
	}
}

func TestBudgetsAreSharedWithDelegates(t *testing.T) {
	exec := turntest.Scripts(map[string][]turntest.Answer{
		"boss":  {turntest.Calls("d", "agent_run_clerk", `{"prompt":"do it"}`), {Text: "it is done"}},
		"clerk": {turntest.Calls("r", "risky", "{}"), {Text: "did it"}},
	})
	rt := turntest.Build(t, turntest.WithAgents(exec,
		spec.Agent{ID: "boss", Delegates: []string{"clerk"}, Budgets: &spec.Budgets{MaxModelCalls: new(2)}},
		spec.Agent{ID: "clerk"},
	).WithTool("risky", turntest.Risky))
	got, err := rt.Run(t.Context(), runtime.Prompt("boss", "go"), nil)
	if e, ok := errors.AsType[*backend.BudgetError](err); !ok || e.Budget != backend.BudgetModelCalls {
		t.Errorf("the turn ended by %+v, %v", got.Termination, err)
	}
	if got.Termination.Type != event.BudgetExceeded || got.Usage.Total() == 0 {
		t.Errorf("the turn ended by %+v having used %+v", got.Termination, got.Usage)
	}
}

func TestATurnThatIgnoresItsContextIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		blocks := turntest.Plugin(func(r *plugins.Registrar) {
			r.Hook(plugins.StepStart, func(context.Context, *plugins.PhaseContext) error { <-release; return nil })
		})
		rt := turntest.Build(t, turntest.WithAgents(turntest.Scripts(map[string][]turntest.Answer{"clerk": {{Text: "hm"}}}), spec.Agent{ID: "clerk", PluginIDs: []string{"blocks"}}).
			WithPlugin("blocks", blocks))
		var log turntest.Events
		begun := time.Now()
		got, err := rt.Run(t.Context(), runtime.Prompt("clerk", "go"), &log)
		if _, ok := errors.AsType[*runtime.AbandonedError](err); !ok || got.Status != event.StatusFailed {
			t.Errorf("the turn ended by %+v, %v", got.Termination, err)
		}
		if took := time.Since(begun); took != 70*time.Second+time.Minute/32 {
			t.Errorf("it took %s", took)
		}
		n := len(log.List)
		close(release)
		synctest.Wait()
		if len(log.List) != n || !log.List[n-1].Terminal() {
			t.Errorf("%d events after the end", len(log.List)-n)
		}
	})
}

func TestOverridesHoldForOneTurn(t *testing.T) {
	exec := turntest.Scripts(map[string][]turntest.Answer{"clerk": {turntest.Calls("", "risky", "{}"), turntest.Calls("", "risky", "{}"), {Text: `{"a":1}`}, {Text: "plain"}}})
	rt := turntest.Build(t, turntest.WithAgents(exec, spec.Agent{ID: "clerk"}).WithTool("risky", turntest.Risky))
	req := runtime.Prompt("clerk", "go")
	req.Overrides.ToolBudgets = map[string]spec.ToolBudget{"risky": {MaxCalls: 1}}
	req.Overrides.Output = &spec.OutputSchema{Schema: json.RawMessage(`{"type":"object"}`)}
	var log turntest.Events
	got, err := rt.Run(t.Context(), req, &log)
	if err != nil || got.Response != `{"a":1}` {
		t.Fatalf("it came to %q, %v", got.Response, err)
	}
	if !slices.ContainsFunc(log.List, func(ev event.Event) bool { return ev.Data.Type() == event.TypeToolBudgetExceeded }) {
		t.Error("the tool budget did not hold")
	}
	req.Overrides.Output.Schema = json.RawMessage(`{"type":7}`)
	if _, err := rt.Run(t.Context(), req, nil); err == nil {
		t.Error("a form that is no schema is taken")
	}
}

// fataler is a test, or a property of one.
type fataler interface {
	Helper()
	Fatal(args ...any)
}

func TestWhoAnswersForADelegateSeesAndChangesItsCall(t *testing.T) {
	exec := turntest.Scripts(map[string][]turntest.Answer{
		"boss":  {turntest.Calls("d", "agent_run_clerk", `{"prompt":"do it"}`), {Text: "it is done"}},
		"clerk": {turntest.Calls("r", "risky", `{"amount":100}`), {Text: "did it"}},
	})
	var amount string
	pays := turntest.ToolFunc(func(_ context.Context, c *tools.Call) (tools.Result, error) {
		amount = string(c.Arguments)
		return tools.TextResult("paid"), nil
	})
	rt := turntest.Build(t, turntest.WithAgents(exec,
		spec.Agent{ID: "boss", Delegates: []string{"clerk"}, Budgets: &spec.Budgets{MaxToolCalls: new(2)}},
		spec.Agent{ID: "clerk", PluginIDs: []string{"cautious"}},
	).WithTool("risky", pays).WithPlugin("cautious", turntest.Cautious))
	first, err := rt.Run(t.Context(), runtime.Prompt("boss", "go"), nil)
	if err != nil || len(first.Interactions) != 1 {
		t.Fatalf("%d interactions, %v", len(first.Interactions), err)
	}
	if request := first.Interactions[0]; request.Tool != "risky" || string(request.Arguments) != `{"amount":100}` || request.CallID != "d" {
		t.Errorf("the request shows %+v", request)
	}
	req := runtime.Prompt("boss", "go")
	answer := turntest.Yes("d")
	answer.Arguments = json.RawMessage(`{"amount":1}`)
	req.TurnID, req.State, req.Answers = first.TurnID, kept(t, first.State), []interaction.Answer{answer}
	got, err := rt.Run(t.Context(), req, nil)
	if err != nil || got.Response != "it is done" || amount != `{"amount":1}` {
		t.Errorf("it came to %q with %s, %v", got.Response, amount, err)
	}
	if len(got.Journal) != 1 || got.Journal[0].Outcome != event.CallSucceeded {
		t.Errorf("the journal has %+v", got.Journal)
	}
}

// TestATurnHasTheModelThatItAsksFor: also where it goes on after a question, while an agent
// that takes over has its own.
func TestATurnHasTheModelThatItAsksFor(t *testing.T) {
	exec := turntest.Scripts(map[string][]turntest.Answer{
		"billing": {turntest.Calls("c1", "ask", `{}`), turntest.Calls("c2", agenttool.HandoffID("shop"), `{}`), {Text: "from billing"}},
		"front":   {{Text: "from front"}}, "shop": {{Text: "from shop"}},
	})
	ask := turntest.ToolFunc(func(context.Context, *tools.Call) (tools.Result, error) {
		return tools.Result{Wait: &tools.Wait{Questions: []interaction.Request{{Message: "Well?"}}, AnswerIsResult: true}}, nil
	})
	rt := turntest.Build(t, turntest.WithAgents(exec, spec.Agent{ID: "front", Handoffs: []string{"shop"}, SystemPrompt: "front desk"},
		spec.Agent{ID: "billing"}, spec.Agent{ID: "shop", SystemPrompt: "shop"}).WithTool("ask", ask))
	req := runtime.Prompt("front", "hello")
	req.Overrides.ModelID = "billing"
	waiting, err := rt.Run(t.Context(), req, nil)
	if err != nil || waiting.State == nil {
		t.Fatal(err, waiting)
	}
	if first := exec.LastMessages("billing"); first[0].Text() != "front desk" {
		t.Errorf("the instructions are not the agent's: %+v", first)
	}
	req.State, req.Answers = waiting.State, []interaction.Answer{{Target: "c1", Action: interaction.Resume, Result: []byte(`"yes"`)}}
	done, err := rt.Run(t.Context(), req, nil)
	if err != nil || done.Response != "from shop" || exec.Asked("billing") != 2 || exec.Asked("front") != 0 {
		t.Errorf("%v, %q, %d and %d requests", err, done.Response, exec.Asked("billing"), exec.Asked("front"))
	}
	unknown := runtime.Prompt("front", "hello")
	unknown.Overrides.ModelID = "nobody"
	if _, err := rt.Run(t.Context(), unknown, nil); !errors.As(err, new(*resolve.ModelNotFoundError)) {
		t.Errorf("got %v", err)
	}
}
