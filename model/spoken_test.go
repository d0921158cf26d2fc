package model_test

import (
	"testing"

	"github.com/agentruntime/agentruntime/model"
	"github.com/google/go-cmp/cmp"
)

func TestWhatWasSpoken(t *testing.T) {
	t.Parallel()
	made := func(id, text string, calls ...string) model.Message {
		m := model.Message{ID: id, Role: model.RoleAssistant, Parts: []model.Part{{Type: model.PartReasoning, Text: "hm"}}}
		if text != "" {
			m.Parts = append(m.Parts, model.Text(text))
		}
		for _, name := range calls {
			m.Parts = append(m.Parts, model.Part{Type: model.PartToolCall, ToolCall: &model.ToolCall{ID: name, Name: name}})
		}
		return m
	}
	result := model.Message{ID: "r", Role: model.RoleTool, Parts: []model.Part{{Type: model.PartToolResult, ToolResult: &model.ToolResult{CallID: "x"}}}}
	said := func(id, text string) model.Message {
		return model.Message{ID: id, Role: model.RoleAssistant, Parts: []model.Part{model.Text(text)}}
	}
	user := model.User
	for name, tt := range map[string]struct{ conversation, want []model.Message }{
		"nothing":                  {nil, []model.Message{}},
		"a question and an answer": {[]model.Message{user("q"), made("1", "a")}, []model.Message{user("q"), said("1", "a")}},
		"what led to an answer": {
			[]model.Message{user("q"), made("1", "let me see", "x"), result, made("2", "a"), user("p"), made("3", "b")},
			[]model.Message{user("q"), said("2", "a"), user("p"), said("3", "b")},
		},
		"an answer that was asked for again": {[]model.Message{user("q"), made("1", "bad"), made("2", "good")}, []model.Message{user("q"), said("2", "good")}},
		"a last answer that only calls":      {[]model.Message{user("q"), made("1", "so far", "x"), result, made("2", "", "x"), result}, []model.Message{user("q"), said("1", "so far")}},
		"no answer":                          {[]model.Message{user("q"), made("1", "", "x"), result, user("p")}, []model.Message{user("q"), user("p")}},
		"answers that were given":            {[]model.Message{user("q"), model.Assistant("a"), model.Assistant("b"), model.System("s")}, []model.Message{user("q"), said("", "a"), said("", "b"), model.System("s")}},
		"one that was given, and one made":   {[]model.Message{model.Assistant("a"), made("1", "b")}, []model.Message{said("", "a"), said("1", "b")}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if d := cmp.Diff(tt.want, model.Spoken(tt.conversation)); d != "" {
				t.Error(d)
			}
		})
	}
}
