package permission

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
)

// Action is the action of the tickets by which a person is asked about a call.
const Action = "tool:PermissionConfirm"

// Scope says for how long a person may grant what a rule asks about.
type Scope string

// The scopes.
const (
	// Once grants the one call.
	Once Scope = "once"
	// Session grants the tool as far as the same rule asks, for the rest of the
	// session.
	Session Scope = "session"
)

var (
	onlyOnce  = []Scope{Once}
	anyScope  = []Scope{Once, Session}
	responses = map[Scope]json.RawMessage{Once: responseSchema(onlyOnce), Session: responseSchema(anyScope)}
)

// responseSchema returns the JSON Schema of an answer that may grant some scopes.
func responseSchema(scopes []Scope) json.RawMessage {
	names, _ := json.Marshal(scopes) // texts
	return json.RawMessage(`{"type":"object","required":["approved"],"additionalProperties":false,"properties":{` +
		`"approved":{"type":"boolean","description":"Whether the call may be made."},` +
		`"scope":{"enum":` + string(names) + `,"default":"once","description":"What is approved: this call, or the tool for the rest of the session, as far as the same rule asks."},` +
		`"reason":{"type":"string","description":"Why not, for the model."}}}`)
}

// subject is what a ticket's parameters say.
type subject struct {
	// Agent is the one whose rule asks.
	Agent string `json:"agent"`
	Tool  string `json:"tool"`
	// Rule is the rule that asks, as the section has it; empty for the default.
	Rule string `json:"rule,omitempty"`
	// Scopes are those that may be granted.
	Scopes []Scope `json:"scopes"`
}

// question is the decision that makes a call wait for a person.
func (g *gate) question(call *model.ToolCall, o outcome, scopes []Scope) plugins.Decision {
	message := fmt.Sprintf("Agent %s wants to call tool %s. No rule speaks of it, so it needs your approval.", g.agent, call.Name)
	if o.entry != nil {
		message = fmt.Sprintf("Agent %s wants to call tool %s. By the rule %q that needs your approval.", g.agent, call.Name, o.entry.text)
	}
	parameters, err := json.Marshal(subject{Agent: g.agent, Tool: call.Name, Rule: o.rule(), Scopes: scopes})
	if err != nil {
		return block("permission denied: %v", err)
	}
	return plugins.Decision{Kind: plugins.Suspend, Reason: message, Ticket: &plugins.Ticket{
		ID: "perm_" + call.ID, Action: Action, Message: message, Parameters: parameters,
		ResponseSchema: responses[scopes[len(scopes)-1]], Mode: plugins.ReplayToolCall,
	}}
}

// consent is what a person said.
type consent struct {
	Approved bool
	Scope    Scope
	Reason   string
}

// consentOf reads an answer. What does not say plainly that the call is approved
// is an error or a refusal.
func consentOf(r *plugins.Resolution) (consent, error) {
	if r.Action != plugins.ActionResume {
		return consent{Reason: r.Reason}, nil
	}
	var said struct {
		Approved *bool  `json:"approved"`
		Scope    Scope  `json:"scope"`
		Reason   string `json:"reason"`
	}
	decoder := json.NewDecoder(bytes.NewReader(r.Result))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&said); err != nil {
		return consent{}, err
	}
	if said.Approved == nil {
		return consent{}, errors.New("it does not say whether the call is approved")
	}
	if said.Reason == "" {
		said.Reason = r.Reason
	}
	return consent{Approved: *said.Approved, Scope: said.Scope, Reason: said.Reason}, nil
}

// concerns reports whether an answer is about the call as it is now: a person who
// changed the arguments, or saw others, did not agree to these.
func concerns(ticket *plugins.Ticket, r *plugins.Resolution, call *model.ToolCall) bool {
	shown := ticket.Arguments
	if len(r.Arguments) > 0 {
		shown = r.Arguments
	}
	if ticket.Tool != call.Name {
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

// grant is what a person allowed for the rest of a session.
type grant struct {
	Agent string `json:"agent"`
	Tool  string `json:"tool"`
	// Rule is the rule that asked; a grant has no effect where another one, or
	// none, asks.
	Rule string `json:"rule,omitempty"`
}

// maxGrants bounds the grants of a session. The oldest give way: a person is
// asked again.
const maxGrants = 64

var grantsKey = plugins.NewKey("permission.grants", plugins.ScopeSession, plugins.Merge(union))

// union returns all grants, those of the second list behind.
func union(committed, own []grant) []grant {
	all := slices.Clone(committed)
	for _, g := range own {
		if !slices.Contains(all, g) {
			all = append(all, g)
		}
	}
	return all[max(0, len(all)-maxGrants):]
}

// granted reports whether a person granted what is asked about.
func (g *gate) granted(p *plugins.PhaseContext, o outcome) bool {
	return slices.Contains(o.scopes(), Session) &&
		slices.Contains(grantsKey.Get(p), grant{Agent: g.agent, Tool: p.Call.Name, Rule: o.rule()})
}

// record keeps what a person granted for the session, once the call is let
// through: only what this agent's rules still ask about, by the rule that the
// person was shown.
func (g *gate) record(p *plugins.PhaseContext) error {
	ticket, answer := p.Answered(Action)
	if answer == nil || !concerns(ticket, answer, p.Call) {
		return nil
	}
	c, err := consentOf(answer)
	if err != nil || !c.Approved || c.Scope != Session {
		return nil //nolint:nilerr // the gate has refused the call
	}
	o := g.policy.decide(p.Call.Name, p.Call.Arguments)
	var shown subject
	if err := json.Unmarshal(ticket.Parameters, &shown); err != nil {
		return nil //nolint:nilerr // without its parameters a ticket grants the one call
	}
	fits := o.behavior == Ask && slices.Contains(o.scopes(), Session) && shown.Agent == g.agent && shown.Rule == o.rule()
	if fits && !g.granted(p, o) {
		grantsKey.Set(p, union(grantsKey.Get(p), []grant{{Agent: g.agent, Tool: p.Call.Name, Rule: o.rule()}}))
	}
	return nil
}
