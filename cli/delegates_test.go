package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/event"
)

// delegateLog is the log of two concurrent delegates of the same agent, whose calls have the same
// id.
func delegateLog() []event.Event {
	first, second := []string{"c1"}, []string{"c1#2"}
	return []event.Event{
		{Data: &event.RunStart{AgentID: "boss"}},
		{Path: first, Data: &event.RunStart{AgentID: "clerk"}},
		{Path: second, Data: &event.RunStart{AgentID: "clerk"}},
		{Path: first, Data: &event.TextDelta{Delta: "one"}},
		{Path: second, Data: &event.TextDelta{Delta: "two"}},
		{Path: first, Data: &event.TextDelta{Delta: " more"}},
		{Path: first, Data: &event.ToolCallReady{ID: "x", Name: "copy", Arguments: json.RawMessage(`{}`)}},
		{Path: first, Data: &event.InferenceComplete{Model: "m"}},
		{Path: second, Data: &event.ToolCallReady{ID: "x", Name: "sort", Arguments: json.RawMessage(`{}`)}},
		{Path: second, Data: &event.InferenceComplete{Model: "m"}},
		{Path: first, Data: &event.ToolCallDone{ID: "x", Name: "copy", Outcome: event.CallSucceeded, Result: event.ToolResult{Content: []event.Content{{Type: "text", Text: "copied"}}}}},
		{Path: []string{"c1#2", "c9"}, Data: &event.TextDelta{Delta: "without a beginning"}},
		{Path: second, Data: &event.RunFinish{Status: event.StatusFailed, Termination: event.Termination{Type: event.Failed, Detail: "no ink"}}},
		{Data: &event.TextDelta{Delta: "Done."}},
		{Data: &event.InferenceComplete{Model: "m"}},
		{Data: &event.RunFinish{Status: event.StatusSucceeded, Termination: event.Termination{Type: event.NaturalEnd}, Result: &event.Output{Response: "Done."}, Steps: 1}},
	}
}

func TestDelegatesAreToldApart(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	shown := newTranscript(&out, func(s string) string { return s })
	for _, ev := range delegateLog() {
		shown.Emit(ev)
	}
	if err := shown.close(); err != nil {
		t.Fatal(err)
	}
	const want = `turn> started (running)
[clerk] turn> started (running)
[clerk#2] turn> started (running)
[clerk] assistant> one more
[clerk] tool> Running copy {}
[clerk#2] assistant> two
[clerk#2] tool> Running sort {}
[clerk] tool> Ran copy (succeeded) "copied"
[clerk#2] error> no ink
assistant> Done.
turn> completed (1 step)
[clerk#2/c9] assistant> without a beginning
`
	if out.String() != want {
		t.Errorf("the transcript is\n%s\nand should be\n%s", out.String(), want)
	}
}

func TestTheScreenTellsDelegatesApart(t *testing.T) {
	t.Parallel()
	front := &screenFront{redact: func(s string) string { return s }}
	front.begin()
	for _, ev := range delegateLog() {
		front.Emit(ev)
	}
	m := &chatModel{front: front, chatPane: chatPane{width: 80, height: 40, follow: true}}
	for _, change := range front.takeChanges() {
		change(m)
	}
	var got []string
	for _, b := range m.blocks {
		text := b.text
		if b.call != nil {
			text = b.call.Label + " " + text
		}
		got = append(got, joinNames(": ", b.delegate, text))
	}
	want := []string{"clerk: one more", "clerk#2: two", "clerk: copy \"copied\"", "clerk#2: sort ", "clerk#2/c9: without a beginning", "clerk#2: no ink", "Done."}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("the blocks are\n%s\nand should be\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if lines := m.render(m.blocks[0]); !strings.Contains(lines[0], "[clerk]") {
		t.Errorf("the first block is rendered as %q", lines)
	}
}
