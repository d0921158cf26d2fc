//go:build unix && !race

package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	goruntime "runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/server/native"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/spec"
)

// The cost limits of a server of runs.
const (
	maxCreation   = 3 * time.Millisecond
	maxEventDelay = 100 * time.Millisecond
	// The SDK of A2A has one goroutine more for a stream than net/http, which has two.
	maxIdleKiB        = 48
	maxIdleA2AKiB     = 64
	maxIdleGoroutines = 3.01
	maxRunOverTurn    = 1.3
	maxReplay         = 400 * time.Millisecond
	replayedEvents    = 20_000
	liveStreams       = 500
	idleStreams       = 5_000
	overheadClients   = 32
)

// twoCalls requests a run with two model calls and a tool call, and asksBack a run that waits for a
// client tool.
const (
	twoCalls = `{"agentId":"assistant","prompt":"` + question + `"}`
	asksBack = `{"agentId":"alone","prompt":"look","tools":[{"kind":"local","name":"look"}]}`
)

// percentile sorts the times and returns a percentile.
func percentile(took []time.Duration, p float64) time.Duration {
	slices.Sort(took)
	return took[int(p*float64(len(took)-1))]
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// BenchmarkRunCreation measures requests for runs, sequentially, with an API key.
func BenchmarkRunCreation(b *testing.B) {
	onEach(b, func(b *testing.B, settings service.Settings) {
		s := serveRuns(b, settings)
		var took []time.Duration
		for b.Loop() {
			o := s.order("create")
			o.Runs, o.Body = 300, twoCalls
			seen, end := runClients(b, o)
			end()
			took = append(took, seen.Took...)
		}
		report(b, took)
		if strings.HasSuffix(b.Name(), "sqlite") && percentile(took, 0.5) > maxCreation {
			b.Errorf("a run is created in %s, not %s", percentile(took, 0.5), maxCreation)
		}
	})
}

// BenchmarkWholeRuns measures runs of two model calls, from the request to the last
// event, 32 at a time.
func BenchmarkWholeRuns(b *testing.B) {
	const runs = 1600
	s := serveRuns(b, onDisk(b, 128))
	for b.Loop() {
		o := s.order("whole")
		o.Clients, o.Runs, o.Body = overheadClients, runs, twoCalls
		_, end := runClients(b, o)
		end()
	}
	b.ReportMetric(runs*float64(b.N)/b.Elapsed().Seconds(), "runs/s")
}

// BenchmarkLiveStreams measures the latency of an event from the model to the client: 500 runs emit
// text 20 times a second, and each is streamed to one client.
func BenchmarkLiveStreams(b *testing.B) {
	s := serveRuns(b, onDisk(b, liveStreams+8))
	var took []time.Duration
	events := 0
	var spent, elapsed time.Duration
	for b.Loop() {
		o := s.order("live")
		o.Clients, o.Settle, o.Body = liveStreams, 3*time.Second, `{"agentId":"alone","prompt":"drip 160 50ms"}`
		before, begun := cpu(b), time.Now()
		seen, end := runClients(b, o)
		spent, elapsed = spent+cpu(b)-before, elapsed+time.Since(begun)
		end()
		took, events = append(took, seen.Took...), events+seen.Events
	}
	report(b, took)
	b.ReportMetric(float64(events)/float64(b.N), "events/op")
	b.ReportMetric(spent.Seconds()/elapsed.Seconds(), "cores")
	if p99 := percentile(took, 0.99); p99 > maxEventDelay {
		b.Errorf("an event takes %s, not %s", p99, maxEventDelay)
	}
}

// BenchmarkIdleStreams measures the memory of idle streams on each surface. Each stream belongs to
// its own run, which was created before and waits for its client.
func BenchmarkIdleStreams(b *testing.B) {
	for name, stream := range map[string]idleStream{
		"agent_runs": {Until: `"type":"local_tool_call"`},
		"native":     {Path: native.Prefix + "/turns/%s/events", Headers: "Accept: text/event-stream\r\n", Until: `"run_waiting"`},
		"a2a": {
			Path: "/a2a/alone/tasks/%s:subscribe", Headers: "Accept: text/event-stream\r\nA2A-Version: 1.0\r\n",
			Until: `TASK_STATE_INPUT_REQUIRED`,
		},
	} {
		most := maxIdleKiB
		if name == "a2a" {
			most = maxIdleA2AKiB
		}
		b.Run(name, func(b *testing.B) { benchmarkIdleStreams(b, stream, float64(most)) })
	}
}

func benchmarkIdleStreams(b *testing.B, stream idleStream, mostKiB float64) {
	for b.Loop() {
		s := serveRuns(b, onDisk(b, 64))
		o := s.order("create")
		o.Runs, o.Body, o.Stream = idleStreams, asksBack, stream
		made, end := runClients(b, o)
		end()
		follow := func(streams []string) (end func()) {
			o.Kind, o.Path = "idle", filepath.Join(b.TempDir(), "streams.json")
			data, err := json.Marshal(streams)
			if err == nil {
				err = os.WriteFile(o.Path, data, 0o600)
			}
			if err != nil {
				b.Fatal(err)
			}
			_, end = runClients(b, o)
			return end
		}
		follow(made.Streams)()                           // fills the store's bounded caches
		for goruntime.NumGoroutine() > idleStreams/100 { // streams of disconnected clients
			time.Sleep(50 * time.Millisecond)
		}
		before := heldMemory(b)
		end = follow(made.Streams)
		time.Sleep(10 * time.Second) // until earlier output is released
		after := heldMemory(b)
		end()
		each := func(before, after uint64) float64 { return (float64(after) - float64(before)) / idleStreams / 1024 }
		b.ReportMetric(each(before.heap, after.heap), "heap-KiB/stream")
		b.ReportMetric(each(before.spans, after.spans), "spans-KiB/stream")
		b.ReportMetric(each(before.stack, after.stack), "stack-KiB/stream")
		b.ReportMetric(each(before.resident, after.resident), "RSS-KiB/stream")
		goroutines := float64(after.goroutines-before.goroutines) / idleStreams
		b.ReportMetric(goroutines, "goroutines/stream")
		if goroutines > maxIdleGoroutines {
			b.Errorf("a stream has %.2f goroutines", goroutines)
		}
		if kib := each(before.resident, after.resident); kib > mostKiB {
			b.Errorf("a stream has %.1f KiB resident, not %.0f", kib, mostKiB)
		}
	}
}

// held is the memory in use by this process, in bytes, after free memory is returned.
type held struct {
	// heap is the size of the objects, and spans the memory that contains them.
	heap, spans, stack, resident uint64
	goroutines                   int
}

func heldMemory(b *testing.B) held {
	b.Helper()
	for range 4 { // each halves oversized stacks
		debug.FreeOSMemory()
	}
	var m goruntime.MemStats
	goruntime.ReadMemStats(&m)
	status, err := os.ReadFile("/proc/self/status")
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		b.Fatal(err)
	}
	var kib uint64
	for line := range strings.Lines(string(status)) {
		_, _ = fmt.Sscanf(line, "VmRSS: %d kB", &kib)
	}
	return held{heap: m.HeapAlloc, spans: m.HeapInuse, stack: m.StackInuse, resident: kib << 10, goroutines: goruntime.NumGoroutine()}
}

