package core_test

import (
	"context"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/plugins/core"
	"github.com/agentruntime/agentruntime/plugins/execution"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/google/go-cmp/cmp"
)

// requests goes through steps, scheduling the actions of each, and returns the
// context messages of the requests. Between the steps the turn is stopped and
// goes on elsewhere.
func requests(t *testing.T, steps ...[]execution.Action) []string {
	t.Helper()
	step := 0
	acts := planner(func(r *plugins.Registrar) {
		r.Hook(plugins.BeforeInference, func(_ context.Context, p *plugins.PhaseContext) error {
			for _, a := range steps[step] {
				p.Schedule(a.Key, a.Payload)
			}
			return nil
		})
	})
	agent := &spec.Agent{}
	e := engine(t, agent, acts)
	var sent []string
	for step = range steps {
		e.Context.Stats.Steps++
		if err := e.Run(t.Context(), plugins.BeforeInference); err != nil {
			t.Fatal(err)
		}
		for _, l := range e.DeadLetters() {
			t.Errorf("step %d: %v", step+1, l.Err)
		}
		var texts []string
		plan := e.TakeRequest()
		for _, target := range []plugins.Target{plugins.TargetSystem, plugins.TargetSession, plugins.TargetConversation, plugins.TargetSuffix} {
			for _, m := range plan.At(target) {
				texts = append(texts, m.Text)
			}
		}
		sent = append(sent, strings.Join(texts, " "))
		e = resumed(t, e, agent, acts)
	}
	return sent
}

