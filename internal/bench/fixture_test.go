// Package bench holds the benchmarks of the hot paths. Each turn is measured beside a floor: a
// hand-written loop that calls the same model, decodes the same arguments and calls the same
// function, and does nothing else.
package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/scripted"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

// script is an in-memory model that calls one tool and then answers in the given number of deltas.
func script(tb testing.TB, deltas int) model.Executor {
	tb.Helper()
	usage := &model.Usage{Input: 20, Output: 6}
	exec, err := scripted.New(scripted.Script{Replies: []scripted.Reply{
		{ToolCalls: []model.ToolCall{{ID: "call_1", Name: "tool_03", Arguments: json.RawMessage(`{"city":"Paris"}`)}}, Usage: usage},
		{Text: strings.Repeat("part ", deltas), Chunks: deltas, Usage: usage},
	}})
	if err != nil {
		tb.Fatal(err)
	}
	return exec
}

// encoding wraps a model and encodes each request, as every vendor's client does before sending.
type encoding struct{ model.Executor }

// Stream encodes and forwards the request.
func (e encoding) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	if _, err := json.Marshal(req.Messages); err != nil {
		return func(yield func(model.Event, error) bool) { yield(model.Event{}, err) }
	}
	return e.Executor.Stream(ctx, req)
}

type cityArguments struct {
	City string `json:"city"`
}

func weather(_ context.Context, in cityArguments) (string, error) { return "sunny in " + in.City, nil }

// counting is a plugin with a hook, a gate and its own state.
type counting struct{}

// Descriptor describes the plugin.
func (counting) Descriptor() plugins.Descriptor { return plugins.Descriptor{Summary: "Counts steps."} }

// Register adds a hook and a gate.
func (counting) Register(r *plugins.Registrar) error {
	steps := 0
	r.Hook(plugins.StepStart, func(context.Context, *plugins.PhaseContext) error { steps++; return nil })
	r.ToolGate(plugins.GateFunc(func(context.Context, *plugins.PhaseContext) (plugins.Decision, error) {
		return plugins.Decision{}, nil
	}))
	return nil
}

// size is the size of the runtime to build.
type size struct{ tools, patterns, plugins int }

// option changes the input of a runtime's build.
type option func(*builder.AgentRuntimeBuilder, *spec.Agent)

// newRuntime returns a runtime with one agent, "assistant".
func newRuntime(tb testing.TB, exec model.Executor, n size, options ...option) *runtime.AgentRuntime {
	tb.Helper()
	b := builder.New().
		WithProvider("demo", exec).
		WithModel(spec.Model{ID: "default", ProviderID: "demo", UpstreamModel: "replay"})
	for i := range n.tools {
		b.WithTool(fmt.Sprintf("tool_%02d", i), &tools.Func[cityArguments, string]{
			Description: "Weather of a city.", Effect: tools.Read, Run: weather,
		})
	}
	agent := spec.Agent{ID: "assistant", ModelID: "default", SystemPrompt: "You are helpful."}
	for i := range n.plugins {
		id := fmt.Sprintf("plugin%d", i)
		b.WithPlugin(id, counting{})
		agent.PluginIDs = append(agent.PluginIDs, id)
	}
	for i := range n.patterns {
		agent.AllowedToolPatterns = append(agent.AllowedToolPatterns, fmt.Sprintf("tool_*%d", i%10))
	}
	for _, change := range options {
		change(b, &agent)
	}
	rt, err := b.WithAgentSpec(agent).Build()
	if err != nil {
		tb.Fatal(err)
	}
	return rt
}

// history returns a conversation of n messages.
func history(n int) []model.Message {
	out := make([]model.Message, 0, n)
	for i := range n / 2 {
		out = append(out, model.User(fmt.Sprintf("question %d", i)), model.Assistant(strings.Repeat("words ", 20)))
	}
	return out
}

const question = "What is the weather in Paris?"

// floor is the hand-written loop. It answers the question and returns the text.
func floor(ctx context.Context, exec model.Executor, past []model.Message, declared []model.Tool) (string, error) {
	messages := append([]model.Message{model.System("You are helpful.")}, past...)
	messages = append(messages, model.User(question))
	for {
		var text strings.Builder
		var call model.ToolCall
		req := &model.Request{Model: "replay", Messages: messages, Tools: declared, SessionID: "floor"}
		for ev, err := range exec.Stream(ctx, req) {
			if err != nil {
				return "", err
			}
			switch ev.Type {
			case model.EventText:
				text.WriteString(ev.Delta)
			case model.EventToolCallStart:
				call.ID, call.Name = ev.ID, ev.Name
			case model.EventToolCallDelta:
				call.Arguments = append(call.Arguments, ev.Delta...)
			default:
			}
		}
		if call.Name == "" {
			return text.String(), nil
		}
		var in cityArguments
		if err := json.Unmarshal(call.Arguments, &in); err != nil {
			return "", err
		}
		answer, err := weather(ctx, in)
		if err != nil {
			return "", err
		}
		result := &model.ToolResult{CallID: call.ID, Name: call.Name, Content: []model.Part{model.Text(answer)}}
		messages = append(messages,
			model.Message{Role: model.RoleAssistant, Parts: []model.Part{{Type: model.PartToolCall, ToolCall: &call}}},
			model.Message{Role: model.RoleTool, Parts: []model.Part{{Type: model.PartToolResult, ToolResult: result}}})
	}
}
