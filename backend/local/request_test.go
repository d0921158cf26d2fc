package local_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/plugins/core"
	"github.com/agentruntime/agentruntime/plugins/execution"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/google/go-cmp/cmp"
)

// schedules returns a plugin that schedules actions before the first request.
func schedules(actions ...execution.Action) plugin {
	return on(plugins.StepStart, func(_ context.Context, p *plugins.PhaseContext) error {
		for _, a := range actions {
			if p.Stats.Steps == 1 {
				p.Schedule(a.Key, a.Payload)
			}
		}
		return nil
	})
}

func brief(messages []model.Message) []string {
	var out []string
	for i := range messages {
		text := messages[i].Text()
		for _, c := range messages[i].ToolCalls() {
			text += "→" + c.Name
		}
		out = append(out, string(messages[i].Role)+" "+text)
	}
	return out
}

func TestContextMessagesStandAtTheirPlaces(t *testing.T) {
	add := func(m plugins.ContextMessage) execution.Action {
		return execution.Action{Key: core.AddContextMessage, Payload: m}
	}
	s := stage{
		agent:   spec.Agent{SystemPrompt: "prompt"},
		history: []model.Message{model.System("old rules"), model.User("hello"), model.Assistant("hi")},
		model:   says(asks("", call("x")), text("done")),
		tools:   map[string]tools.Tool{"x": answers("ok")},
		plugins: []plugin{schedules(
			add(plugins.ContextMessage{Text: "suffix", Target: plugins.TargetSuffix}),
			add(plugins.ContextMessage{Text: "conversation", Target: plugins.TargetConversation, Role: model.RoleUser}),
			add(plugins.ContextMessage{Text: "session", Target: plugins.TargetSession}),
			add(plugins.ContextMessage{Text: "system, late", Target: plugins.TargetSystem, Priority: 5, Key: "a"}),
			add(plugins.ContextMessage{Text: "system, c", Target: plugins.TargetSystem, Key: "c"}),
			add(plugins.ContextMessage{Text: "system, b", Key: "b"}),
		)},
	}
	got := s.play(t)
	got.ends(t, event.NaturalEnd, "")
	want := []string{
		"system prompt", "system system, b", "system system, c", "system system, late",
		"system old rules", "system session", "user conversation",
		"user hello", "assistant hi", "user go", "system suffix",
	}
	if diff := cmp.Diff(want, brief(s.model.requests[0].Messages)); diff != "" {
		t.Error(diff)
	}
	want = []string{"system prompt", "system old rules", "user hello", "assistant hi", "user go", "assistant →x", "tool "}
	if diff := cmp.Diff(want, brief(s.model.requests[1].Messages)); diff != "" {
		t.Errorf("the second request still has what was for the first: %s", diff)
	}
	if len(got.Messages) != 3 {
		t.Errorf("the conversation keeps %q", brief(got.Messages))
	}
}

func TestWhichToolsAreOffered(t *testing.T) {
	include := func(ids ...string) execution.Action {
		return execution.Action{Key: core.IncludeOnlyTools, Payload: ids}
	}
	exclude := func(id string) execution.Action { return execution.Action{Key: core.ExcludeTool, Payload: id} }
	for _, tt := range []struct {
		name    string
		actions []execution.Action
		want    string
	}{
		{"all", nil, "a b c"},
		{"exclude", []execution.Action{exclude("b"), exclude("unknown")}, "a c"},
		{"include", []execution.Action{include("b")}, "b"},
		{"includes add up", []execution.Action{include("b"), include("a", "unknown")}, "a b"},
		{"include nothing", []execution.Action{include()}, ""},
		{"exclude wins", []execution.Action{include("a", "b"), exclude("a")}, "b"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := stage{
				model:   says(asks("", call("c")), text("done")),
				tools:   map[string]tools.Tool{"a": answers("ok"), "b": answers("ok"), "c": answers("ok")},
				plugins: []plugin{schedules(tt.actions...)},
			}
			s.play(t)
			var names []string
			for _, tool := range s.model.requests[0].Tools {
				names = append(names, tool.Name)
			}
			if got := strings.Join(names, " "); got != tt.want {
				t.Errorf("the first request offers %q, want %q", got, tt.want)
			}
			if n := len(s.model.requests[1].Tools); n != 3 {
				t.Errorf("the second request offers %d tools", n)
			}
		})
	}
}