func TestContextMessagesLastAsLongAsTheySay(t *testing.T) {
	t.Parallel()
	add := func(m plugins.ContextMessage) []execution.Action {
		return []execution.Action{{Key: core.AddContextMessage, Payload: m}}
	}
	remove := func(key string) []execution.Action {
		return []execution.Action{{Key: core.RemoveContextMessage, Payload: key}}
	}
	keeps := func(text string) plugins.ContextMessage {
		return plugins.ContextMessage{Key: "k", Text: text, Persistent: true}
	}
	cools := func(text string, n int) plugins.ContextMessage {
		return plugins.ContextMessage{Key: "k", Text: text, CooldownTurns: n}
	}
	both := func(m plugins.ContextMessage, n int) plugins.ContextMessage { m.CooldownTurns = n; return m }
	once := plugins.ContextMessage{Key: "k", Text: "a", ConsumeAfterEmit: true}
	for name, tt := range map[string]struct {
		steps [][]execution.Action
		want  []string
	}{
		"one request":                        {[][]execution.Action{add(plugins.ContextMessage{Text: "a"}), nil}, []string{"a", ""}},
		"two without a key":                  {[][]execution.Action{append(add(plugins.ContextMessage{Text: "a"}), add(plugins.ContextMessage{Text: "b"})...)}, []string{"a b"}},
		"the later of two with the same key": {[][]execution.Action{append(add(cools("a", 0)), add(cools("b", 0))...)}, []string{"b"}},
		"persistent":                         {[][]execution.Action{add(keeps("a")), nil, nil}, []string{"a", "a", "a"}},
		"persistent, replaced":               {[][]execution.Action{add(keeps("a")), add(keeps("b")), nil}, []string{"a", "b", "b"}},
		"persistent, replaced for once":      {[][]execution.Action{add(keeps("a")), add(cools("b", 0)), nil}, []string{"a", "b", ""}},
		"persistent, removed":                {[][]execution.Action{add(keeps("a")), remove("k"), nil}, []string{"a", "", ""}},
		"another one removed":                {[][]execution.Action{add(keeps("a")), remove("x"), nil}, []string{"a", "a", "a"}},
		"removed when added":                 {[][]execution.Action{append(add(keeps("a")), remove("k")...), nil}, []string{"", ""}},
		"consumed":                           {[][]execution.Action{add(once), nil}, []string{"a", ""}},
		"consumed when it has cooled down":   {[][]execution.Action{add(cools("a", 2)), add(both(once, 2)), nil, nil, nil}, []string{"a", "", "", "a", ""}},
		"no cooldown":                        {[][]execution.Action{add(cools("a", 0)), add(cools("a", 0))}, []string{"a", "a"}},
		"a cooldown":                         {[][]execution.Action{add(cools("a", 2)), add(cools("a", 2)), add(cools("a", 2)), add(cools("a", 2))}, []string{"a", "", "", "a"}},
		"a cooldown of changed content":      {[][]execution.Action{add(cools("a", 9)), add(cools("b", 9)), add(cools("b", 9)), add(cools("a", 9))}, []string{"a", "b", "", "a"}},
		"persistent, with a cooldown":        {[][]execution.Action{add(both(keeps("a"), 1)), nil, nil, nil}, []string{"a", "", "a", ""}},
		"renewed where it stands":            {[][]execution.Action{add(both(keeps("a"), 1)), nil, add(both(keeps("a"), 1)), nil}, []string{"a", "", "a", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, requests(t, tt.steps...)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestContextMessagesStandByTargetPriorityAndKey(t *testing.T) {
	t.Parallel()
	var actions []execution.Action
	for _, m := range []plugins.ContextMessage{
		{Key: "z", Text: "8", Target: plugins.TargetSuffix}, {Key: "y", Text: "6", Target: plugins.TargetConversation, Persistent: true},
		{Key: "b", Text: "2", Persistent: true}, {Key: "a", Text: "3", Priority: 2}, {Key: "c", Text: "1", Target: plugins.TargetSystem, Priority: -1},
		{Key: "t", Text: "5", Target: plugins.TargetSession}, {Key: "s", Text: "4", Target: plugins.TargetSession, Persistent: true},
		{Key: "y2", Text: "7", Target: plugins.TargetConversation},
	} {
		actions = append(actions, execution.Action{Key: core.AddContextMessage, Payload: m})
	}
	if diff := cmp.Diff([]string{"1 2 3 4 5 6 7 8", "2 4 6"}, requests(t, actions, nil)); diff != "" {
		t.Error(diff)
	}
}

func TestAContextMessageThatCannotBeSentIsADeadLetter(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		message plugins.ContextMessage
		want    string
	}{
		{plugins.ContextMessage{Text: "x", Persistent: true}, "a context message that is kept or has a cooldown needs a key"},
		{plugins.ContextMessage{Text: "x", ConsumeAfterEmit: true}, "a context message that is kept or has a cooldown needs a key"},
		{plugins.ContextMessage{Text: "x", CooldownTurns: 1}, "a context message that is kept or has a cooldown needs a key"},
		{plugins.ContextMessage{Text: "x", Role: "tool"}, `a context message cannot have the role "tool"`},
		{plugins.ContextMessage{Text: "x", Target: "nowhere"}, `a context message cannot have the target "nowhere"`},
	} {
		e := engine(t, &spec.Agent{}, planner(func(r *plugins.Registrar) {
			r.Hook(plugins.BeforeInference, schedule(core.AddContextMessage, tt.message))
		}))
		if err := e.Run(t.Context(), plugins.BeforeInference); err != nil {
			t.Fatal(err)
		}
		if l := e.DeadLetters(); len(l) != 1 || l[0].Err.Error() != tt.want || e.TakeRequest() != nil {
			t.Errorf("%+v: the dead letters are %v", tt.message, l)
		}
	}
}

// TestActionsOutliveAStop proves that every action of the loop is carried out
// where the turn goes on, when it was scheduled before.
func TestActionsOutliveAStop(t *testing.T) {
	t.Parallel()
	scheduled := planner(func(r *plugins.Registrar) {
		r.Hook(plugins.RunStart, func(_ context.Context, p *plugins.PhaseContext) error {
			p.Schedule(core.AddContextMessage, plugins.ContextMessage{Key: "k", Text: "hello", Target: plugins.TargetSuffix})
			p.Schedule(core.SetInferenceOverride, core.Override{Model: "other", Params: model.Params{MaxOutputTokens: 7}})
			p.Schedule(core.ExcludeTool, "out")
			p.Schedule(core.IncludeOnlyTools, []string{"in", "out"})
			p.Schedule(core.RemoveContextMessage, "gone")
			p.Schedule(core.Handoff, "helper")
			return nil
		})
	})
	agent := &spec.Agent{}
	e := engine(t, agent, scheduled)
	if err := e.Run(t.Context(), plugins.RunStart); err != nil {
		t.Fatal(err)
	}
	e = resumed(t, e, agent, scheduled)
	for _, phase := range []plugins.Phase{plugins.BeforeInference, plugins.StepEnd} {
		if err := e.Run(t.Context(), phase); err != nil {
			t.Fatal(err)
		}
	}
	plan := e.TakeRequest()
	want := &plugins.RequestPlan{
		Context: []plugins.ContextMessage{{Key: "k", Text: "hello", Target: plugins.TargetSuffix}},
		Model:   "other", Params: model.Params{MaxOutputTokens: 7}, Exclude: []string{"out"}, Include: []string{"in", "out"}, Restrict: true,
	}
	if diff := cmp.Diff(want, plan); diff != "" || len(e.DeadLetters()) != 0 {
		t.Errorf("%s\nthe dead letters are %v", diff, e.DeadLetters())
	}
	if !plan.Offers("in") || plan.Offers("out") || plan.Offers("other") {
		t.Error("the wrong tools are offered")
	}
	if to := e.HandoffRequest(); to != "helper" {
		t.Errorf("it hands off to %q", to)
	}
}
