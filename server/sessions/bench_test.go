package sessions

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/sqlite"
)

// servingOnSQLite returns a world on SQLite.
func servingOnSQLite(b *testing.B) *world {
	b.Helper()
	at := store.Settings{DSN: filepath.Join(b.TempDir(), "turns.db")}
	if _, err := sqlite.Migrate(b.Context(), at); err != nil {
		b.Fatal(err)
	}
	kept, err := sqlite.Open(b.Context(), at)
	if err != nil {
		b.Fatal(err)
	}
	return servingOn(b, kept, twoProviders)
}

// reportTimes reports the middle and the slowest of times, and fails if one of them is
// longer than it may be. Zero is as long as it likes.
func reportTimes(b *testing.B, took []time.Duration, maxHalf, maxAlmostAll time.Duration) {
	b.Helper()
	slices.Sort(took)
	half, almostAll := took[len(took)/2], took[len(took)*99/100]
	b.ReportMetric(float64(half.Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(almostAll.Microseconds())/1000, "p99-ms")
	if len(took) < 100 {
		return
	}
	if maxHalf > 0 && half > maxHalf {
		b.Errorf("half of the requests take more than %s: %s", maxHalf, half)
	}
	if maxAlmostAll > 0 && almostAll > maxAlmostAll {
		b.Errorf("of 100 requests one takes more than %s: %s", maxAlmostAll, almostAll)
	}
}

// request sends a request of alice, and returns its response.
func (w *world) request(client *http.Client, method, path, body string) *http.Response {
	req, err := http.NewRequestWithContext(w.t.Context(), method, w.url+"/api/v1"+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer alice")
	resp, err := client.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	return resp
}

// BenchmarkCreateTurn makes turns on SQLite, each in a session of its own, and measures
// until the response. Half of them may take 3 ms.
func BenchmarkCreateTurn(b *testing.B) {
	w := servingOnSQLite(b)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1}}
	defer client.CloseIdleConnections()
	var took []time.Duration
	b.ResetTimer()
	for range b.N {
		b.StopTimer()
		s := do[sessionView](w, "POST /agent/sessions", "")
		b.StartTimer()
		began := time.Now()
		resp := w.request(client, http.MethodPost, "/agent/sessions/"+s.ID+"/turns", `{"messages":[{"role":"user","text":"Good morning"}]}`)
		text, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		took = append(took, time.Since(began))
		if err != nil || resp.StatusCode != http.StatusCreated {
			b.Fatalf("%s %s %v", resp.Status, text, err)
		}
		b.StopTimer()
		w.until(resultID(text), "succeeded")
		b.StartTimer()
	}
	b.StopTimer()
	reportTimes(b, took, 3*time.Millisecond, 0)
}

// resultID returns the id in a response.
func resultID(body []byte) string {
	_, id, _ := strings.Cut(string(body), `"id":"`)
	id, _, _ = strings.Cut(id, `"`)
	return id
}

// BenchmarkReaders has 10 turns on SQLite read as streams by 20 clients each, and measures
// from the event of a turn's end, as the log has it, until each of them has read it. Of 100
// readers 99 may take 40 ms.
func BenchmarkReaders(b *testing.B) {
	const turns, readers = 10, 20
	w := servingOnSQLite(b)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: turns * readers}}
	defer client.CloseIdleConnections()
	var mu sync.Mutex
	var took []time.Duration
	for b.Loop() {
		var open, all sync.WaitGroup
		ids := make([]string, turns)
		for i := range ids {
			s := do[sessionView](w, "POST /agent/sessions", "")
			ids[i] = w.say(s.ID, "hang", "").ID
			for range readers {
				open.Add(1)
				all.Go(func() {
					late, err := w.readToEnd(client, ids[i], open.Done)
					if err != nil {
						b.Error(err)
						return
					}
					mu.Lock()
					took = append(took, late)
					mu.Unlock()
				})
			}
		}
		open.Wait()
		for _, id := range ids {
			do[turnView](w, "POST /agent/turns/"+id+"/cancel", `{"reason":"enough"}`)
		}
		all.Wait()
	}
	reportTimes(b, took, 0, 40*time.Millisecond)
}

// readToEnd reads a stream to its end, and returns how long after its last event was made
// that was read. It calls begun once it has read an event.
func (w *world) readToEnd(client *http.Client, turn string, begun func()) (late time.Duration, err error) {
	resp := w.request(client, http.MethodGet, "/agent/turns/"+turn+"/events/stream", "")
	defer resp.Body.Close()
	lines, first := bufio.NewScanner(resp.Body), sync.OnceFunc(begun)
	defer first()
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		now := time.Now()
		first()
		_, made, _ := strings.Cut(data, `"createdAt":"`)
		made, _, _ = strings.Cut(made, `"`)
		at, err := time.Parse(time.RFC3339Nano, made)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", data, err)
		}
		late = now.Sub(at)
	}
	return late, lines.Err()
}

// BenchmarkListSessions lists 50 of 100,000 sessions of a caller on SQLite. Half of the
// requests may take 1 ms.
func BenchmarkListSessions(b *testing.B) {
	w := servingOnSQLite(b)
	caller := service.Caller{Tenant: "acme", Subject: "alice"}
	made := do[sessionView](w, "POST /agent/sessions", `{"metadata":{"a":"b"}}`)
	like, err := w.service.GetSession(b.Context(), caller, made.ID)
	if err != nil {
		b.Fatal(err)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 100_000 / 8 {
				if _, err := w.service.CreateSession(context.Background(), caller, service.CreateSession{AgentID: like.AgentID, Labels: like.Labels, Metadata: like.Metadata}); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1}}
	defer client.CloseIdleConnections()
	for name, path := range map[string]string{"all": "/agent/sessions?view=summary&limit=50", "provider": "/agent/sessions?view=summary&limit=50&provider=clerk&state=active"} {
		b.Run(name, func(b *testing.B) {
			var took []time.Duration
			for b.Loop() {
				began := time.Now()
				resp := w.request(client, http.MethodGet, path, "")
				text, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				took = append(took, time.Since(began))
				if err != nil || strings.Count(string(text), `"state":"active"`) != 50 {
					b.Fatalf("%s %.300s %v", resp.Status, text, err)
				}
			}
			reportTimes(b, took, time.Millisecond, 0)
		})
	}
}
