package core

import (
	"context"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
)

// The loop's actions. Actions that shape the next request run in BeforeInference, so a hook of that
// phase or of an earlier one may schedule them.
const (
	// AddContextMessage adds a message to the next request, and to all later ones if
	// it is persistent. Its payload is a plugins.ContextMessage.
	AddContextMessage = "add_context_message"
	// RemoveContextMessage removes a message from the next request and all later
	// ones. Its payload is the message's key, a string; an unknown key changes nothing.
	RemoveContextMessage = "remove_context_message"
	// SetInferenceOverride overrides parameters of the next request, field by field; the last of
	// several wins. Its payload is an Override.
	SetInferenceOverride = "set_inference_override"
	// ExcludeTool excludes a tool from the next request. Its payload is the tool's id, a string.
	ExcludeTool = "exclude_tool"
	// IncludeOnlyTools offers only the named tools in the next request. Several actions add up,
	// and an excluded tool stays excluded. Its payload is a []string.
	IncludeOnlyTools = "include_only_tools"
	// Handoff hands the conversation to another agent after the step, unless the turn ends with it;
	// the first of several applies. Its payload is the agent's id, a string.
	Handoff = "hand_off"
)

// Override is the payload of SetInferenceOverride.
type Override struct {
	// Model is the vendor's name of the model; empty keeps the agent's.
	Model string `json:"model,omitempty"`
	// Params override the agent's parameters; zero fields keep them.
	Params model.Params `json:"params,omitzero"`
}

// LoopActions is the plugin that handles the loop's actions and keeps persistent context messages.
type LoopActions struct{}

var _ plugins.Plugin = LoopActions{}

// Descriptor describes the plugin.
func (LoopActions) Descriptor() plugins.Descriptor {
	return noSections("Handles the actions that shape model requests and hand over the conversation.")
}

// Register adds the handlers, and the hook that adds persistent messages.
func (LoopActions) Register(r *plugins.Registrar) error {
	r.StateKey(lasting)
	r.StateKey(sent)
	r.Hook(plugins.BeforeInference, addLasting)
	for _, a := range loopActions {
		r.ActionHandler(a.key, a.phase, a.handle)
	}
	return nil
}

// loopActions are the handlers, created once because every turn registers them.
var loopActions = []struct {
	key    string
	phase  plugins.Phase
	handle plugins.ActionHandler
}{
	{AddContextMessage, plugins.BeforeInference, plugins.HandlerOf(addContext)},
	{RemoveContextMessage, plugins.BeforeInference, plugins.HandlerOf(removeContext)},
	{SetInferenceOverride, plugins.BeforeInference, plugins.HandlerOf(setOverride)},
	{ExcludeTool, plugins.BeforeInference, plugins.HandlerOf(excludeTool)},
	{IncludeOnlyTools, plugins.BeforeInference, plugins.HandlerOf(includeOnly)},
	{Handoff, plugins.StepEnd, plugins.HandlerOf(handOff)},
}

func setOverride(_ context.Context, p *plugins.PhaseContext, o Override) error {
	if o.Model != "" {
		p.Request().Model = o.Model
	}
	p.Request().Params = p.Request().Params.Merge(o.Params)
	return nil
}

func excludeTool(_ context.Context, p *plugins.PhaseContext, id string) error {
	p.Request().Exclude = append(p.Request().Exclude, id)
	return nil
}

func includeOnly(_ context.Context, p *plugins.PhaseContext, ids []string) error {
	p.Request().Restrict = true
	p.Request().Include = append(p.Request().Include, ids...)
	return nil
}

func handOff(_ context.Context, p *plugins.PhaseContext, agentID string) error {
	p.Handoff(agentID)
	return nil
}

// IsStateless reports whether a plugin of this package always registers the same for an agent and
// keeps no state of a turn.
func IsStateless(p plugins.Plugin) bool {
	switch p.(type) {
	case LoopActions, MaxRounds:
		return true
	default:
		return false
	}
}
