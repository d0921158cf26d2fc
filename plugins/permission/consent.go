package permission

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/model"
)

// Action is the action of the interactions that ask a person about a call.
const Action = "tool:PermissionConfirm"

// Scope is how long a person's grant may last.
type Scope string

// The scopes.
const (
	// Once grants a single call.
	Once Scope = "once"
	// Session grants the tool for the rest of the session, to the extent that the same rule asks.
	Session Scope = "session"
)

var (
	onlyOnce  = []Scope{Once}
	anyScope  = []Scope{Once, Session}
	responses = map[Scope]json.RawMessage{Once: responseSchema(onlyOnce), Session: responseSchema(anyScope)}
)

// responseSchema returns the JSON Schema of an answer that may grant certain scopes.
func responseSchema(scopes []Scope) json.RawMessage {
	names, _ := json.Marshal(scopes) // texts
	return json.RawMessage(`{"type":"object","required":["approved"],"additionalProperties":false,"properties":{` +
		`"approved":{"type":"boolean","description":"Whether the call may be made."},` +
		`"scope":{"enum":` + string(names) + `,"default":"once","description":"What is approved: this call, or the tool for the rest of the session, as far as the same rule asks."},` +
		`"reason":{"type":"string","description":"Why not, for the model."}}}`)
}

// subject holds the parameters of an interaction.
type subject struct {
	// Agent is the agent whose rule asks.
	Agent string `json:"agent"`
	Tool  string `json:"tool"`
	// Rule is the rule that asks, as written in the section; empty for the default.
	Rule string `json:"rule,omitempty"`
	// Scopes are the scopes that may be granted.
	Scopes []Scope `json:"scopes"`
}

// consent is a person's answer.
type consent struct {
	Approved bool
	Scope    Scope
	Reason   string
}

// consentOf reads an answer. An answer that does not explicitly approve the call is an
// error or a refusal.
func consentOf(r *interaction.Answer) (c consent, err error) {
	if r.Action != interaction.Resume {
		return consent{Reason: r.Reason}, nil
	}
	said, err := decodeArguments(r.Result)
	if err != nil {
		return c, errors.New("it is not a JSON object with unique keys")
	}
	c.Reason = r.Reason
	approved := false
	for key, v := range said.object {
		ok := false
		switch key {
		case "approved":
			c.Approved, ok = v.(bool)
			approved = ok
		case "scope":
			var scope string
			scope, ok = v.(string)
			c.Scope = Scope(scope)
		case "reason":
			c.Reason, ok = v.(string)
		}
		if !ok {
			return consent{}, fmt.Errorf("the key %q is unknown or has an invalid value", key)
		}
	}
	if !approved {
		return consent{}, errors.New(`the key "approved" is required`)
	}
	return c, nil
}

// isAbout reports whether an answer applies to the call in its current form: a person who changed
// the arguments, or saw different ones, did not approve these.
func isAbout(request *interaction.Request, r *interaction.Answer, call *model.ToolCall) bool {
	shown := request.Arguments
	if len(r.Arguments) > 0 {
		shown = r.Arguments
	}
	if request.Tool != call.Name {
		return false
	}
	if bytes.Equal(shown, call.Arguments) {
		return true
	}
	a, err := decodeArguments(shown)
	if err != nil {
		return false
	}
	b, err := decodeArguments(call.Arguments)
	return err == nil && textOf(a.object) == textOf(b.object)
}
