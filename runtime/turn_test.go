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
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

// cautious is a plugin that lets calls of the tool "risky" wait for a yes.
var cautious = plugin(func(r *plugins.Registrar) {
	r.ToolGate(plugins.GateFunc(func(_ context.Context, p *plugins.PhaseContext) (plugins.Decision, error) {
		if p.Call.Name != "risky" || p.Resolution != nil {
			return plugins.Decision{}, nil
		}
		return plugins.Decision{Kind: plugins.Suspend, Ticket: &plugins.Ticket{
			ID: "may_" + p.Call.ID, Message: "may I?", ResponseSchema: json.RawMessage(`{"type":"boolean"}`),
		}}, nil
	}))
})

var risky = toolFunc(func(context.Context, *tools.Call) (tools.Result, error) { return tools.TextResult("done it"), nil })

func yes(target string) plugins.Resolution {
	return plugins.Resolution{Target: target, Action: plugins.ActionResume, Result: json.RawMessage(`true`)}
}

// asking returns a runtime whose agent clerk makes two risky calls at once.
func asking(t *testing.T) *runtime.AgentRuntime {
	t.Helper()
	first := calls("a", "risky", "{}")
	first.calls = append(first.calls, calls("b", "risky", "{}").calls...)
	exec := scripts(map[string][]answer{"clerk": {first, {text: "all done"}}})
	return build(t, withAgents(exec, spec.Agent{ID: "clerk", PluginIDs: []string{"cautious"}}).
		WithTool("risky", risky).WithPlugin("cautious", cautious))
}

// onTicket returns a sink that keeps events and tells of tickets.
func onTicket(log *events, tell func(id string)) event.Sink {
	return event.SinkFunc(func(ev event.Event) {
		log.Emit(ev)
		if q, ok := ev.Data.(*event.InteractionRequest); ok {
			tell(q.ID)
		}
	})
}

func TestATurnGoesOnWhenItIsAnswered(t *testing.T) {
	rt := asking(t)
	var log events
	asked := make(chan string, 2)
	turn, err := rt.Start(t.Context(), runtime.Prompt("clerk", "go"), onTicket(&log, func(id string) { asked <- id }))
	if err != nil {
		t.Fatal(err)
	}
	first, second := <-asked, <-asked
	if err := turn.Resolve(yes("nobody")); err == nil {
		t.Error("an answer to nothing is taken")
	}
	for _, r := range []plugins.Resolution{yes(first), yes(first), yes("a"), yes(second)} {
		if err := turn.Resolve(r); err != nil {
			t.Errorf("%s: %v", r.Target, err)
		}
	}
	got, err := turn.Wait(t.Context())
	if err != nil || got.Status != event.StatusSucceeded || got.Response != "all done" || got.Steps != 2 {
		t.Fatalf("the turn ended by %+v with %q, %v", got.Termination, got.Response, err)
	}
	checkLog(t, log.list)
	checkMessages(t, got.Messages)
	if err := turn.Resolve(yes(first)); err != nil {
		t.Errorf("the same answer again, when the turn is over: %v", err)
	}
}

func TestAnAnswerThatDoesNotFitLeavesTheTurnWaiting(t *testing.T) {
	rt := asking(t)
	var log events
	asked := make(chan string, 2)
	turn, err := rt.Start(t.Context(), runtime.Prompt("clerk", "go"), onTicket(&log, func(id string) { asked <- id }))
	if err != nil {
		t.Fatal(err)
	}
	first := <-asked
	wrong := yes(first)
	wrong.Result = json.RawMessage(`"perhaps"`)
	if _, ok := errors.AsType[*backend.ResolutionError](turn.Resolve(wrong)); !ok {
		t.Error("an answer of the wrong form is taken")
	}
	reason := errors.New("changed my mind")
	turn.Cancel(reason)
	got, err := turn.Wait(t.Context())
	if !errors.Is(err, context.Canceled) || !errors.Is(err, reason) || got.Status != event.StatusCanceled {
		t.Errorf("the turn ended by %+v, %v", got.Termination, err)
	}
	checkLog(t, log.list)
	checkMessages(t, got.Messages)
}

