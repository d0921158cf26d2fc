package openai

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/server/agentruns"
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
	for name, make := range map[string]func(a *answer) writer{
		"chat":      func(a *answer) writer { return newChatStream(a, true) },
		"responses": func(a *answer) writer { return newResponseStream(a, -1) },
	} {
		costs := func(deltas int) float64 {
			records := logOf(t, deltas)
			return testing.AllocsPerRun(3, func() {
				a := &answer{turn: &service.Turn{Turn: store.Turn{ID: "resp_x"}}, fold: newFold("resp_x", "clerk", turnRecord{Echo: new(echo)}, 0)}
				w := make(a)
				a.sink = w
				for i := range records {
					w.writeTo(new(bytes.Buffer))
					if err := a.apply(&records[i]); err != nil {
						t.Fatal(err)
					}
				}
				if a.over() == nil {
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

// BenchmarkFirstByte measures when a client reads the first event of a streamed
// completion, and of a run of agent-runs, in turn.
func BenchmarkFirstByte(b *testing.B) {
	w := serving(b)
	runs, err := agentruns.New(agentruns.Settings{Service: w.service})
	if err != nil {
		b.Fatal(err)
	}
	if err := w.server.Mount(b.Context(), runs); err != nil {
		b.Fatal(err)
	}
	w.client = &http.Client{Transport: &http.Transport{}}
	first := func(request, body string) time.Duration {
		begun := time.Now()
		resp, err := w.send(b.Context(), "alice", request, body)
		if err != nil {
			b.Fatal(err)
		}
		defer resp.Body.Close()
		lines := bufio.NewReader(resp.Body)
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				b.Fatal(err)
			}
			if strings.HasPrefix(line, "data: ") || strings.HasPrefix(line, "{") {
				took := time.Since(begun)
				_, _ = io.Copy(io.Discard, lines) // the connection is used again
				return took
			}
		}
	}
	var chat, run []time.Duration
	for b.Loop() {
		chat = append(chat, first("POST /v1/chat/completions", chatBody(said("hi"), `,"stream":true`)))
		begun := time.Now()
		var made struct{ StreamURL string }
		if err := json.Unmarshal(w.ask("alice", "POST /api/v1/workspaces/acme/agent-runs", `{"agentId":"clerk","prompt":"hi"}`, http.StatusAccepted), &made); err != nil {
			b.Fatal(err)
		}
		created := time.Since(begun)
		run = append(run, created+first("GET "+made.StreamURL, ""))
	}
	for name, took := range map[string][]time.Duration{"chat": chat, "agent-runs": run} {
		slices.Sort(took)
		b.ReportMetric(float64(took[len(took)/2].Microseconds()), fmt.Sprintf("p50-µs-%s", name))
	}
}
