package agents

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// maxTurnOverHTTP is what a turn over HTTP on SQLite may take, half of the time.
const maxTurnOverHTTP = 3 * time.Millisecond

// BenchmarkTurnOverHTTP runs turns of a declared agent over HTTP on SQLite, each in a
// session of its own and with one call of a model that answers at once. It fails if half of
// them take too long.
func BenchmarkTurnOverHTTP(b *testing.B) {
	for name, accept := range map[string]string{"json": "application/json", "stream": "text/event-stream"} {
		b.Run(name, func(b *testing.B) {
			kept, work := onSQLite(b)
			w := servingOn(b, kept, work)
			client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1}}
			defer client.CloseIdleConnections()
			var took []time.Duration
			for b.Loop() {
				began := time.Now()
				w.runOnce(client, accept)
				took = append(took, time.Since(began))
			}
			slices.Sort(took)
			half := took[len(took)/2]
			b.ReportMetric(float64(half.Microseconds())/1000, "p50-ms")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
			if len(took) > 100 && half > maxTurnOverHTTP {
				b.Errorf("half of the turns take more than %s: %s", maxTurnOverHTTP, half)
			}
		})
	}
}

// runOnce runs a turn of alice.
func (w *world) runOnce(client *http.Client, accept string) {
	req, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, w.url+"/agents/clerk", strings.NewReader(say("Good morning", "{}")))
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer alice")
	req.Header.Set("Accept", accept)
	resp, err := client.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	if text, err := io.ReadAll(resp.Body); err != nil || !strings.Contains(string(text), `"finishReason":"stop"`) {
		w.t.Fatalf("%s %s %v", resp.Status, text, err)
	}
}