func TestASuspendedTurnGoesOnFromItsState(t *testing.T) {
	rt := asking(t)
	first, err := rt.Run(t.Context(), runtime.Prompt("clerk", "go"), nil)
	if err != nil || len(first.Tickets) != 2 {
		t.Fatalf("%v, %d tickets", err, len(first.Tickets))
	}
	req := runtime.Prompt("clerk", "go")
	req.TurnID, req.State = first.TurnID, kept(t, first.State)
	req.Resolutions = []plugins.Resolution{yes("nobody")}
	if _, err := rt.Run(t.Context(), req, nil); err == nil {
		t.Error("an answer to nothing is taken")
	}
	req.Resolutions = []plugins.Resolution{yes("a"), yes("b")}
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
	exec := scripts(map[string][]answer{
		"boss":  {calls("d", "agent_run_clerk", `{"prompt":"do it"}`), {text: "it is done"}},
		"clerk": {calls("r", "risky", "{}"), {text: "did it"}},
	})
	rt := build(t, withAgents(exec,
		spec.Agent{ID: "boss", Delegates: []string{"clerk"}, AllowedTools: spec.Names{"agent_run_clerk"}},
		spec.Agent{ID: "clerk", PluginIDs: []string{"cautious"}},
	).WithTool("risky", risky).WithPlugin("cautious", cautious))
	first, err := rt.Run(t.Context(), runtime.Prompt("boss", "go"), nil)
	if err != nil || len(first.Tickets) != 1 || first.Tickets[0].CallID != "d" || first.Tickets[0].Message != "may I?" {
		t.Fatalf("the tickets are %+v, %v", first.Tickets, err)
	}
	req := runtime.Prompt("boss", "go")
	req.TurnID, req.State, req.Resolutions = first.TurnID, kept(t, first.State), []plugins.Resolution{yes("d")}
	got, err := rt.Run(t.Context(), req, nil)
	if err != nil || got.Response != "it is done" {
		t.Fatalf("it came to %q, %v", got.Response, err)
	}
	result := got.Messages[1].Parts[0].ToolResult
	if text := result.Content[0].Text; text != "did it" {
		t.Errorf("the delegate answered %q", text)
	}
	if n := len(exec.requests["clerk"]); n != 2 {
		t.Errorf("the delegate's model was asked %d times", n)
	}
}

func TestTheConversationChangesHands(t *testing.T) {
	exec := scripts(map[string][]answer{
		"front":   {calls("h", "hand_off_to_billing", "{}")},
		"billing": {{text: "I take care of it"}},
	})
	rt := build(t, withAgents(exec,
		spec.Agent{ID: "front", Handoffs: []string{"billing"}, SystemPrompt: "front desk"},
		spec.Agent{ID: "billing", SystemPrompt: "billing"},
	))
	var log events
	got, err := rt.Run(t.Context(), runtime.Prompt("front", "my invoice"), &log)
	if err != nil || got.Agent != "billing" || got.Response != "I take care of it" {
		t.Fatalf("agent %s came to %q, %v", got.Agent, got.Response, err)
	}
	checkLog(t, log.list)
	asked := exec.requests["billing"][0]
	if asked.Messages[0].Text() != "billing" || asked.Messages[1].Text() != "my invoice" || len(asked.Messages) != 4 {
		t.Errorf("the second agent was asked %+v", asked.Messages)
	}
	at := slices.IndexFunc(log.list, func(ev event.Event) bool { return ev.Data.Type() == event.TypeHandOff })
	if at < 0 || *log.list[at].Data.(*event.HandOff) != (event.HandOff{From: "front", To: "billing", Count: 1}) {
		t.Error("no event tells of the hand-off")
	}
}

func TestAgentsCannotHandEachOtherTheConversationForEver(t *testing.T) {
	pass := func(to string) []answer {
		list := make([]answer, 9)
		for i := range list {
			list[i] = calls("", "hand_off_to_"+to, "{}")
		}
		return append(list, answer{text: "I give up"})
	}
	exec := scripts(map[string][]answer{"a": pass("b"), "b": pass("a")})
	rt := build(t, withAgents(exec,
		spec.Agent{ID: "a", Handoffs: []string{"b"}, MaxHandoffs: new(3), MaxRounds: new(6)},
		spec.Agent{ID: "b", Handoffs: []string{"a"}, MaxHandoffs: new(3), MaxRounds: new(6)},
	))
	var log events
	got, err := rt.Run(t.Context(), runtime.Prompt("a", "go"), &log)
	if err != nil || got.Termination.Code != "max_rounds" {
		t.Errorf("it ended by %+v, %v", got.Termination, err)
	}
	count := 0
	for i := range log.list {
		if log.list[i].Data.Type() == event.TypeHandOff {
			count++
		}
	}
	if count != 3 {
		t.Errorf("the conversation changed hands %d times", count)
	}
}

