//go:build unix && !race

package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	goruntime "runtime"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/internal/testkit/surfacetest"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/agentruns"
	"github.com/agentruntime/agentruntime/server/agui"
	"github.com/agentruntime/agentruntime/server/aisdk"
	"github.com/agentruntime/agentruntime/server/openai"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/spec"
)

// Limits for the protocols of other clients, relative to agent-runs in the same run.
const (
	maxFirstByte = 1.2
	// maxGrowth limits the memory growth of an answer of four times the length.
	maxGrowth = 5.5
	// maxIdleSurfaces limits the memory growth of a run if the server has all surfaces.
	maxIdleSurfaces = 1.02
)

// talker is a model that answers in the number of chunks given in the message, as text or as call
// arguments.
type talker struct{}

// Stream answers.
func (talker) Stream(_ context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	last := &req.Messages[len(req.Messages)-1]
	words := append(strings.Fields(last.Text()), "", "")
	n := 1
	_, _ = fmt.Sscan(words[1], &n) // otherwise one piece
	if words[0] != "arguments" {
		return ending(model.FinishStop, func(yield func(model.Event, error) bool) { ramble(n, yield) })
	}
	return ending(model.FinishToolCalls, func(yield func(model.Event, error) bool) {
		list := []model.Event{{Type: model.EventToolCallStart, ID: "call_1", Name: "write"}, {Type: model.EventToolCallDelta, Delta: `{"text":"`}}
		for range n {
			list = append(list, model.Event{Type: model.EventToolCallDelta, Delta: "a few words of it "})
		}
		for _, ev := range append(list, model.Event{Type: model.EventToolCallEnd, Delta: `"}`}) {
			if !yield(ev, nil) {
				return
			}
		}
	})
}

// surfaces is a server of agent-runs and the protocols of other clients.
type surfaces struct {
	*surfacetest.World
	tb testing.TB
	n  int
}

// serveSurfaces serves agent-runs and, if all is set, the other protocols.
func serveSurfaces(tb testing.TB, all bool) *surfaces {
	tb.Helper()
	w := surfacetest.Serve(tb, func(s *service.Service) (server.Surface, error) { return agentruns.New(agentruns.Settings{Service: s}) },
		func(b *builder.AgentRuntimeBuilder) {
			b.WithProvider("talk", talker{}).WithModel(spec.Model{ID: "talk", ProviderID: "talk", UpstreamModel: "m"}).
				WithAgentSpec(spec.Agent{ID: "talker", ModelID: "talk", AllowedTools: spec.Names{}})
		})
	w.Client = &http.Client{Transport: &http.Transport{}}
	if all {
		for _, make := range []func() (server.Surface, error){
			func() (server.Surface, error) { return openai.New(server.SurfaceSettings{Service: w.Service}) },
			func() (server.Surface, error) { return agui.New(server.SurfaceSettings{Service: w.Service}) },
			func() (server.Surface, error) { return aisdk.New(server.SurfaceSettings{Service: w.Service}) },
		} {
			surface, err := make()
			if err == nil {
				err = w.Server.Mount(tb.Context(), surface)
			}
			if err != nil {
				tb.Fatal(err)
			}
		}
	}
	return &surfaces{World: w, tb: tb}
}

// write is a client tool, in the form of each protocol.
const (
	writeFunction = `[{"type":"function","function":{"name":"write","parameters":{"type":"object"}}}]`
	writeTool     = `[{"name":"write","description":"Writes.","parameters":{"type":"object"}}]`
)

// streams returns requests that make an agent stream its answer to a text.
func (s *surfaces) streams() map[string]func(text string) (request, body string) {
	return map[string]func(text string) (string, string){
		"openai": func(text string) (string, string) {
			return "POST /v1/chat/completions", fmt.Sprintf(`{"model":"talker","stream":true,"tools":%s,"messages":[{"role":"user","content":%q}]}`, writeFunction, text)
		},
		"agui": func(text string) (string, string) {
			return "POST /agui/talker", fmt.Sprintf(`{"threadId":"t%d","runId":"r%d","tools":%s,"messages":[{"id":"m","role":"user","content":%q}]}`, s.n, s.n, writeTool, text)
		},
		"aisdk": func(text string) (string, string) {
			return "POST /aisdk/talker", fmt.Sprintf(`{"id":"c%d","tools":%s,"messages":[{"id":"m","role":"user","parts":[{"type":"text","text":%q}]}]}`, s.n, writeTool, text)
		},
	}
}

