package window_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/spec"
)

// TestATaskThatIsCertainlyTooLongFails names the sizes and the setting, and only what is certain.
func TestATaskThatIsCertainlyTooLongFails(t *testing.T) {
	for name, tt := range map[string]struct {
		conversation []model.Message
		prompt       string
		want         string
	}{
		"a long task":               {[]model.Message{model.User(words(20_000))}, "", "the instructions have about 0 tokens and the task has about 20000"},
		"long instructions":         {[]model.Message{model.User("hi")}, words(20_000), "the instructions have about 20000 tokens and the task has about 1"},
		"long leading instructions": {[]model.Message{model.System(words(20_000)), model.User("hi")}, "", "the instructions have about 20000 tokens"},
		"both":                      {[]model.Message{model.User(words(6_000))}, words(6_000), "context_policy.max_context_tokens"},
		"a task that may fit":       {[]model.Message{model.User(words(8_000))}, "", ""},
		"a table of spaces":         {[]model.Message{model.User(strings.Repeat(" ", 400_000) + strings.Repeat("-", 400_000))}, "", ""},
		"a long history":            {[]model.Message{model.User(words(20_000)), model.Assistant("ok"), model.User("hi")}, "", ""},
		"images":                    {[]model.Message{{Role: model.RoleUser, Parts: make([]model.Part, 100)}}, "", ""},
	} {
		if name == "images" {
			for i := range tt.conversation[0].Parts {
				tt.conversation[0].Parts[i] = model.Part{Type: model.PartImage, Blob: &model.Blob{MediaType: "image/png", Data: []byte("x")}}
			}
		}
		c := begin(t, fits(4000), nil)
		c.engine.Context.Agent.SystemPrompt = spec.Prompt(tt.prompt)
		err := c.prepare(context.Background(), tt.conversation)
		if (err != nil) != (tt.want != "") {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err == nil {
			continue
		}
		end := backend.TerminationOf(err)
		if end.Type != event.Failed || end.Code != string(model.ContextOverflow) || !strings.Contains(end.Detail, tt.want) || !strings.Contains(end.Detail, "5000 tokens") {
			t.Errorf("%s: the turn ends with %+v", name, end)
		}
		if errors.Unwrap(err) == nil {
			t.Errorf("%s: the error does not name the plugin", name)
		}
	}
}
