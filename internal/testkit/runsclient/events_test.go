package runsclient_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentruntime/agentruntime/internal/testkit/runsclient"
)

func TestARunIsFollowedToItsAnswer(t *testing.T) {
	t.Parallel()
	forEachSDK(t, func(t *testing.T, c *runsclient.Client) {
		const text = "Hello there, whoever you are."
		spec := ask("hello", "Hi.")
		spec.Metadata = map[string]string{"customer": "c-1"}
		events := succeeds(t, c, spec, text)
		if got := types(events); got != "started assistant_delta assistant_message result" {
			t.Errorf("the events are %s", got)
		}
		expect(t, events, "assistant_message", object{"text": text, "turn": 0.0, "finishReason": "end_turn", "toolCalls": nil})
		expect(t, events, "result", object{
			"ok": true, "subtype": "success", "text": text, "turns": 1.0,
			"tokens": object{"inputTokens": 20.0, "outputTokens": 8.0, "cachedTokens": 5.0, "reasoningTokens": 2.0},
		})
		spec.ReasoningLevel = "medium"
		events = succeeds(t, c, spec, text)
		if got := types(events); got != "started thinking_delta assistant_delta assistant_message result" {
			t.Errorf("with reasoning, the events are %s", got)
		}
	})
}

func TestASnapshotSaysWhatBecameOfARun(t *testing.T) {
	t.Parallel()
	c := serve(t).client(runsclient.Go)
	spec := ask("hello", "Hi.")
	spec.Metadata, spec.Name = map[string]string{"customer": "c-1"}, "greeter"
	r, err := c.Run(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	s, err := c.Snapshot(t.Context(), r.RunID)
	if err != nil {
		t.Fatal(err)
	}
	if s.RunID != r.RunID || s.Status != "succeeded" || s.FinalText == nil || *s.FinalText != r.Text || s.Error != nil || s.SessionID != nil {
		t.Errorf("the snapshot is %+v", s)
	}
	if *s.Turns != 1 || s.Tokens["inputTokens"] != 20 || s.Model["vendorModelId"] != "hello-1" || s.Metadata["customer"] != "c-1" || s.EndedAt == nil || s.StartedAt == nil {
		t.Errorf("the snapshot is %+v", s)
	}
	if s.Spec["systemPrompt"] != spec.SystemPrompt && s.AgentSpec["systemPrompt"] != spec.SystemPrompt {
		t.Errorf("the specs are %v and %v", s.Spec, s.AgentSpec)
	}
}

func TestASnapshotOfARunUnderWayHasNoCost(t *testing.T) {
	t.Parallel()
	c := serve(t).client(runsclient.Go)
	made, err := c.Create(t.Context(), ask("slow", "Hi."))
	if err != nil {
		t.Fatal(err)
	}
	var s object
	resp, err := c.Do(t.Context(), "GET", c.Path("agent-runs", made.RunID), nil)
	if err != nil {
		t.Fatal(err)
	}
	decode(t, resp, &s)
	for _, name := range []string{"tokens", "turns", "model"} {
		if value, there := s[name]; !there || value != nil {
			t.Errorf("%s is %v", name, value)
		}
	}
	if err := c.Cancel(t.Context(), made.RunID); err != nil {
		t.Error(err)
	}
}

func TestAToolOfTheServerIsCalled(t *testing.T) {
	t.Parallel()
	forEachSDK(t, func(t *testing.T, c *runsclient.Client) {
		events := succeeds(t, c, ask("server_tool", "Count.", runsclient.Tool{Ref: object{"kind": "mantyx", "id": "word_count"}}), "Three words.")
		if got := types(events); got != "started assistant_delta assistant_message tool_call tool_result assistant_delta assistant_message result" {
			t.Errorf("the events are %s", got)
		}
		input := object{"text": "one two three"}
		expect(t, events, "assistant_message",
			object{"turn": 0.0, "finishReason": "tool_use", "toolCalls": []any{object{"id": "call_a", "name": "word_count", "input": input}}}, object{"turn": 1.0})
		expect(t, events, "tool_call", object{"toolUseId": "call_a", "name": "word_count", "input": input})
		expect(t, events, "tool_result", object{"toolUseId": "call_a", "name": "word_count", "ok": true})
		expect(t, events, "result", object{"turns": 2.0})
	})
}

// Content that is too large for an event is truncated, and every SDK accepts this.
func TestLargeEventsAreCutOff(t *testing.T) {
	t.Parallel()
	forEachSDK(t, func(t *testing.T, c *runsclient.Client) {
		events := succeeds(t, c, ask("long_arguments", "Count.", runsclient.Tool{Ref: object{"kind": "mantyx", "id": "word_count"}}), "One word.")
		cut := map[string]bool{}
		for _, e := range events {
			cut[e.Type] = cut[e.Type] || e.Truncated()
		}
		want := map[string]bool{
			"started": false, "assistant_delta": false, "assistant_message": true, "tool_call": true, "tool_result": false, "result": false,
		}
		if diff := cmp.Diff(want, cut); diff != "" {
			t.Errorf("events that are cut off (-want +got):\n%s", diff)
		}

		events = succeeds(t, c, ask("long_answer", "Tell me."), strings.Repeat("word", long/4))
		text := 0
		for _, e := range events {
			switch e.Type {
			case "assistant_delta":
				text += len(e.Text("text"))
			case "assistant_message":
				if !e.Truncated() {
					t.Error("a message of 2 MiB is not cut off")
				}
			}
		}
		if text != long {
			t.Errorf("the deltas have %d bytes", text)
		}
	})
}

func TestAToolOfTheClientIsCalled(t *testing.T) {
	t.Parallel()
	forEachSDK(t, func(t *testing.T, c *runsclient.Client) {
		events := succeeds(t, c, ask("local_tool", "And today?", weather("sunny", nil)), "It is sunny.")
		expect(t, events, "local_tool_call", object{"toolUseId": "call_a", "name": "weather", "args": object{"city": "Paris"}, "kind": "local"})
		expect(t, events, "local_tool_result_in", object{"toolUseId": "call_a", "result": "sunny", "output": "sunny", "error": nil})

		events = succeeds(t, c, ask("local_tool", "And today?", weather("", errors.New("no such place"))), "There is no such place.")
		expect(t, events, "local_tool_result_in", object{"toolUseId": "call_a", "error": "no such place", "result": nil})

		events = succeeds(t, c, ask("local_tool", "And today?", weather("", nil)), "I was told nothing.")
		expect(t, events, "local_tool_result_in", object{"toolUseId": "call_a", "result": ""})
	})
}

func TestCallsOfAClientAreAnsweredInAnyOrder(t *testing.T) {
	t.Parallel()
	forEachSDK(t, func(t *testing.T, c *runsclient.Client) {
		rome := make(chan struct{})
		tool := runsclient.Local("weather", nil, func(ctx context.Context, args object) (string, error) {
			switch args["city"] {
			case "Paris":
				select {
				case <-rome:
				case <-ctx.Done():
				}
			case "Rome":
				close(rome)
			}
			return "sunny", nil
		})
		events := succeeds(t, c, ask("two_local_tools", "Go.", tool), "All done.")
		expect(t, events, "local_tool_call", object{"kind": "local"}, object{"kind": "local"}, object{"toolUseId": "call_c"})
	})
}

func TestIdsOfCallsAreOnceInARun(t *testing.T) {
	t.Parallel()
	r, err := serve(t).client(runsclient.Go).Run(t.Context(), ask("same_id", "Go.", weather("sunny", nil)))
	if err != nil {
		t.Fatal(err, shown(r))
	}
	seen := map[string]bool{}
	for _, e := range r.Events {
		if id := e.Text("toolUseId"); e.Type == "local_tool_call" {
			if seen[id] {
				t.Errorf("%s is there twice", id)
			}
			seen[id] = true
		}
	}
	if !seen["call_a"] || len(seen) != 2 {
		t.Errorf("the calls are %v", seen)
	}
}

func TestArgumentsOfTheWrongFormReachNoClient(t *testing.T) {
	t.Parallel()
	forEachSDK(t, func(t *testing.T, c *runsclient.Client) {
		events := succeeds(t, c, ask("bad_arguments", "Go.", weather("sunny", nil)), "That was wrong.")
		expect(t, events, "local_tool_call")
		expect(t, events, "tool_result", object{"toolUseId": "call_a", "name": "weather", "ok": false})
	})
}

func TestATruncatedAnswerIsSaved(t *testing.T) {
	t.Parallel()
	forEachSDK(t, func(t *testing.T, c *runsclient.Client) {
		spec := ask("truncated", "Tell me.")
		spec.OutputSchema = object{"name": "story", "schema": object{"type": "object"}}
		for range 2 {
			failed := fails(t, c, spec, "truncation")
			has(t, failed.Event, object{"code": "truncation", "errorClass": "truncation", "finishReason": "max_tokens", "partialText": "It was a dark and", "retryable": false, "turns": 1.0})
			s, err := c.Snapshot(t.Context(), failed.RunID)
			if err != nil {
				t.Fatal(err)
			}
			if s.Status != "failed" || *s.FinalText != "It was a dark and" || *s.Error != failed.Message {
				t.Errorf("the snapshot is %+v", s)
			}
			if diff := cmp.Diff(map[string]string{"errorClass": "truncation", "finishReason": "max_tokens"}, s.FailureReason); diff != "" {
				t.Error(diff)
			}
			spec.OutputSchema = nil // a text is no better
		}
	})
}

func TestAStructuredAnswerIsAText(t *testing.T) {
	t.Parallel()
	forEachSDK(t, func(t *testing.T, c *runsclient.Client) {
		spec := ask("structured", "Report.")
		spec.OutputSchema = object{"name": "weather_report", "schema": object{
			"type": "object", "properties": object{"city": object{"type": "string"}, "celsius": object{"type": "number"}}, "required": []string{"city", "celsius"},
		}}
		succeeds(t, c, spec, `{"city":"Paris","celsius":21}`)
	})
}

func TestFailuresOfTheModelHaveAClass(t *testing.T) {
	t.Parallel()
	c := serveAlone(t).client(runsclient.TypeScript) // another failure opens a breaker
	for prompt, want := range map[string]struct {
		class     string
		retryable bool
	}{
		"rate": {"rate_limit", true}, "busy": {"overloaded", true}, "broken": {"server", true}, "late": {"timeout", true},
		"wrong": {"invalid_request", false}, "key": {"auth", false}, "long": {"context_window", false},
	} {
		failed := fails(t, c, ask("failing", prompt), want.class)
		has(t, failed.Event, object{"code": want.class, "errorClass": want.class, "retryable": want.retryable, "turns": 1.0})
		if s, err := c.Snapshot(t.Context(), failed.RunID); err != nil || s.Status != "failed" || *s.Error != failed.Message || *s.Turns != 1 {
			t.Errorf("the snapshot is %+v, %v", s, err)
		}
	}
}

func TestTooManyTurnsAreAResultWithoutSuccess(t *testing.T) {
	t.Parallel()
	forEachSDK(t, func(t *testing.T, c *runsclient.Client) {
		spec := ask("two_local_tools", "Go.", weather("sunny", nil))
		spec.Budgets = object{"maxToolTurns": 1}
		failed := fails(t, c, spec, "error_max_tool_turns")
		has(t, failed.Event, object{"ok": false, "subtype": "error_max_tool_turns"})
		if failed.Event.Type != "result" || failed.Event.Text("error") == "" {
			t.Errorf("the run ends with %+v", failed.Event)
		}
	})
}

func TestAResultThatIsRefusedIsToldToTheModel(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 2<<20+1)
	events := succeeds(t, serve(t).client(runsclient.TypeScript), ask("local_tool", "And today?", weather(long, nil)), "I was told nothing.")
	expect(t, events, "local_tool_result_in", object{"toolUseId": "call_a", "error": "400 invalid_request: invalid_request"})
}

