package surfacetest

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

// Effect is a tool that counts its calls.
type Effect struct {
	name string
	mu   sync.Mutex
	n    int
}

// Descriptor describes the tool.
func (*Effect) Descriptor() tools.Descriptor { return tools.Descriptor{Effect: tools.Read} }

// Call runs the tool.
func (e *Effect) Call(context.Context, *tools.Call) (tools.Result, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.n++
	return tools.TextResult(e.name + " done"), nil
}

// Count returns how often the tool ran.
func (e *Effect) Count() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.n
}

// Note is a tool that counts its calls in the session's state and stores an artifact.
type Note struct{}

// Descriptor describes the tool.
func (Note) Descriptor() tools.Descriptor { return tools.Descriptor{Effect: tools.Idempotent} }

// Call runs the tool.
func (Note) Call(_ context.Context, call *tools.Call) (tools.Result, error) {
	err := call.Session.UpdateCustom(func(custom json.RawMessage) (json.RawMessage, error) {
		state := map[string]any{}
		if len(custom) > 0 {
			if err := json.Unmarshal(custom, &state); err != nil {
				return nil, err
			}
		}
		n, _ := state["notes"].(float64)
		state["notes"] = n + 1
		return json.Marshal(state)
	})
	if err == nil {
		_, err = call.Session.KeepArtifact(tools.Artifact{Name: "note.txt", MediaType: "text/plain", Data: []byte("noted")})
	}
	return tools.TextResult("noted"), err
}

// AddBoss adds the agent boss, which delegates to plain and has the tools note and look,
// and reads the variable tone.
func AddBoss(b *builder.AgentRuntimeBuilder) {
	b.WithTool("note", Note{}).WithAgentSpec(spec.Agent{
		ID: "boss", ModelID: "fast", SystemPrompt: "Be ${turn.tone}.", Delegates: []string{"plain"}, AllowedTools: spec.Names{"note", "look", "agent_run_plain"},
		Variables: json.RawMessage(`{"type":"object","properties":{"tone":{"type":"string","default":"kind"}}}`),
	})
}

// asking is a tool that asks a person.
type asking struct{}

// Descriptor describes the tool.
func (asking) Descriptor() tools.Descriptor { return tools.Descriptor{Effect: tools.Read} }

// Call asks.
func (asking) Call(context.Context, *tools.Call) (tools.Result, error) {
	question := interaction.Request{Action: tools.ActionAsk, Message: "Which city?", ResponseSchema: json.RawMessage(`{"type":"string"}`)}
	return tools.Result{Wait: &tools.Wait{Questions: []interaction.Request{question}, AnswerIsResult: true}}, nil
}
