//go:build !race

package agentruns

import (
	"bytes"
	"testing"

	"github.com/agentruntime/agentruntime/event"
)

// answerLog is the log of a run that says so many things.
func answerLog(tb testing.TB, deltas int) []event.Record {
	tb.Helper()
	data := []event.Data{&event.RunStart{}, &event.StepStart{Step: 1}}
	for range deltas {
		data = append(data, &event.TextDelta{Delta: "some words of an answer"})
	}
	data = append(data, &event.InferenceComplete{FinishReason: "stop"}, &event.StepEnd{Step: 1},
		&event.RunFinish{Result: &event.Output{Response: "done"}, Termination: event.Termination{Type: event.NaturalEnd}})
	log := make([]event.Record, len(data))
	for i := range data {
		log[i] = recordOf(tb, i+1, data[i])
	}
	return log
}

// BenchmarkFrame measures an event as a client gets it, in both forms.
func BenchmarkFrame(b *testing.B) {
	f := frame{Seq: 1234, Type: typeAssistantDelta, Payload: assistantDelta{Text: "some words of an answer"}}
	var out bytes.Buffer
	b.ReportAllocs()
	for b.Loop() {
		out.Reset()
		if err := f.writeTo(&out); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFanOut measures a log of 1,000 events that is told to 100 clients. The
// metric ns/event is for one event and one client.
func BenchmarkFanOut(b *testing.B) {
	const clients = 100
	log := answerLog(b, 1000)
	var out bytes.Buffer
	b.ReportAllocs()
	for b.Loop() {
		for range clients {
			s := &sender{translator: newTranslator(facts)}
			for i := range log {
				out.Reset()
				if err := s.writeRecord(&out, &log[i]); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*clients*len(log)), "ns/event")
}

// TestAnEventAllocatesLittle bounds what a piece of an answer allocates on its way
// from the log to a client.
func TestAnEventAllocatesLittle(t *testing.T) {
	const most = 12
	r := recordOf(t, 1, &event.TextDelta{Delta: "some words of an answer"})
	s := &sender{translator: newTranslator(facts)}
	var out bytes.Buffer
	got := testing.AllocsPerRun(1000, func() {
		out.Reset()
		if err := s.writeRecord(&out, &r); err != nil {
			t.Fatal(err)
		}
	})
	if got > most {
		t.Errorf("it is %.0f times; at most %d are allowed", got, most)
	}
}
