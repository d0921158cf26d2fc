package event_test

import (
	"encoding/json"
	"testing"

	"github.com/agentruntime/agentruntime/event"
)

func TestADelegateIsDescribedInOneLine(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		`{"agent":"clerk","state":"running"}`: "clerk running",
		`{"agent":"clerk","state":"succeeded","tool_calls":2,"usage":{"input_tokens":40,"output_tokens":2},"cost":{"amount":0.0125,"currency":"USD"}}`: "clerk succeeded, 2 tool calls, 42 tokens, 0.013 USD",
		`{"agent":"clerk","state":"succeeded","tool_calls":1,"cost":{"amount":2.5,"currency":"EUR"}}`:                                                  "clerk succeeded, 1 tool call, 0 tokens, 2.50 EUR",
		`{"agent":"clerk","state":"failed","detail":"gone"}`:                                                                                           "clerk failed: gone",
	} {
		activity := &event.ActivitySnapshot{ActivityType: event.ActivityDelegate, Content: json.RawMessage(content)}
		if a, ok := activity.Delegate(); !ok || a.String() != want {
			t.Errorf("%s is %q, want %q", content, a.String(), want)
		}
	}
	for _, other := range []*event.ActivitySnapshot{
		{ActivityType: "a2a_task", Content: json.RawMessage(`{}`)}, {ActivityType: event.ActivityDelegate, Content: json.RawMessage(`7`)},
	} {
		if a, ok := other.Delegate(); ok {
			t.Errorf("%+v is the delegate %+v", other, a)
		}
	}
}