// read reads a stream to its end, and returns the time of its first event and its length.
func (s *surfaces) read(request, body string) (first time.Duration, size int64) {
	s.tb.Helper()
	begun := time.Now()
	resp, err := s.Send(s.tb.Context(), "alice", request, body)
	if err != nil {
		s.tb.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		s.tb.Fatalf("%s: %s", request, resp.Status)
	}
	for lines := bufio.NewReader(resp.Body); ; {
		line, err := lines.ReadString('\n')
		if size += int64(len(line)); err != nil {
			s.tb.Fatal(request, err)
		}
		if strings.HasPrefix(line, "data: ") || strings.HasPrefix(line, "{") {
			first = time.Since(begun)
			rest, err := io.Copy(io.Discard, lines)
			if err != nil {
				s.tb.Fatal(request, err)
			}
			return first, size + rest
		}
	}
}

// run creates a run of agent-runs and reads it.
func (s *surfaces) run(text string) time.Duration {
	s.tb.Helper()
	begun := time.Now()
	var made struct{ StreamURL string }
	data := s.Ask("alice", "POST /api/v1/workspaces/acme/agent-runs", fmt.Sprintf(`{"agentId":"talker","prompt":%q}`, text), http.StatusAccepted)
	if err := json.Unmarshal(data, &made); err != nil {
		s.tb.Fatal(err)
	}
	created := time.Since(begun)
	first, _ := s.read("GET "+made.StreamURL, "")
	return created + first
}

// BenchmarkFirstByte measures the time to the first event of a stream of each protocol, alternating
// with agent-runs.
func BenchmarkFirstByte(b *testing.B) {
	s := serveSurfaces(b, true)
	took := map[string][]time.Duration{}
	for b.Loop() {
		s.n++
		took["agent-runs"] = append(took["agent-runs"], s.run("hi"))
		for name, make := range s.streams() {
			first, _ := s.read(make("hi"))
			took[name] = append(took[name], first)
		}
	}
	runs := percentile(took["agent-runs"], 0.5)
	for name := range took {
		p50 := percentile(took[name], 0.5)
		b.ReportMetric(float64(p50.Microseconds()), "p50-µs-"+name)
		if b.N >= 100 && float64(p50) > maxFirstByte*float64(runs) {
			b.Errorf("%s: the first event comes after %s, and one of agent-runs after %s", name, p50, runs)
		}
	}
}

// TestStreamsScaleLinearly compares the memory used by whole answers of 1,000 and 4,000 chunks.
func TestStreamsScaleLinearly(t *testing.T) {
	s := serveSurfaces(t, true)
	cost := func(name, text string) (bytes uint64, size int64) {
		var before, after goruntime.MemStats
		const times = 3
		for range times {
			s.n++
			goruntime.ReadMemStats(&before)
			_, size = s.read(s.streams()[name](text))
			goruntime.ReadMemStats(&after)
			bytes += (after.TotalAlloc - before.TotalAlloc) / times
		}
		return bytes, size
	}
	for name := range s.streams() {
		for _, kind := range []string{"text", "arguments"} {
			_, _ = cost(name, kind+" 10")
			short, size := cost(name, kind+" 1000")
			long, _ := cost(name, kind+" 4000")
			t.Logf("%s, %s: %d and %d bytes for %d characters", name, kind, short, long, size)
			if float64(long) > maxGrowth*float64(short) {
				t.Errorf("%s, %s: 1,000 pieces need %d bytes, and 4,000 %d", name, kind, short, long)
			}
		}
	}
}

// TestTurnsDoNotPayForOtherSurfaces compares the memory of runs on servers with and without
// the protocols of other clients.
func TestTurnsDoNotPayForOtherSurfaces(t *testing.T) {
	cost := func(all bool) uint64 {
		s := serveSurfaces(t, all)
		var before, after goruntime.MemStats
		for range 20 {
			s.run("hi")
		}
		goruntime.ReadMemStats(&before)
		for range 200 {
			s.run("hi")
		}
		goruntime.ReadMemStats(&after)
		return (after.TotalAlloc - before.TotalAlloc) / 200
	}
	alone, all := cost(false), cost(true)
	if t.Logf("a run needs %d bytes on a server of agent-runs, and %d on one with all surfaces", alone, all); float64(all) > maxIdleSurfaces*float64(alone) {
		t.Errorf("a run needs %d bytes on a server of agent-runs, and %d on one with all surfaces", alone, all)
	}
}