func TestTooManyTurnsCanEndInAnAnswer(t *testing.T) {
	t.Parallel()
	spec := ask("finalize", "Go.", weather("sunny", nil))
	spec.Budgets = object{"maxToolTurns": 1, "maxToolTurnsExceeded": "finalize"}
	succeeds(t, serve(t).client(runsclient.Go), spec, "That is all I know.")
}

func TestAConversationGoesOn(t *testing.T) {
	t.Parallel()
	spec := ask("remember", "")
	spec.Messages = []runsclient.Message{{Role: "system", Content: "Be brief."}, {Role: "user", Content: "One?"}, {Role: "assistant", Content: "One."}, {Role: "user", Content: "Two?"}}
	forEachSDK(t, func(t *testing.T, c *runsclient.Client) { succeeds(t, c, spec, "echo: Two?") })
	// The system message serves as the prompt, which newer SDKs then omit.
	spec.SystemPrompt = ""
	succeeds(t, serve(t).client(runsclient.Python), spec, "echo: Two?")
}

func TestALargeResultOfAToolFitsItsFrame(t *testing.T) {
	t.Parallel()
	long := make([]byte, 2<<20-100)
	for i := range long {
		long[i] = '"'
	}
	r, err := serve(t).client(runsclient.Go).Run(t.Context(), ask("local_tool", "And today?", weather(string(long), nil)))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range r.Events {
		if size := len(jsonOf(t, e.Payload)); size > 1<<19 {
			t.Errorf("%s has %d bytes, twice", e.Type, size)
		}
	}
}
