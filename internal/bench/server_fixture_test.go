//go:build unix && !race

package bench

import (
	"context"
	"fmt"
	"iter"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/server"
	a2aserver "github.com/agentruntime/agentruntime/server/a2a"
	"github.com/agentruntime/agentruntime/server/agentruns"
	"github.com/agentruntime/agentruntime/server/auth"
	"github.com/agentruntime/agentruntime/server/native"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/dispatch/local"
	"github.com/agentruntime/agentruntime/store/sqlite"
)

// obedient is a model that does what the first word of the question says:
//
//	look            calls the first tool that it is offered
//	drip N EVERY    says N times what time it is, at that interval
//	ramble N        thinks and speaks by turns, N deltas in all, in several steps
//
// Anything else it answers as another model does.
type obedient struct{ model.Executor }

// Stream answers.
func (o obedient) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	steps := 0
	last := &req.Messages[len(req.Messages)-1]
	for i := len(req.Messages) - 1; i >= 0 && last.Role != model.RoleUser; i-- {
		if last = &req.Messages[i]; last.Role == model.RoleTool {
			steps++
		}
	}
	words := strings.Fields(last.Text())
	if len(words) == 0 {
		return o.Executor.Stream(ctx, req)
	}
	n := 0
	if len(words) > 1 {
		_, _ = fmt.Sscan(words[1], &n) // 0 emits nothing
	}
	switch words[0] {
	case "look":
		return ending(model.FinishToolCalls, func(yield func(model.Event, error) bool) { call(yield, req) })
	case "drip":
		every, _ := time.ParseDuration(words[2])
		return ending(model.FinishStop, func(yield func(model.Event, error) bool) { drip(ctx, n, every, yield) })
	case "ramble":
		if steps+1 < rambleSteps {
			return ending(model.FinishToolCalls, func(yield func(model.Event, error) bool) { ramble(n/rambleSteps, yield); call(yield, req) })
		}
		return ending(model.FinishStop, func(yield func(model.Event, error) bool) { ramble(n/rambleSteps, yield) })
	default:
		return o.Executor.Stream(ctx, req)
	}
}

// ending returns events followed by the event that ends an answer.
func ending(reason model.FinishReason, events iter.Seq2[model.Event, error]) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		for ev, err := range events {
			if !yield(ev, err) {
				return
			}
		}
		yield(model.Event{Type: model.EventFinish, Reason: reason, Usage: &model.Usage{Input: 20, Output: 6}}, nil)
	}
}

// call calls the first tool.
func call(yield func(model.Event, error) bool, req *model.Request) {
	_ = yield(model.Event{Type: model.EventToolCallStart, ID: fmt.Sprintf("call_%d", len(req.Messages)), Name: req.Tools[0].Name}, nil) &&
		yield(model.Event{Type: model.EventToolCallEnd, Delta: "{}"}, nil)
}

// rambleSteps is the number of model calls for a long answer, because the size of one answer is
// limited.
const rambleSteps = 4

func ramble(n int, yield func(model.Event, error) bool) {
	for i := range n {
		if !yield(model.Event{Type: []model.EventType{model.EventText, model.EventReasoning}[i%2], Delta: "a few words of it "}, nil) {
			return
		}
	}
}

func drip(ctx context.Context, n int, every time.Duration, yield func(model.Event, error) bool) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for range n {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			yield(model.Event{}, ctx.Err())
			return
		}
		if !yield(model.Event{Type: model.EventText, Delta: fmt.Sprintf("%d ", time.Now().UnixNano())}, nil) {
			return
		}
	}
}

// runsServer is a realistic server of runs: keys, limits, a store on disk.
type runsServer struct {
	service *service.Service
	address string
	key     string
}

// order returns an order for the server's clients.
func (s *runsServer) order(kind string) order {
	return order{Kind: kind, Address: s.address, Key: s.key, Clients: 1}
}

// serveRuns serves runs of the agent "assistant", of a runtime on a store.
func serveRuns(b *testing.B, settings service.Settings) *runsServer {
	b.Helper()
	settings.TurnTools = agentruns.NewTurnTools(agentruns.TurnToolsSettings{})
	service := startService(b, settings, newRuntime(b, obedient{script(b, 1)}, size{tools: 10}, func(d *builder.AgentRuntimeBuilder, _ *spec.Agent) {
		d.WithAgentSpec(spec.Agent{ID: "alone", ModelID: "default", SystemPrompt: "You are helpful."})
	}))
	key := auth.NewKey()
	s, err := server.New(server.Settings{Address: "127.0.0.1:0", Authenticator: auth.NewKeys([]auth.Key{{
		Hash: auth.HashKey(key), Principal: &server.Principal{Caller: caller, KeyID: "bench"},
	}}, nil)})
	if err != nil {
		b.Fatal(err)
	}
	surface, err := agentruns.New(agentruns.Settings{Service: service, LocalToolTimeout: time.Hour})
	if err != nil {
		b.Fatal(err)
	}
	direct, err := native.New(server.SurfaceSettings{Service: service})
	if err != nil {
		b.Fatal(err)
	}
	peer, err := a2aserver.New(a2aserver.Settings{Service: service, PublicURL: "http://bench", Open: true, Authenticator: s})
	if err != nil {
		b.Fatal(err)
	}
	for _, surface := range []server.Surface{surface, direct, peer} {
		if err := s.Mount(b.Context(), surface); err != nil {
			b.Fatal(err)
		}
	}
	if err := s.Listen(b.Context()); err != nil {
		b.Fatal(err)
	}
	ctx, end := context.WithCancel(context.WithoutCancel(b.Context()))
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	b.Cleanup(func() {
		end()
		if err := <-ended; err != nil {
			b.Error(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil {
			b.Error(err)
		}
	})
	return &runsServer{service: service, address: strings.TrimPrefix(s.LocalURL(), "http://"), key: key}
}

// onDisk returns settings on SQLite with the given concurrency.
func onDisk(b *testing.B, concurrency int) service.Settings {
	b.Helper()
	s, err := sqlite.Open(b.Context(), store.Settings{DSN: filepath.Join(b.TempDir(), "bench.db")})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	return service.Settings{Store: s, Dispatcher: local.New(local.Settings{Concurrency: concurrency})}
}