// BenchmarkRunOverTurn measures the cost of a run of two model calls over HTTP, from the request to
// the last event, relative to the same turn in this process: sequentially, in time, to which the
// limit applies; and 32 at a time, in this process's CPU time and in operations per second. The
// latter share the machine with the clients.
func BenchmarkRunOverTurn(b *testing.B) {
	const runs = 1600
	s := serveRuns(b, onDisk(b, 128))
	turn := turnOf(b, s, twoCalls)
	for b.Loop() {
		var inside, outside runCost
		for range 3 {
			inside.keep(b, runs, func() (clientReport, error) { return wholeTurns(b.Context(), s.service, turn, overheadClients, runs) })
			outside.keep(b, runs, func() (clientReport, error) {
				o := s.order("whole")
				o.Clients, o.Runs, o.Body = overheadClients, runs, twoCalls
				seen, end := runClients(b, o)
				end()
				return seen, nil
			})
		}
		const alone = 200
		one, err := wholeTurns(b.Context(), s.service, turn, 1, alone)
		if err != nil {
			b.Fatal(err)
		}
		o := s.order("whole")
		o.Runs, o.Body = alone, twoCalls
		seen, end := runClients(b, o)
		end()
		slow, quick := percentile(seen.Took, 0.5), percentile(one.Took, 0.5)
		b.ReportMetric(milliseconds(quick), "turn-p50-ms")
		b.ReportMetric(milliseconds(slow), "run-p50-ms")
		b.ReportMetric(float64(slow)/float64(quick), "x-turn")
		b.ReportMetric(milliseconds(inside.cpu), "turn-cpu-ms")
		b.ReportMetric(milliseconds(outside.cpu), "run-cpu-ms")
		b.ReportMetric(float64(outside.cpu)/float64(inside.cpu), "x-turn-cpu")
		b.ReportMetric(runs/inside.wall.Seconds(), "turns/s")
		b.ReportMetric(runs/outside.wall.Seconds(), "runs/s")
		if float64(slow) > maxRunOverTurn*float64(quick) {
			b.Errorf("a run takes %s, more than %.1f times the %s of the turn", slow, maxRunOverTurn, quick)
		}
	}
}