func TestBudgetsAreSharedWithDelegates(t *testing.T) {
	exec := scripts(map[string][]answer{
		"boss":  {calls("d", "agent_run_clerk", `{"prompt":"do it"}`), {text: "it is done"}},
		"clerk": {calls("r", "risky", "{}"), {text: "did it"}},
	})
	rt := build(t, withAgents(exec,
		spec.Agent{ID: "boss", Delegates: []string{"clerk"}, Budgets: &spec.Budgets{MaxModelCalls: new(2)}},
		spec.Agent{ID: "clerk"},
	).WithTool("risky", risky))
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
		blocks := plugin(func(r *plugins.Registrar) {
			r.Hook(plugins.StepStart, func(context.Context, *plugins.PhaseContext) error { <-release; return nil })
		})
		rt := build(t, withAgents(scripts(map[string][]answer{"clerk": {{text: "hm"}}}), spec.Agent{ID: "clerk", PluginIDs: []string{"blocks"}}).
			WithPlugin("blocks", blocks))
		var log events
		begun := time.Now()
		got, err := rt.Run(t.Context(), runtime.Prompt("clerk", "go"), &log)
		if _, ok := errors.AsType[*runtime.AbandonedError](err); !ok || got.Status != event.StatusFailed {
			t.Errorf("the turn ended by %+v, %v", got.Termination, err)
		}
		if took := time.Since(begun); took != 70*time.Second {
			t.Errorf("it took %s", took)
		}
		n := len(log.list)
		close(release)
		synctest.Wait()
		if len(log.list) != n || !log.list[n-1].Terminal() {
			t.Errorf("%d events came behind the end", len(log.list)-n)
		}
	})
}

func TestOverridesHoldForOneTurn(t *testing.T) {
	exec := scripts(map[string][]answer{"clerk": {calls("", "risky", "{}"), calls("", "risky", "{}"), {text: `{"a":1}`}, {text: "plain"}}})
	rt := build(t, withAgents(exec, spec.Agent{ID: "clerk"}).WithTool("risky", risky))
	req := runtime.Prompt("clerk", "go")
	req.Overrides.ToolBudgets = map[string]spec.ToolBudget{"risky": {MaxCalls: 1}}
	req.Overrides.Output = &spec.OutputSchema{Schema: json.RawMessage(`{"type":"object"}`)}
	var log events
	got, err := rt.Run(t.Context(), req, &log)
	if err != nil || got.Response != `{"a":1}` {
		t.Fatalf("it came to %q, %v", got.Response, err)
	}
	if !slices.ContainsFunc(log.list, func(ev event.Event) bool { return ev.Data.Type() == event.TypeToolBudgetExceeded }) {
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
	exec := scripts(map[string][]answer{
		"boss":  {calls("d", "agent_run_clerk", `{"prompt":"do it"}`), {text: "it is done"}},
		"clerk": {calls("r", "risky", `{"amount":100}`), {text: "did it"}},
	})
	var amount string
	pays := toolFunc(func(_ context.Context, c *tools.Call) (tools.Result, error) {
		amount = string(c.Arguments)
		return tools.TextResult("paid"), nil
	})
	rt := build(t, withAgents(exec,
		spec.Agent{ID: "boss", Delegates: []string{"clerk"}, Budgets: &spec.Budgets{MaxToolCalls: new(2)}},
		spec.Agent{ID: "clerk", PluginIDs: []string{"cautious"}},
	).WithTool("risky", pays).WithPlugin("cautious", cautious))
	first, err := rt.Run(t.Context(), runtime.Prompt("boss", "go"), nil)
	if err != nil || len(first.Tickets) != 1 {
		t.Fatalf("%d tickets, %v", len(first.Tickets), err)
	}
	if ticket := first.Tickets[0]; ticket.Tool != "risky" || string(ticket.Arguments) != `{"amount":100}` || ticket.CallID != "d" {
		t.Errorf("the ticket shows %+v", ticket)
	}
	req := runtime.Prompt("boss", "go")
	answer := yes("d")
	answer.Arguments = json.RawMessage(`{"amount":1}`)
	req.TurnID, req.State, req.Resolutions = first.TurnID, kept(t, first.State), []plugins.Resolution{answer}
	got, err := rt.Run(t.Context(), req, nil)
	if err != nil || got.Response != "it is done" || amount != `{"amount":1}` {
		t.Errorf("it came to %q with %s, %v", got.Response, amount, err)
	}
	if len(got.Journal) != 1 || got.Journal[0].Outcome != event.CallSucceeded {
		t.Errorf("the journal has %+v", got.Journal)
	}
}
