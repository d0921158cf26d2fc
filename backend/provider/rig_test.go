package provider_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/backend/provider"
	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/providerproto"
	"github.com/agentruntime/agentruntime/internal/testkit/providertest"
	"github.com/agentruntime/agentruntime/plugins/permission"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

// able are the capabilities of a provider that calls tools and keeps its turns.
func able() *providerproto.AgentProviderCapabilities {
	return &providerproto.AgentProviderCapabilities{
		StreamingText: true, ToolCalls: true, StructuredOutput: true, Interactions: true, ResumableTurns: true,
		SupportedToolSources: []providerproto.AgentToolSourceMode{providerproto.AgentToolSourceMode_AGENT_TOOL_SOURCE_MODE_MCP_CATALOG},
	}
}

// open returns a hosted provider of the given kind and configuration.
func open(t testing.TB, kinds []backend.AgentProviderKind, typ string, config any) backend.AgentProvider {
	t.Helper()
	return openWith(t, kinds, typ, config, slog.New(slog.DiscardHandler))
}

// openWith returns a hosted provider with a log.
func openWith(t testing.TB, kinds []backend.AgentProviderKind, typ string, config any, log *slog.Logger) backend.AgentProvider {
	t.Helper()
	return openAt(t, kinds, typ, config, log, t.TempDir())
}

// openAt returns a hosted provider of a configuration in a directory.
func openAt(t testing.TB, kinds []backend.AgentProviderKind, typ string, config any, log *slog.Logger, dir string) backend.AgentProvider {
	t.Helper()
	data, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range kinds {
		if k.Type != typ {
			continue
		}
		c := k.NewConfig()
		if err := json.Unmarshal(data, c); err != nil {
			t.Fatal(err)
		}
		p, err := k.Create(backend.AgentProviderSettings{ID: "coder", Dir: dir, Logger: log}, c)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	t.Fatalf("there is no kind %q", typ)
	return nil
}

// rig is a runtime with one agent at a provider, and the events of its turns.
type rig struct {
	*runtime.AgentRuntime
	fake   *providertest.Provider
	hosted backend.AgentProvider
	sink   *sink
}

// sink keeps events.
type sink struct {
	mu     sync.Mutex
	events []event.Event
	cond   sync.Cond
}

func newSink() *sink {
	s := new(sink)
	s.cond.L = &s.mu
	return s
}

func (s *sink) Emit(e event.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, e)
	s.cond.Broadcast()
}

// await waits for an event and returns it.
func (s *sink) await(wanted func(*event.Event) bool) *event.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		for i := range s.events {
			if wanted(&s.events[i]) {
				return &s.events[i]
			}
		}
		s.cond.Wait()
	}
}

// text returns the text that was shown.
func (s *sink) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	for i := range s.events {
		if d, ok := s.events[i].Data.(*event.TextDelta); ok {
			b.WriteString(d.Delta)
		}
	}
	return b.String()
}

// newRig returns a runtime whose agent "coder" runs at a provider with the given work function.
func newRig(t testing.TB, can *providerproto.AgentProviderCapabilities, work func(context.Context, *providertest.Turn), change ...func(*builder.AgentRuntimeBuilder, *spec.Agent)) *rig {
	t.Helper()
	return newRigAt(t, &providertest.Provider{Work: work, Capabilities: can}, change...)
}

// newRigAt returns a runtime whose agent "coder" runs at a provider.
func newRigAt(t testing.TB, fake *providertest.Provider, change ...func(*builder.AgentRuntimeBuilder, *spec.Agent)) *rig {
	t.Helper()
	at := fake.Serve(t)
	hosted := open(t, provider.Kinds(), "address", map[string]any{"address": at.Provider, "host_address": at.Host, "health_interval": "1h", "drain_timeout": "1s"})
	agent := spec.Agent{ID: "coder", SystemPrompt: "Be brief.", Endpoint: &spec.Endpoint{Backend: "provider", Target: "coder", Timeout: new(spec.Duration(30 * time.Second))}}
	b := builder.New().WithAgentProvider("coder", hosted).WithPlugin("permission", permission.New())
	for _, c := range change {
		c(b, &agent)
	}
	rt, err := b.WithAgentSpec(agent).Build()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := rt.Close(); err != nil {
			t.Error(err)
		}
	})
	return &rig{AgentRuntime: rt, fake: fake, hosted: hosted, sink: newSink()}
}

// run runs a turn.
func (r *rig) run(t testing.TB, prompt string) (*runtime.Result, error) {
	t.Helper()
	return r.Run(t.Context(), runtime.Prompt("coder", prompt), r.sink)
}

// double is a tool that doubles a number.
func double(ran func(*tools.Call)) tools.Tool {
	return &tools.Func[struct {
		N float64 `json:"n"`
	}, float64]{
		Description: "Doubles a number.",
		Run: func(ctx context.Context, in struct {
			N float64 `json:"n"`
		}) (float64, error) {
			if ran != nil {
				ran(tools.CallFrom(ctx))
			}
			return 2 * in.N, nil
		},
	}
}