// runCost is the minimum cost of one run of many.
type runCost struct{ cpu, wall time.Duration }

func (c *runCost) keep(b *testing.B, n int, run func() (clientReport, error)) {
	b.Helper()
	before := cpu(b)
	seen, err := run()
	if err != nil {
		b.Fatal(err)
	}
	spent := (cpu(b) - before) / time.Duration(n)
	if c.cpu == 0 || spent < c.cpu {
		c.cpu = spent
	}
	if c.wall == 0 || seen.Wall < c.wall {
		c.wall = seen.Wall
	}
}

// turnOf returns the turn that a run is converted to.
func turnOf(b *testing.B, s *runsServer, body string) service.CreateTurn {
	b.Helper()
	o := s.order("")
	w, err := dial(b.Context(), &o)
	if err != nil {
		b.Fatal(err)
	}
	defer w.conn.Close()
	url, err := w.create(body)
	if err != nil {
		b.Fatal(err)
	}
	made, err := s.service.WaitTurn(b.Context(), caller, path.Base(path.Dir(url)))
	if err != nil {
		b.Fatal(err)
	}
	return service.CreateTurn{AgentID: made.AgentID, Input: []model.Message{model.User(question)}, Metadata: made.Metadata, Overrides: resolve.Overrides{
		OnMaxRounds: spec.MaxRoundsFails, OnTruncation: spec.TruncationFails,
		LoopDetection: &spec.LoopDetection{}, ToolBudgets: map[string]spec.ToolBudget{},
	}}
}

// wholeTurns runs turns in this process, each in its own session, and follows each to its end.
func wholeTurns(ctx context.Context, s *service.Service, turn service.CreateTurn, clients, turns int) (made clientReport, err error) {
	var mu sync.Mutex
	var all sync.WaitGroup
	begun := time.Now()
	for range clients {
		all.Go(func() {
			for range turns / clients {
				begun := time.Now()
				one := wholeTurn(ctx, s, turn)
				mu.Lock()
				made.Took, err = append(made.Took, time.Since(begun)), errors.Join(err, one)
				mu.Unlock()
			}
		})
	}
	all.Wait()
	made.Wall = time.Since(begun)
	return made, err
}

func wholeTurn(ctx context.Context, s *service.Service, turn service.CreateTurn) error {
	session, err := s.CreateSession(ctx, caller, service.CreateSession{Labels: map[string]string{"agent_runs": "run"}})
	if err != nil {
		return err
	}
	turn.SessionID = session.ID
	made, err := s.CreateTurn(ctx, caller, turn)
	if err != nil {
		return err
	}
	ended := false
	for r, err := range s.Events(ctx, caller, made.ID, 0) {
		if err != nil {
			return err
		}
		ended = r.Terminal()
	}
	if !ended {
		return fmt.Errorf("turn %s does not end", made.ID)
	}
	return nil
}

// BenchmarkReplay measures the stream of a finished run with 20,000 events, in full and from its
// middle.
func BenchmarkReplay(b *testing.B) {
	s := serveRuns(b, onDisk(b, 8))
	url := longRun(b, s, replayedEvents)
	for name, query := range map[string]string{"whole": "", "half": fmt.Sprintf("?after=%d", replayedEvents/2)} {
		b.Run(name, func(b *testing.B) {
			var took []time.Duration
			var spent time.Duration
			events := 0
			for b.Loop() {
				o := s.order("replay")
				o.Runs, o.Path = 5, url+query
				before := cpu(b)
				seen, end := runClients(b, o)
				spent += (cpu(b) - before) / 5
				end()
				took, events = append(took, seen.Took...), seen.Events
			}
			best := slices.Min(took)
			b.ReportMetric(milliseconds(best), "ms/replay")
			b.ReportMetric(milliseconds(spent)/float64(b.N), "cpu-ms/replay")
			b.ReportMetric(float64(events), "events")
			if best > maxReplay {
				b.Errorf("a replay takes %s, not %s", best, maxReplay)
			}
		})
	}
}

// longRun creates a run with the given number of events, waits for its end, and returns the path of
// its stream.
func longRun(b *testing.B, s *runsServer, events int) string {
	b.Helper()
	o := s.order("")
	w, err := dial(b.Context(), &o)
	if err != nil {
		b.Fatal(err)
	}
	defer w.conn.Close()
	url, err := w.create(fmt.Sprintf(`{"agentId":"assistant","prompt":"ramble %d","loopDetection":false}`, events))
	if err != nil {
		b.Fatal(err)
	}
	n := 0
	err = w.follow(url, func([]byte) bool { n++; return true })
	if err != nil || n < events {
		b.Fatalf("the run has %d events, %v", n, err)
	}
	return url
}
