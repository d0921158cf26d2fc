package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/cli/internal/terminal"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
)

// hello is a configuration with an agent that repeats its input.
const hello = `version: 1
providers: {echo: {type: scripted}}
models: {m: {provider_id: echo, upstream_model: x}}
agents: {helper: {model_id: m}}
`

// runHello runs the agent of hello and returns the command's output.
func runHello(t *testing.T) (code int, out, err string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, []byte(hello), 0o600); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	code = run(t.Context(), []string{"run", file, "helper", "hello"}, terminal.Streams{In: strings.NewReader(""), Out: &stdout, Err: &stderr})
	return code, stdout.String(), stderr.String()
}

func TestARunIsTracedAsPartOfItsCaller(t *testing.T) {
	c := newCollector(t)
	setEnv(t, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT="+c.url+"/v1/traces",
		"TRACEPARENT=00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	if code, out, err := runHello(t); code != 0 || out != "echo: hello\n" || err != "= 1 step, 5 tokens (2 in, 3 out)\n" {
		t.Fatalf("exit code %d\n%s%s", code, out, err)
	}
	turn := false
	for _, s := range c.spans.GetResourceSpans()[0].GetScopeSpans()[0].GetSpans() {
		if string(s.GetTraceId()) != "\x4b\xf9\x2f\x35\x77\xb3\x4d\xa6\xa3\xce\x92\x9d\x0e\x0e\x47\x36" {
			t.Errorf("the span %s is of another trace", s.GetName())
		}
		turn = turn || s.GetName() == "invoke_agent helper"
	}
	if !turn {
		t.Errorf("no span is that of the turn: %v", c.spans.String())
	}
}

// Telemetry that cannot be sent or is misconfigured is reported and does not fail the run.
func TestARunWithoutACollectorSucceeds(t *testing.T) {
	setEnv(t, "OTEL_TRACES_EXPORTER=zipkin")
	code, out, err := runHello(t)
	if code != 0 || out != "echo: hello\n" {
		t.Errorf("exit code %d\n%s", code, out)
	}
	if want := "runtime: tracing is off: OTEL_TRACES_EXPORTER is \"zipkin\"; use otlp or none\n= 1 step, 5 tokens (2 in, 3 out)\n"; err != want {
		t.Errorf("%q, want %q", err, want)
	}
}

