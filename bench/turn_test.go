// Package bench holds the benchmarks of the hot paths, each beside a floor: a
// hand-written loop that does the same with nothing around it.
package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

// replay is a model in memory: it asks for one tool, then answers.
type replay struct{ call, answer []model.Event }

func newReplay(deltas int) *replay {
	usage := &model.Usage{Input: 20, Output: 6}
	r := &replay{call: []model.Event{
		{Type: model.EventToolCallStart, ID: "call_1", Name: "tool_03"},
		{Type: model.EventToolCallDelta, Delta: `{"city":"Paris"}`},
		{Type: model.EventToolCallEnd},
		{Type: model.EventFinish, Reason: model.FinishToolCalls, Usage: usage},
	}}
	for i := range deltas {
		r.answer = append(r.answer, model.Event{Type: model.EventText, Delta: fmt.Sprintf("part %d ", i)})
	}
	r.answer = append(r.answer, model.Event{Type: model.EventFinish, Reason: model.FinishStop, Usage: usage})
	return r
}

func (r *replay) Stream(_ context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	events := r.call
	if req.Messages[len(req.Messages)-1].Role == model.RoleTool {
		events = r.answer
	}
	return func(yield func(model.Event, error) bool) {
		for i := range events {
			if !yield(events[i], nil) {
				return
			}
		}
	}
}

type cityIn struct {
	City string `json:"city"`
}

func cityTool() *tools.Func[cityIn, string] {
	return &tools.Func[cityIn, string]{
		Description: "Weather of a city.", Effect: tools.Read,
		Run: func(_ context.Context, in cityIn) (string, error) { return "sunny in " + in.City, nil },
	}
}

// passive is a plugin with a hook, a gate and state of its own.
type passive struct{}

func (passive) Descriptor() plugins.Descriptor { return plugins.Descriptor{Summary: "Counts steps."} }

func (passive) Register(r *plugins.Registrar) error {
	steps := 0
	r.Hook(plugins.StepStart, func(context.Context, *plugins.PhaseContext) error { steps++; return nil })
	r.ToolGate(plugins.GateFunc(func(context.Context, *plugins.PhaseContext) (plugins.Decision, error) {
		return plugins.Decision{}, nil
	}))
	return nil
}

func newRuntime(b *testing.B, nTools, nPatterns, nPlugins, deltas int) *runtime.AgentRuntime {
	b.Helper()
	rb := builder.New().
		WithProvider("demo", newReplay(deltas)).
		WithModel(spec.Model{ID: "default", ProviderID: "demo", UpstreamModel: "replay"})
	for i := range nTools {
		rb.WithTool(fmt.Sprintf("tool_%02d", i), cityTool())
	}
	agent := spec.Agent{ID: "assistant", ModelID: "default", SystemPrompt: "You are helpful."}
	for i := range nPlugins {
		id := fmt.Sprintf("plugin%d", i)
		rb.WithPlugin(id, passive{})
		agent.PluginIDs = append(agent.PluginIDs, id)
	}
	for i := range nPatterns {
		agent.AllowedToolPatterns = append(agent.AllowedToolPatterns, fmt.Sprintf("tool_*%d", i%10))
	}
	rt, err := rb.WithAgentSpec(agent).Build()
	if err != nil {
		b.Fatal(err)
	}
	return rt
}

func benchmarkResolve(b *testing.B, nTools, nPatterns, nPlugins int) {
	rt := newRuntime(b, nTools, nPatterns, nPlugins, 1)
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := rt.Resolve(ctx, "assistant", resolve.Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkResolve measures a fresh execution environment.
func BenchmarkResolve(b *testing.B) {
	b.Run("tools=10/plugins=2", func(b *testing.B) { benchmarkResolve(b, 10, 0, 2) })
	b.Run("tools=500/patterns=20/plugins=5", func(b *testing.B) { benchmarkResolve(b, 500, 20, 5) })
}

func history(n int) []model.Message {
	out := make([]model.Message, 0, n)
	for i := range n / 2 {
		out = append(out, model.User(fmt.Sprintf("question %d", i)), model.Assistant(strings.Repeat("words ", 20)))
	}
	return out
}

func benchmarkTurn(b *testing.B, deltas, past int) {
	rt := newRuntime(b, 10, 0, 0, deltas)
	req := runtime.Prompt("assistant", "What is the weather in Paris?")
	req.History = history(past)
	ctx := b.Context()
	var events int
	sink := event.SinkFunc(func(event.Event) { events++ })
	b.ReportAllocs()
	for b.Loop() {
		res, err := rt.Run(ctx, req, sink)
		if err != nil || res.Steps != 2 {
			b.Fatal(res, err)
		}
	}
}

// BenchmarkTurn measures a whole turn: a fresh resolve, two model calls and one
// tool call.
func BenchmarkTurn(b *testing.B) {
	b.Run("deltas=1", func(b *testing.B) { benchmarkTurn(b, 1, 0) })
	b.Run("deltas=50", func(b *testing.B) { benchmarkTurn(b, 50, 0) })
	b.Run("history=200", func(b *testing.B) { benchmarkTurn(b, 1, 200) })
}

// BenchmarkFloor measures a hand-written loop that asks the same model, decodes
// the same arguments and calls the same function.
func BenchmarkFloor(b *testing.B) {
	for _, past := range []int{0, 200} {
		b.Run(fmt.Sprintf("history=%d", past), func(b *testing.B) {
			exec, hist := newReplay(1), history(past)
			ctx := b.Context()
			b.ReportAllocs()
			for b.Loop() {
				if floor(ctx, exec, hist) == "" {
					b.Fatal("no answer")
				}
			}
		})
	}
}

func floor(ctx context.Context, exec model.Executor, past []model.Message) string {
	messages := append([]model.Message{model.System("You are helpful.")}, past...)
	messages = append(messages, model.User("What is the weather in Paris?"))
	for {
		var text, name, id string
		var args []byte
		for ev, err := range exec.Stream(ctx, &model.Request{Model: "replay", Messages: messages}) {
			if err != nil {
				return ""
			}
			switch ev.Type {
			case model.EventText:
				text += ev.Delta
			case model.EventToolCallStart:
				id, name = ev.ID, ev.Name
			case model.EventToolCallDelta:
				args = append(args, ev.Delta...)
			}
		}
		if name == "" {
			return text
		}
		var in cityIn
		if json.Unmarshal(args, &in) != nil {
			return ""
		}
		call := &model.ToolCall{ID: id, Name: name, Arguments: args}
		result := &model.ToolResult{CallID: id, Name: name, Content: []model.Part{model.Text("sunny in " + in.City)}}
		messages = append(messages,
			model.Message{Role: model.RoleAssistant, Parts: []model.Part{{Type: model.PartToolCall, ToolCall: call}}},
			model.Message{Role: model.RoleTool, Parts: []model.Part{{Type: model.PartToolResult, ToolResult: result}}})
	}
}
