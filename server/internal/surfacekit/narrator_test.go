package surfacekit_test

import (
	"testing"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
)

// logOf returns the log of a turn with one model call.
func logOf(t testing.TB, said ...event.Data) []event.Record {
	t.Helper()
	data := append([]event.Data{&event.RunStart{AgentID: "clerk"}, &event.StepStart{Step: 1}}, said...)
	data = append(data, &event.InferenceComplete{FinishReason: model.FinishStop}, &event.StepEnd{Step: 1},
		&event.RunFinish{Status: event.StatusSucceeded, Termination: event.Termination{Type: event.NaturalEnd}, Result: &event.Output{}})
	records := make([]event.Record, len(data))
	for i := range data {
		var err error
		if records[i], err = event.NewRecord(event.Event{Seq: uint64(i + 1), TurnID: "turn", Data: data[i]}); err != nil {
			t.Fatal(err)
		}
	}
	return records
}

// TestNarrationScalesLinearly compares the memory for 1,000 and 4,000 deltas.
func TestNarrationScalesLinearly(t *testing.T) {
	for name, deltas := range map[string]func(n int) []event.Data{
		"text": func(n int) (said []event.Data) {
			for range n {
				said = append(said, &event.TextDelta{Delta: "some words "})
			}
			return said
		},
		"arguments": func(n int) []event.Data {
			arguments, said := `["`, []event.Data{&event.ToolCallStart{ID: "c", Name: "tool"}, &event.ToolCallDelta{ID: "c", Delta: `["`}}
			for range n {
				arguments, said = arguments+"some words ", append(said, &event.ToolCallDelta{ID: "c", Delta: "some words "})
			}
			return append(said, &event.ToolCallDelta{ID: "c", Delta: `"]`}, &event.ToolCallReady{ID: "c", Name: "tool", Arguments: []byte(arguments + `"]`)})
		},
	} {
		cost := func(n int) int64 {
			records := logOf(t, deltas(n)...)
			return testing.Benchmark(func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if err := surfacekit.NewNarrator("turn", 0, 0, nil).Add(records); err != nil {
						b.Fatal(err)
					}
				}
			}).AllocedBytesPerOp()
		}
		short, long := cost(1000), cost(4000)
		if t.Logf("%s: %d and %d bytes", name, short, long); long > 5*short {
			t.Errorf("%s: 1,000 deltas need %d bytes, and 4,000 %d", name, short, long)
		}
	}
}

// TestAQuestionBelongsToTheAnswerThatEndsWithIt reads the log before the turn waits for the second one.
func TestAQuestionBelongsToTheAnswerThatEndsWithIt(t *testing.T) {
	t.Parallel()
	ask := func(id string) event.Data { return &event.InteractionRequest{Request: interaction.Request{ID: id}} }
	records := logOf(t, ask("one"), &event.RunWaiting{Interactions: []string{"one"}}, ask("two"))
	n := surfacekit.NewNarrator("turn", 0, 9, nil)
	if err := n.Add(records[:5]); err != nil {
		t.Fatal(err)
	}
	if len(n.Questions) != 2 || n.Questions[0].Segment != 0 || n.Questions[1].Segment != 1 {
		t.Errorf("they are %+v", n.Questions)
	}
}
