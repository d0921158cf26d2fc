package vendorhttp

import (
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/model"
)

// separated returns the remaining text of events, with the kind before each chunk.
func separated(events ...model.Event) string {
	var t thoughts
	var all strings.Builder
	for _, ev := range append(events, model.Event{Type: model.EventFinish}) {
		for _, got := range t.separate([]model.Event{ev}) {
			switch got.Type {
			case model.EventText:
				all.WriteString("|" + got.Delta)
			case model.EventReasoning:
				all.WriteString("~" + got.Delta)
			case model.EventReset:
				all.WriteString("|reset")
			case model.EventToolCallStart:
				all.WriteString("|call")
			default:
			}
		}
	}
	return all.String()
}

func TestThoughtsAmongOtherEvents(t *testing.T) {
	text := func(piece string) model.Event { return model.Event{Type: model.EventText, Delta: piece} }
	call := model.Event{Type: model.EventToolCallStart}
	thought := model.Event{Type: model.EventReasoning, Delta: "Hm."}
	for want, events := range map[string][]model.Event{
		"~Hm.|hi":                    {text("<think>Hm.</think>hi")},
		"~Hm.|call~Oh.|hi":           {text("<think>Hm.</think>"), call, text("<think>Oh.</think>hi")},
		"|hi|call~Oh.":               {text("hi"), call, text("<think>Oh.")},
		"|<thi|call|hi":              {text("<thi"), call, text("hi")},
		"~Hm.|a\n|</think>\n|b":      {thought, text("a\n"), text("</think>\n"), text("b")},
		"|a\n|call|</think>b":        {text("a\n"), call, text("</think>b")},
		"|a\n|reset~a\n|b":           {text("a\n"), text("</think>\n"), text("b")},
		"~a|b\n|</think>c":           {text("<think>a</think>b\n"), text("</think>c")},
		"|a |</think>\n|\n|</think>": {text("a "), text("</think>\n"), text("\n"), text("</think>")},
		"":                           {text("")},
	} {
		if got := separated(events...); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestManyClosingTagsAreReadQuickly reads text that a naive reader would join for each tag.
func TestManyClosingTagsAreReadQuickly(t *testing.T) {
	events := make([]model.Event, 50_000)
	for i := range events {
		events[i] = model.Event{Type: model.EventText, Delta: "a</think>"}
	}
	if got := separated(events...); strings.Count(got, "</think>") != len(events) {
		t.Errorf("%d bytes are left", len(got))
	}
}
