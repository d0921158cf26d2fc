package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	a2abackend "github.com/agentruntime/agentruntime/backend/a2a"
	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/internal/a2awire"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/scripted"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/server"
	a2aserver "github.com/agentruntime/agentruntime/server/a2a"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/dispatch/local"
	"github.com/agentruntime/agentruntime/store/memory"
)

// servePeer serves a runtime's agents over A2A and returns the URL.
func servePeer(b *testing.B, rt *runtime.AgentRuntime) string {
	b.Helper()
	service := startService(b, service.Settings{
		Store: memory.New(store.Settings{}), Dispatcher: local.New(local.Settings{}),
	}, rt)
	s, err := server.New(server.Settings{Address: "127.0.0.1:0"})
	if err != nil {
		b.Fatal(err)
	}
	if err := s.Listen(b.Context()); err != nil {
		b.Fatal(err)
	}
	surface, err := a2aserver.New(a2aserver.Settings{Service: service, PublicURL: s.URL()})
	if err != nil {
		b.Fatal(err)
	}
	if err := s.Mount(b.Context(), surface); err != nil {
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
		_ = s.Shutdown(context.Background())
	})
	return s.URL()
}

// BenchmarkA2AStream measures a whole task whose answer is streamed in chunks of 40 bytes, from the
// message to the end seen by the client. The time must grow no faster than the number of chunks.
func BenchmarkA2AStream(b *testing.B) {
	for _, chunks := range []int{1000, 4000} {
		b.Run(fmt.Sprintf("chunks=%d", chunks), func(b *testing.B) { benchmarkA2AStream(b, chunks) })
	}
}

func benchmarkA2AStream(b *testing.B, chunks int) {
	answer := strings.Repeat("forty bytes are in each chunk of this.. ", chunks)
	exec, err := scripted.New(scripted.Script{Fallback: &scripted.Reply{Text: answer, Chunks: chunks, Usage: &model.Usage{Input: 20, Output: 6}}})
	if err != nil {
		b.Fatal(err)
	}
	url := servePeer(b, newRuntime(b, exec, size{}))
	client, err := a2aclient.NewFromEndpoints(b.Context(), []*a2a.AgentInterface{
		a2a.NewAgentInterface(url+"/a2a/assistant", a2a.TransportProtocolJSONRPC),
	})
	if err != nil {
		b.Fatal(err)
	}
	events := 0
	b.ReportAllocs()
	for b.Loop() {
		var text strings.Builder
		var state a2a.TaskState
		for ev, err := range client.SendStreamingMessage(b.Context(), &a2a.SendMessageRequest{
			Message: a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart(question)),
		}) {
			if err != nil {
				b.Fatal(err)
			}
			events++
			switch ev := ev.(type) {
			case *a2a.TaskArtifactUpdateEvent:
				text.WriteString(a2awire.Text(ev.Artifact.Parts))
			case *a2a.TaskStatusUpdateEvent:
				state = ev.Status.State
			}
		}
		if state != a2a.TaskStateCompleted || text.String() != answer {
			b.Fatalf("the task is %s, with %d bytes of %d", state, text.Len(), len(answer))
		}
	}
	b.ReportMetric(float64(events)/float64(b.N), "events/op")
}

// BenchmarkDelegate measures a turn that delegates once: to an agent of the same runtime, and to an
// agent at a peer on the same machine, whose turn is kept in memory.
func BenchmarkDelegate(b *testing.B) {
	b.Run("local", func(b *testing.B) {
		benchmarkDelegate(b, func(d *builder.AgentRuntimeBuilder) {
			d.WithAgentSpec(spec.Agent{ID: "helper", ModelID: "default"})
		})
	})
	b.Run("peer", func(b *testing.B) {
		url := servePeer(b, delegator(b, func(d *builder.AgentRuntimeBuilder) {
			d.WithAgentSpec(spec.Agent{ID: "helper", ModelID: "default"})
		}))
		benchmarkDelegate(b, func(d *builder.AgentRuntimeBuilder) {
			d.WithBackend(a2abackend.NewFactory(a2abackend.Settings{}))
			d.WithAgentSpec(spec.Agent{ID: "helper", Endpoint: &spec.Endpoint{Backend: a2abackend.Kind, BaseURL: url + "/a2a/helper"}})
		})
	})
}

// delegator returns a runtime whose agent "assistant" calls the agent "helper".
func delegator(b *testing.B, helper func(*builder.AgentRuntimeBuilder)) *runtime.AgentRuntime {
	b.Helper()
	usage := &model.Usage{Input: 20, Output: 6}
	exec, err := scripted.New(scripted.Script{
		Replies: []scripted.Reply{
			{Match: question, ToolCalls: []model.ToolCall{{Name: "agent_run_helper", Arguments: json.RawMessage(`{"prompt":"Look outside."}`)}}, Usage: usage},
		},
		Fallback: &scripted.Reply{Text: "It is sunny.", Usage: usage},
	})
	if err != nil {
		b.Fatal(err)
	}
	d := builder.New().WithProvider("demo", exec).
		WithModel(spec.Model{ID: "default", ProviderID: "demo", UpstreamModel: "replay"}).
		WithAgentSpec(spec.Agent{ID: "assistant", ModelID: "default", Delegates: []string{"helper"}})
	helper(d)
	rt, err := d.Build()
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = rt.Close() })
	return rt
}

func benchmarkDelegate(b *testing.B, helper func(*builder.AgentRuntimeBuilder)) {
	rt := delegator(b, helper)
	b.ReportAllocs()
	for b.Loop() {
		res, err := rt.Run(b.Context(), runtime.Prompt("assistant", question), nil)
		if err != nil || res.Steps != 2 || res.Usage.Output != 18 {
			b.Fatal(res, err)
		}
	}
}
