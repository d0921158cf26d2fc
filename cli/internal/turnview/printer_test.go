package turnview

import (
	"bytes"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/cli/internal/terminal"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/model"
	"github.com/google/go-cmp/cmp"
)

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
		"! 7 messages are summarized: 900 tokens became 80": &event.ContextCompacted{
			Outcome: event.CompactionDone, Messages: 7, Before: 900, After: 80,
		},
		"! 1 message is not summarized (failed): rate_limited": &event.ContextCompacted{
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
		o := &Printer{
			Streams: terminal.Streams{Out: &out, Err: &errs}, format: "text",
			Redact: func(text string) string { return strings.ReplaceAll(text, "s3cret", "***") },
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
		o := &Printer{Streams: terminal.Streams{Out: &out, Err: &errs}, format: "text", Redact: plain}
		for _, data := range tt.events {
			o.Emit(event.Event{Data: data})
		}
		if err := o.Close(nil); err != nil {
			t.Error(err)
		}
		if out.String() != tt.out || errs.String() != tt.errs {
			t.Errorf("out %q, want %q; errors %q, want %q", out.String(), tt.out, errs.String(), tt.errs)
		}
	}
}

// A turn's outcome passed to programs hides the configured secrets, except for the model's answer.
func TestTheOutcomeIsRedacted(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	o := &Printer{
		Streams: terminal.Streams{Out: &out}, format: "json",
		Redact: func(text string) string { return strings.ReplaceAll(text, "s3cret", "***") },
	}
	r := result(event.Outcome{
		Agent: "a", Response: "the s3cret of the model", FinishReason: "stop",
		Termination: event.Termination{Type: event.Failed, Detail: "s3cret"}, Cost: &event.Cost{Amount: 0.25, Currency: "EUR"},
	})
	r.TurnID, r.Status = "id", event.StatusWaiting
	r.Interactions = []*interaction.Request{{ID: "t", Message: "the s3cret", Arguments: []byte(`{"key":"s3cret"}`)}}
	err := o.Close(r)
	if err != nil {
		t.Fatal(err)
	}
	want := `{
  "turn_id": "id",
  "agent": "a",
  "status": "waiting",
  "termination": {
    "type": "error",
    "detail": "***"
  },
  "response": "the s3cret of the model",
  "steps": 0,
  "usage": {
    "input_tokens": 0,
    "output_tokens": 0
  },
  "cost": {
    "amount": 0.25,
    "currency": "EUR"
  },
  "finish_reason": "stop",
  "tickets": [
    {
      "id": "t",
      "call_id": "",
      "tool": "",
      "arguments": {
        "key": "***"
      },
      "message": "the ***"
    }
  ]
}
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("the outcome (-want +got):\n%s", diff)
	}
}
