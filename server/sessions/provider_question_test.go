package sessions

import (
	"testing"

	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/tools"
)

func TestAQuestionOfAProviderKeepsItsTypeTitleAndPrompt(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		request             interaction.Request
		typ, title, message string
	}{
		{interaction.Request{Action: tools.ActionAsk, Message: "Which?"}, "clarification", "Question", "Which?"},
		{interaction.Request{Action: tools.ActionAsk, Title: "City", Message: "City\nWhich?"}, "clarification", "City", "Which?"},
		{interaction.Request{Action: tools.ActionAsk, Title: "City", Message: "City", Kind: interaction.KindInput}, "input", "City", ""},
		{interaction.Request{Action: "provider:approval", Title: "Deploy", Message: "Deploy\nNow?"}, "approval", "Deploy", "Now?"},
	} {
		v := viewInteraction(&service.Interaction{Request: tt.request})
		if v.Type != tt.typ || v.Title != tt.title || v.Prompt != tt.message {
			t.Errorf("%+v is shown as %s, %q, %q", tt.request, v.Type, v.Title, v.Prompt)
		}
	}
}
