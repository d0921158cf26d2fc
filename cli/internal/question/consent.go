package question

import (
	"encoding/json"
	"slices"

	"github.com/agentruntime/agentruntime/event/interaction"
)

// The scopes of a permission.
const (
	ScopeOnce    = "once"
	ScopeSession = "session"
)

// permissionAction is the action of the permission plugin's questions.
const permissionAction = "tool:PermissionConfirm"

// inputAction is the action of a question from an A2A peer.
const inputAction = "a2a:input_required"

// Consent is a permission question for a tool call, by a local agent or by a peer that runs the
// same program.
type Consent struct {
	schema json.RawMessage
	// About describes the call, if the question does.
	About struct {
		Agent string `json:"agent"`
		Tool  string `json:"tool"`
		Rule  string `json:"rule"`
	}
	// interactions are the peers' ids of the question, nearest peer first; empty for a local agent.
	interactions []string
}

// maxPeers bounds through how many peers a question is followed.
const maxPeers = 8

// PermissionOf returns the permission that a question requests; nil for any other question. A peer
// forwards its agent's question as data.
func PermissionOf(action string, parameters, schema json.RawMessage) *Consent {
	p := &Consent{schema: schema}
	for action == inputAction && len(p.interactions) < maxPeers {
		var at struct {
			Data struct {
				Interaction string          `json:"interaction_id"`
				Action      string          `json:"action"`
				Parameters  json.RawMessage `json:"parameters"`
				Schema      json.RawMessage `json:"response_schema"`
			} `json:"data"`
		}
		if json.Unmarshal(parameters, &at) != nil || at.Data.Interaction == "" {
			return nil
		}
		p.interactions = append(p.interactions, at.Data.Interaction)
		action, parameters, p.schema = at.Data.Action, at.Data.Parameters, at.Data.Schema
	}
	if action != permissionAction {
		return nil
	}
	_ = json.Unmarshal(parameters, &p.About) // missing fields are not shown
	return p
}

// forSession reports whether the permission may be granted for the session.
func (p *Consent) forSession() bool {
	var form struct {
		Properties struct {
			Scope struct {
				Enum []string `json:"enum"`
			} `json:"scope"`
		} `json:"properties"`
	}
	return json.Unmarshal(p.schema, &form) == nil && slices.Contains(form.Properties.Scope.Enum, ScopeSession)
}

// Answer grants or denies the permission in the form that each peer on the way expects.
func (p *Consent) Answer(q *interaction.Request, approved bool, scope string) interaction.Answer {
	result := map[string]any{"approved": approved}
	if approved {
		result["scope"] = scope
	}
	for _, id := range slices.Backward(p.interactions) {
		result = map[string]any{"data": map[string]any{"interaction_id": id, "response": result}}
	}
	data, _ := json.Marshal(result) // a bool and texts
	return interaction.Answer{Target: q.ID, Action: interaction.Resume, Result: data}
}
