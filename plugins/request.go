package plugins

import (
	"slices"

	"github.com/agentruntime/agentruntime/model"
)

// Target says where a context message stands in a request.
type Target string

// The places of context messages, in the order in which they are sent.
const (
	// TargetSystem is behind the agent's prompt.
	TargetSystem Target = "system"
	// TargetSession is behind all system messages.
	TargetSession Target = "session"
	// TargetConversation is behind TargetSession, ahead of the conversation.
	TargetConversation Target = "conversation"
	// TargetSuffix is at the end of the request.
	TargetSuffix Target = "suffix_system"
)

// ContextMessage is a message that a plugin adds to one request, and that the
// conversation does not keep.
type ContextMessage struct {
	// Key identifies the message among those of its target, for their order.
	Key string
	// Role is the message's role; empty means system.
	Role   model.Role
	Text   string
	Target Target
	// Priority orders the messages of a target, lowest first; equal ones are
	// ordered by key.
	Priority int
}

// RequestPlan is what plugins make of the next request.
type RequestPlan struct {
	// Context is what is added to the conversation.
	Context []ContextMessage
	// Include, when Restrict is set, names the only tools that are offered.
	Include  []string
	Restrict bool
	// Exclude names tools that are not offered; it wins over Include. A call
	// of a tool that was not offered is not executed.
	Exclude []string
	// Params override those of the agent, field by field.
	Params model.Params
	// Model overrides the vendor's name of the model; empty keeps it.
	Model string
}

// Empty reports whether the plan changes nothing.
func (p *RequestPlan) Empty() bool {
	return len(p.Context) == 0 && !p.Restrict && len(p.Exclude) == 0 && p.Params == (model.Params{}) && p.Model == ""
}

// Offers reports whether a tool is offered.
func (p *RequestPlan) Offers(toolID string) bool {
	if p.Restrict && !slices.Contains(p.Include, toolID) {
		return false
	}
	return !slices.Contains(p.Exclude, toolID)
}

// At returns the context messages of a target, in the order in which they are
// sent.
func (p *RequestPlan) At(target Target) []ContextMessage {
	var at []ContextMessage
	for _, m := range p.Context {
		if m.Target == target || target == TargetSystem && m.Target == "" {
			at = append(at, m)
		}
	}
	slices.SortStableFunc(at, func(a, b ContextMessage) int {
		if a.Priority != b.Priority {
			return a.Priority - b.Priority
		}
		switch {
		case a.Key < b.Key:
			return -1
		case a.Key > b.Key:
			return 1
		}
		return 0
	})
	return at
}
