package cli

import (
	"encoding/json"
	"testing"

	"github.com/agentruntime/agentruntime/event"
)

func TestADelegateIsDescribedInOneLine(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		`{"agent":"clerk","state":"running"}`: "delegate clerk running",
		`{"agent":"clerk","state":"succeeded","tool_calls":2,"usage":{"input_tokens":40,"output_tokens":2},"cost":{"amount":0.0125,"currency":"USD"}}`: "delegate clerk succeeded, 2 tool calls, 42 tokens, 0.0125 USD",
		`{"agent":"clerk","state":"failed","detail":"gone"}`: "delegate clerk failed: gone",
		`7`: "",
	} {
		if got := describeDelegate(&event.ActivitySnapshot{ActivityType: "delegate", Content: json.RawMessage(content)}); got != want {
			t.Errorf("%s is %q, want %q", content, got, want)
		}
	}
	if got := describeDelegate(&event.ActivitySnapshot{ActivityType: "a2a_task", Content: json.RawMessage(`{}`)}); got != "" {
		t.Errorf("another activity is %q", got)
	}
}
