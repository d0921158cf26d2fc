package turnview

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/cli/internal/terminal"
	"github.com/agentruntime/agentruntime/event"
)

// recordOf returns a stored event.
func recordOf(t *testing.T, data event.Data, path ...string) *event.Record {
	t.Helper()
	r, err := event.NewRecord(event.Event{Seq: 7, Time: time.Date(2026, 1, 2, 3, 4, 5, 6_000_000, time.UTC), TurnID: "t", SessionID: "s", Path: path, Data: data})
	if err != nil {
		t.Fatal(err)
	}
	return &r
}

func withoutSecret(text string) string { return strings.ReplaceAll(text, "s3cret", "***") }

// TestEventsAreOneLine checks the line that the log prints for each kind of event.
func TestEventsAreOneLine(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		data event.Data
		want string
	}{
		{&event.RunStart{AgentID: "clerk"}, "agent clerk"},
		{&event.RunStart{AgentID: "clerk", Resumed: true}, "agent clerk resumes"},
		{&event.RunFinish{Status: event.StatusSucceeded, Termination: event.Termination{Type: event.NaturalEnd}}, "succeeded: natural_end"},
		{&event.RunFinish{Status: event.StatusFailed, Termination: event.Termination{Type: event.Failed, Detail: "s3cret is wrong"}}, "failed: *** is wrong"},
		{&event.StepStart{Step: 3}, "step 3"},
		{&event.StepEnd{Step: 3}, "step 3"},
		{&event.TextDelta{Delta: "one\n two"}, "one two"},
		{&event.ReasoningDelta{Delta: "hm\x1b[2J"}, `hm\u001b[2J`},
		{&event.ToolCallStart{Name: "pay"}, "pay"},
		{&event.ToolCallReady{Name: "pay", Arguments: json.RawMessage(`{"key":"s3cret"}`)}, `pay {"key":"***"}`},
		{&event.ToolCallDone{Name: "pay", Outcome: event.CallFailed, Result: event.ToolResult{Content: []event.Content{{Text: "no money"}}}}, "pay failed: no money"},
		{&event.InferenceComplete{Model: "large", FinishReason: "stop", Usage: event.Usage{Input: 5, Output: 2}}, "large: stop, 5 tokens in, 2 out"},
		{&event.RunWaiting{Interactions: []string{"q1", "q2"}}, "for q1, q2"},
		{&event.ToolBudgetExceeded{Tool: "look", Call: 3, MaxCalls: 2}, "call 3 of look is not executed: the limit of a turn is 2"},
		{&event.TextDelta{Delta: strings.Repeat("x", 130)}, strings.Repeat("x", 120) + "…"},
	} {
		var out bytes.Buffer
		r := recordOf(t, tt.data)
		if err := NewEventLog(terminal.Streams{Out: &out}, false, withoutSecret).Record(r); err != nil {
			t.Fatal(err)
		}
		_, text, _ := strings.Cut(out.String(), string(r.Type))
		if got := strings.TrimSpace(text); got != tt.want || !strings.HasPrefix(out.String(), "     7  2026-01-02T03:04:05.006Z  "+string(r.Type)) {
			t.Errorf("%T: %q, want %q", tt.data, out.String(), tt.want)
		}
	}
}

// TestEventsOfDelegatesAndLaterVersions shows the path of a delegate, and an unknown event as it is.
func TestEventsOfDelegatesAndLaterVersions(t *testing.T) {
	t.Parallel()
	later := &event.Record{Seq: 7, TurnID: "t", Type: "of/the-future", Data: json.RawMessage(`{"key":"s3cret"}`)}
	for _, tt := range []struct {
		record *event.Record
		asJSON bool
		want   string
	}{
		{recordOf(t, &event.StepStart{Step: 1}, "call_1", "call_2"), false, "call_1/call_2: step 1\n"},
		{later, false, "of/the-future          {\"key\":\"***\"}\n"},
		{later, true, `"turn_id":"t","key":"***"}`},
		{recordOf(t, &event.TextDelta{Delta: "s3cret"}), true, `"delta":"s3cret"`}, // as the model wrote it
		{recordOf(t, &event.ToolCallDone{Name: "s3cret"}), true, `"name":"***"`},
		{recordOf(t, &event.RunFinish{Termination: event.Termination{Detail: "s3cret"}}), true, `"detail":"***"`},
	} {
		var out bytes.Buffer
		if err := NewEventLog(terminal.Streams{Out: &out}, tt.asJSON, withoutSecret).Record(tt.record); err != nil || !strings.Contains(out.String(), tt.want) {
			t.Errorf("%s, %v, want %s", out.String(), err, tt.want)
		}
		if tt.asJSON && !json.Valid(out.Bytes()) {
			t.Errorf("not JSON: %s", out.String())
		}
	}
}

// fullDisk fails every write.
type fullDisk struct{}

var errFull = errors.New("no space left")

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

// TestALogThatCannotBeWrittenFails reports the first error of writing, in each form.
func TestALogThatCannotBeWrittenFails(t *testing.T) {
	t.Parallel()
	for _, asJSON := range []bool{false, true} {
		log := NewEventLog(terminal.Streams{Out: fullDisk{}}, asJSON, withoutSecret)
		if err := log.Record(recordOf(t, &event.StepStart{Step: 1})); !errors.Is(err, errFull) {
			t.Errorf("JSON %t: %v", asJSON, err)
		}
	}
}