func TestOverridesOfARequest(t *testing.T) {
	low, high := &spec.Effort{Level: "low"}, &spec.Effort{Level: "high"}
	override := func(o core.Override) execution.Action {
		return execution.Action{Key: core.SetInferenceOverride, Payload: o}
	}
	for _, pool := range []bool{false, true} {
		s := stage{
			agent:  spec.Agent{ReasoningEffort: low},
			params: model.Params{MaxOutputTokens: 100, Temperature: new(0.5)},
			model:  says(asks("", call("x")), text("done")),
			tools:  map[string]tools.Tool{"x": answers("ok")},
			plugins: []plugin{schedules(
				override(core.Override{Model: "first", Params: model.Params{Temperature: new(0.1), TopP: new(0.9)}}),
				override(core.Override{Model: "second", Params: model.Params{Temperature: new(0.2), ReasoningEffort: high}}),
			)},
			pool: pool,
		}
		got := s.play(t)
		got.ends(t, event.NaturalEnd, "")
		name := "second"
		if pool {
			name = "upstream" // pool members have their own names
		}
		first, second := s.model.requests[0], s.model.requests[1]
		want := model.Params{MaxOutputTokens: 100, Temperature: new(0.2), TopP: new(0.9), ReasoningEffort: high}
		if diff := cmp.Diff(want, first.Params); diff != "" || first.Model != name {
			t.Errorf("the first request asks %s: %s", first.Model, diff)
		}
		want = model.Params{MaxOutputTokens: 100, Temperature: new(0.5), ReasoningEffort: low}
		if diff := cmp.Diff(want, second.Params); diff != "" || second.Model != "upstream" {
			t.Errorf("the second request asks %s: %s", second.Model, diff)
		}
		if second.SessionID != "session" {
			t.Errorf("the request is of the session %q", second.SessionID)
		}
	}
}

func TestTransformsChangeTheRequestAlone(t *testing.T) {
	adds := func(mark string) plugin {
		return func(r *plugins.Registrar) {
			r.RequestTransform(func(messages []model.Message, offered []model.Tool) []model.Message {
				return append(messages[:len(messages):len(messages)], model.System(fmt.Sprintf("%s %d", mark, len(offered))))
			})
		}
	}
	s := stage{
		model:   says(asks("", call("x")), text("done")),
		tools:   map[string]tools.Tool{"x": answers("ok")},
		plugins: []plugin{adds("first"), adds("second")},
	}
	got := s.play(t)
	got.ends(t, event.NaturalEnd, "")
	if diff := cmp.Diff([]string{"user go", "system first 1", "system second 1"}, brief(s.model.requests[0].Messages)); diff != "" {
		t.Error(diff)
	}
	want := []string{"user go", "assistant →x", "tool ", "system first 1", "system second 1"}
	if diff := cmp.Diff(want, brief(s.model.requests[1].Messages)); diff != "" {
		t.Error(diff)
	}
}

func TestATransformThatPanicsFailsTheTurn(t *testing.T) {
	got := stage{
		model: says(text("done")),
		plugins: []plugin{func(r *plugins.Registrar) {
			r.RequestTransform(func([]model.Message, []model.Tool) []model.Message { panic("oops") })
		}},
	}.play(t)
	got.ends(t, event.Failed, backend.CodePlugin)
	if want := "plugin p0 in BeforeInference: panic in request transform: oops"; got.err.Error() != want {
		t.Errorf("the error is %q, want %q", got.err, want)
	}
}

func TestAnActionThatGoesWrongDoesNotFailTheTurn(t *testing.T) {
	s := stage{
		model: says(text("done")),
		plugins: []plugin{schedules(
			execution.Action{Key: core.ExcludeTool, Payload: 7},
			execution.Action{Key: core.IncludeOnlyTools, Payload: "a"},
			execution.Action{Key: core.AddContextMessage},
			execution.Action{Key: core.SetInferenceOverride, Payload: &core.Override{}},
		)},
	}
	got := s.play(t)
	got.ends(t, event.NaturalEnd, "")
	if n := len(s.model.requests[0].Messages); n != 1 {
		t.Errorf("the request has %d messages", n)
	}
	if n := len(got.DeadLetters); n != 4 || got.DeadLetters[0].Plugin != "runtime:loop-actions" {
		t.Errorf("the dead letters are %v", got.DeadLetters)
	}
}

// TestNoRequestAsksForMoreThanTheModelHas requests too much output, for the turn and by a plugin.
func TestNoRequestAsksForMoreThanTheModelHas(t *testing.T) {
	for name, tt := range map[string]struct{ limit, turn, plugin, want int }{
		"an unknown limit": {0, 100, 0, 100},
		"less":             {200, 100, 0, 100},
		"more":             {80, 100, 0, 80},
		"more of a plugin": {80, 0, 100, 80},
	} {
		s := stage{
			params: model.Params{MaxOutputTokens: tt.turn}, model: says(text("done")),
			plugins: []plugin{schedules(execution.Action{Key: core.SetInferenceOverride, Payload: core.Override{Params: model.Params{MaxOutputTokens: tt.plugin}}})},
			job:     func(j *backend.Job) { j.Local.ModelOutput = tt.limit },
		}
		ended := s.play(t)
		ended.ends(t, event.NaturalEnd, "")
		if got := s.model.requests[0].MaxOutputTokens; got != tt.want {
			t.Errorf("%s: the request asks for %d tokens, not %d", name, got, tt.want)
		}
	}
}
