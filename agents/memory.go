package agents

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/agentruntime/agentruntime/agents/wire"
	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/internal/sealed"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/tools"
)

// memory is a conversation that is not stored.
type memory struct {
	id       string
	messages []model.Message
	custom   json.RawMessage
	// artifacts have their data.
	artifacts []tools.Artifact
	// plugins holds the session's plugin data in this process.
	plugins map[string]json.RawMessage
	// waiting is the interrupted turn, or nil.
	waiting *waitingTurn
	// code drives the turns of the connection if the agent has code per connection.
	code func(ctx context.Context, t *turn) (*Result, error)
}

// beginCode makes the code of a connection.
func (m *memory) beginCode(ctx context.Context, d *definition) (err error) {
	if d != nil && d.begin != nil {
		m.code, err = d.begin(ctx)
	}
	return err
}

// waitingTurn is an interrupted turn.
type waitingTurn struct {
	TurnID string `json:"turn_id"`
	// History is the number of messages before the turn, Input the number of input messages after
	// them.
	History int                        `json:"history"`
	Input   int                        `json:"input"`
	State   *backend.State             `json:"state"`
	Plugins map[string]json.RawMessage `json:"plugins,omitempty"`
}

// metaContinuation is the metadata key of the turn's encrypted continuation in an open tool
// request.
const metaContinuation = "continuation"

// placeContinuation returns the only place where a turn's continuation may be opened.
func placeContinuation(agent, sessionID string) string {
	return sealed.Place("agents continuation", agent, sessionID)
}

// load restores a state that the client kept, as a deep copy.
func (m *memory) load(in *wire.SessionState, box *sealed.Box, agent string) (err error) {
	if in.SessionID != "" {
		m.id = in.SessionID
	}
	if len(in.Custom) > 0 && string(in.Custom) != "null" {
		m.custom = append(json.RawMessage(nil), in.Custom...)
	}
	for i := range in.Artifacts {
		kept, err := toKeptArtifact(&in.Artifacts[i])
		if err != nil {
			return newError(wire.StatusInvalidArgument, "init.state: %s", err)
		}
		kept.ID, kept.Size = fmt.Sprintf("%s/%d", m.id, i), len(kept.Data)
		m.artifacts = append(m.artifacts, kept)
	}
	if m.messages, err = toHistory(in.Messages); err != nil {
		return err
	}
	m.messages = cloneMessages(m.messages)
	return m.loadWaiting(in, box, agent)
}

// loadWaiting restores the continuation of the interrupted turn, if any.
func (m *memory) loadWaiting(in *wire.SessionState, box *sealed.Box, agent string) error {
	raw := findContinuation(in.Messages)
	if raw == nil {
		return nil
	}
	plain, err := box.Open(placeContinuation(agent, m.id), raw)
	waiting := new(waitingTurn)
	if err != nil || string(plain) == string(raw) || json.Unmarshal(plain, waiting) != nil ||
		waiting.State == nil || waiting.History+waiting.Input > len(m.messages) {
		return newError(wire.StatusFailedPrecondition, "init.state: the interrupted turn belongs to another agent, session or key")
	}
	m.waiting, m.plugins = waiting, waiting.Plugins
	return nil
}

// findContinuation returns the continuation in the last message of the model, or nil.
func findContinuation(list []wire.Message) json.RawMessage {
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].Role != wire.RoleModel {
			continue
		}
		for j := range list[i].Content {
			if raw := list[i].Content[j].Metadata[metaContinuation]; len(raw) > 0 {
				return raw
			}
		}
		return nil
	}
	return nil
}

// state returns the conversation in the form that the client keeps.
func (m *memory) state(box *sealed.Box, agent string) (*wire.SessionState, error) {
	out := &wire.SessionState{SessionID: m.id, Messages: fromModelMessages(m.messages), Custom: m.custom}
	for i := range m.artifacts {
		out.Artifacts = append(out.Artifacts, fromKeptArtifact(&m.artifacts[i]))
	}
	if m.waiting == nil {
		return out, nil
	}
	plain, err := json.Marshal(m.waiting)
	if err != nil {
		return nil, err
	}
	continuation, err := box.Seal(placeContinuation(agent, m.id), plain)
	if err != nil {
		return nil, err
	}
	for _, asked := range m.waiting.State.Interactions() {
		markInterrupt(out.Messages, asked)
	}
	setContinuation(out.Messages, continuation)
	return out, nil
}

// setContinuation sets the continuation on the open tool requests of the last model message.
func setContinuation(list []wire.Message, continuation json.RawMessage) {
	for i := len(list) - 1; i >= 0; i-- {
		for j := range list[i].Content {
			if part := &list[i].Content[j]; list[i].Role == wire.RoleModel && part.Metadata[metaInterrupt] != nil {
				part.Metadata[metaContinuation] = continuation
				return
			}
		}
	}
}
