package plugins

import (
	"cmp"
	"slices"

	"github.com/agentruntime/agentruntime/model"
)

// Target is the position of a context message in a request.
type Target string

// The positions of context messages, in the order sent.
const (
	// TargetSystem is right after the agent's prompt.
	TargetSystem Target = "system"
	// TargetSession is after all system messages.
	TargetSession Target = "session"
	// TargetConversation is after TargetSession, before the conversation.
	TargetConversation Target = "conversation"
	// TargetSuffix is at the end of the request.
	TargetSuffix Target = "suffix_system"
)

// ContextMessage is a message that a plugin adds to requests but not to the conversation.
type ContextMessage struct {
	// Key identifies the message within the turn: a message with the same key replaces the previous
	// one. It may be empty for a message that is neither Persistent nor ConsumeAfterEmit and has no
	// cooldown.
	Key string `json:"key,omitempty"`
	// Role is the message's role; empty means system.
	Role   model.Role `json:"role,omitempty"`
	Text   string     `json:"text"`
	Target Target     `json:"target,omitempty"`
	// Priority orders the messages of a target, lowest first; equal ones are
	// ordered by key.
	Priority int `json:"priority,omitempty"`
	// CooldownTurns omits a message for that many steps after a step that included it, unless its
	// text changes; 0 always includes it.
	CooldownTurns int `json:"cooldown_turns,omitempty"`
	// Persistent keeps the message for all later requests of the turn, until it
	// is replaced or removed.
	Persistent bool `json:"persistent,omitempty"`
	// ConsumeAfterEmit keeps the message until a request has included it, which with a cooldown may
	// not be the next one.
	ConsumeAfterEmit bool `json:"consume_after_emit,omitempty"`
}

// RequestPlan is the plugins' plan for the next request. A nil plan changes nothing.
type RequestPlan struct {
	// Context is added to the conversation.
	Context []ContextMessage `json:"context,omitempty"`
	// Include, if Restrict is set, names the only tools to offer.
	Include  []string `json:"include,omitempty"`
	Restrict bool     `json:"restrict,omitempty"`
	// Exclude names tools not to offer; it wins over Include. A call of a tool that was not offered
	// is not executed.
	Exclude []string `json:"exclude,omitempty"`
	// WithoutTools stops the model from calling tools: the turn ends with its answer.
	WithoutTools bool `json:"without_tools,omitempty"`
	// Params override the agent's parameters, field by field.
	Params model.Params `json:"params,omitzero"`
	// Model overrides the vendor's name of the model; empty keeps it.
	Model string `json:"model,omitempty"`
}

// AddContext adds a context message, replacing one with the same key.
func (p *RequestPlan) AddContext(m ContextMessage) {
	p.RemoveContext(m.Key)
	p.Context = append(p.Context, m)
}

// RemoveContext removes the context message with the key; the empty key matches messages without
// a key.
func (p *RequestPlan) RemoveContext(key string) {
	if key == "" {
		return
	}
	p.Context = slices.DeleteFunc(slices.Clone(p.Context), func(m ContextMessage) bool { return m.Key == key })
}

// Empty reports whether the plan changes nothing.
func (p *RequestPlan) Empty() bool {
	return p == nil || len(p.Context) == 0 && !p.Restrict && len(p.Exclude) == 0 && !p.WithoutTools && p.Params.IsZero() && p.Model == ""
}

// Offers reports whether a tool is offered.
func (p *RequestPlan) Offers(toolID string) bool {
	if p == nil {
		return true
	}
	if p.Restrict && !slices.Contains(p.Include, toolID) {
		return false
	}
	return !slices.Contains(p.Exclude, toolID)
}

// At returns the context messages of a target, in the order sent.
func (p *RequestPlan) At(target Target) []ContextMessage {
	if p == nil {
		return nil
	}
	var at []ContextMessage
	for _, m := range p.Context {
		if m.Target == target || target == TargetSystem && m.Target == "" {
			at = append(at, m)
		}
	}
	slices.SortStableFunc(at, func(a, b ContextMessage) int {
		return cmp.Or(cmp.Compare(a.Priority, b.Priority), cmp.Compare(a.Key, b.Key))
	})
	return at
}
