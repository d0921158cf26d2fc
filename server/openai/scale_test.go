package openai

import (
	"bytes"
	"testing"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/server/openai/internal/chat"
	"github.com/agentruntime/agentruntime/server/openai/internal/responses"
	"github.com/agentruntime/agentruntime/server/openai/internal/run"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/store"
)

// logOf returns the log of a turn that says so many deltas.
func logOf(t testing.TB, deltas int) []event.Record {
	t.Helper()
	data := []event.Data{&event.RunStart{AgentID: "clerk"}, &event.StepStart{Step: 1}}
	for range deltas {
		data = append(data, &event.TextDelta{Delta: "word "})
	}
	data = append(data, &event.InferenceComplete{FinishReason: model.FinishStop}, &event.StepEnd{Step: 1},
		&event.RunFinish{Status: event.StatusSucceeded, Termination: event.Termination{Type: event.NaturalEnd}, Result: &event.Output{}})
	records := make([]event.Record, len(data))
	for i := range data {
		var err error
		if records[i], err = event.NewRecord(event.Event{Seq: uint64(i + 1), TurnID: "resp_x", Data: data[i]}); err != nil {
			t.Fatal(err)
		}
	}
	return records
}

// TestStreamsScaleWithTheirLength compares what 1,000 and 4,000 deltas allocate.
func TestStreamsScaleWithTheirLength(t *testing.T) {
	for name, make := range map[string]func(a *run.Answer) run.Sink{
		"chat":      func(a *run.Answer) run.Sink { return chat.NewStream(a, true) },
		"responses": func(a *run.Answer) run.Sink { return responses.NewStream(a, -1) },
	} {
		costs := func(deltas int) float64 {
			records := logOf(t, deltas)
			return testing.AllocsPerRun(3, func() {
				a := &run.Answer{Turn: &service.Turn{Turn: store.Turn{ID: "resp_x"}}, Fold: run.NewFold("resp_x", "clerk", run.Record{Echo: new(run.Echo)}, 0)}
				a.Sink = make(a)
				for i := range records {
					a.WriteTo(new(bytes.Buffer))
					if err := a.Add(records[i : i+1]); err != nil {
						t.Fatal(err)
					}
				}
				if a.Over() == nil {
					t.Fatal("it does not end")
				}
			})
		}
		short, long := costs(1000), costs(4000)
		if t.Logf("%s: %.1f allocations a delta", name, long/4000); long > 4.1*short {
			t.Errorf("%s: 1,000 deltas need %.0f allocations, and 4,000 %.0f", name, short, long)
		}
	}
}