// Each event relevant to a person is one line, without terminal control sequences.
func TestWhatAPersonIsToldOfATurn(t *testing.T) {
	t.Parallel()
	for want, data := range map[string]event.Data{
		"! the model call failed (overloaded); attempt 3 follows (after 1.5s)":       &event.ModelRetry{Attempt: 2, Class: "overloaded", WaitMS: 1500},
		"! the answer broke off (timeout): it continues where it stopped (after 0s)": &event.ModelRetry{Attempt: 1, Class: "timeout", Plan: string(model.ContinueText)},
		"! the answer broke off (timeout): its complete calls are made": &event.ModelRetry{
			Attempt: 1, Class: "timeout", Plan: string(model.KeepToolCalls),
		},
		"! the answer broke off (timeout): it continues without the incomplete call (after 2s)": &event.ModelRetry{
			Attempt: 1, Class: "timeout", Plan: string(model.DropToolCall), WaitMS: 2000,
		},
		"! the answer broke off (timeout): it starts again (after 0s)":                        &event.ModelRetry{Attempt: 1, Class: "timeout", Plan: string(model.Restart)},
		"! the answer shown so far is discarded: the answer broke off":                        &event.StreamReset{Reason: "the answer broke off"},
		"! the call of look is withdrawn: the answer broke off":                               &event.ToolCallCancel{Name: "look", Reason: "the answer broke off"},
		"⇒ agent a hands the conversation to agent b":                                         &event.Handoff{From: "a", To: "b", Count: 1},
		"! the same calls were repeated 2 times in a row (look, read): they are not executed": &event.LoopDetected{Count: 2, Tools: []string{"look", "read"}},
		"! the same calls were repeated 3 times in a row (look): the model has to answer without tools": &event.LoopDetected{
			Count: 3, HardCutoff: true, Tools: []string{"look"},
		},
		"! 72 more calls of the answer are not made: the limit is 128": &event.ToolCallsOmitted{Omitted: 72, MaxCalls: 128},
		"! call 3 of look is not executed: the limit of a turn is 2":   &event.ToolBudgetExceeded{Tool: "look", Call: 3, MaxCalls: 2},
		"! the request was cut from 900 to 500 tokens of 600: 1 message left out, 2 results shortened": &event.ContextTrimmed{
			Dropped: 1, Previews: 2, Before: 900, After: 500, Limit: 600,
		},
		"! 7 messages are summarised: 900 tokens became 80": &event.ContextCompacted{
			Outcome: event.CompactionDone, Messages: 7, Before: 900, After: 80,
		},
		"! 1 message is not summarised (failed): rate_limited": &event.ContextCompacted{
			Outcome: event.CompactionFailed, Messages: 1, Reason: "rate_limited",
		},
		`→ look {}\u001b[2J`: &event.ToolCallReady{Name: "look", Arguments: []byte("{}\x1b[2J")},
		"← look succeeded (5 ms): one \\u202etwo\\u0000": &event.ToolCallDone{
			Name: "look", Outcome: event.CallSucceeded, DurationMS: 5, Result: event.ToolResult{Content: []event.Content{{Text: "one\r\n\u202etwo\x00"}}},
		},
		"← look failed (5 ms): *** " + strings.Repeat("x", 116) + "…": &event.ToolCallDone{
			Name: "look", Outcome: event.CallFailed, DurationMS: 5, Result: event.ToolResult{Content: []event.Content{{Text: "s3cret " + strings.Repeat("x", 200)}}},
		},
	} {
		var out, errs bytes.Buffer
		o := &show{
			Streams: terminal.Streams{Out: &out, Err: &errs}, format: "text",
			redact: func(text string) string { return strings.ReplaceAll(text, "s3cret", "***") },
		}
		o.Emit(event.Event{Data: data})
		if errs.String() != want+"\n" || out.Len() != 0 {
			t.Errorf("%T is shown as %q and %q, want %q", data, errs.String(), out.String(), want)
		}
	}
}

// An answer's text stays whole on standard output, whatever happens in the middle of it; a
// discarded answer ends its line.
func TestNotesDoNotBreakAnAnswer(t *testing.T) {
	t.Parallel()
	text := &event.TextDelta{Delta: "One, "}
	retry := &event.ModelRetry{Attempt: 1, Class: "timeout", Plan: string(model.ContinueText)}
	for _, tt := range []struct {
		events    []event.Data
		out, errs string
	}{
		{[]event.Data{text, retry, text}, "One, One, \n", "\n! the answer broke off (timeout): it continues where it stopped (after 0s)\n"},
		{[]event.Data{text, retry, retry, text, retry}, "One, One, \n", "\n" + strings.Repeat("! the answer broke off (timeout): it continues where it stopped (after 0s)\n", 2) +
			"\n! the answer broke off (timeout): it continues where it stopped (after 0s)\n"},
		{[]event.Data{text, &event.StreamReset{Reason: "it broke off"}, text}, "One, \nOne, \n", "! the answer shown so far is discarded: it broke off\n"},
		{[]event.Data{text, &event.StepEnd{}, retry}, "One, \n", "! the answer broke off (timeout): it continues where it stopped (after 0s)\n"},
	} {
		var out, errs bytes.Buffer
		o := &show{Streams: terminal.Streams{Out: &out, Err: &errs}, format: "text", redact: plain}
		for _, data := range tt.events {
			o.Emit(event.Event{Data: data})
		}
		if err := o.close(nil); err != nil {
			t.Error(err)
		}
		if out.String() != tt.out || errs.String() != tt.errs {
			t.Errorf("out %q, want %q; errors %q, want %q", out.String(), tt.out, errs.String(), tt.errs)
		}
	}
}
