package core

import (
	"context"
	"fmt"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
)

// The actions that shape the next request. They run in BeforeInference, so a
// hook of that phase or of an earlier one may schedule them.
const (
	// AddContextMessage adds a message to the next request. Its payload is a
	// plugins.ContextMessage.
	AddContextMessage = "add_context_message"
	// SetInferenceOverride overrides parameters of the next request, field by
	// field; of several the last counts. Its payload is an Override.
	SetInferenceOverride = "set_inference_override"
	// ExcludeTool keeps a tool out of the next request. Its payload is the
	// tool's id, a string.
	ExcludeTool = "exclude_tool"
	// IncludeOnlyTools offers only the named tools in the next request; those
	// of several actions add up, and an excluded one stays excluded. Its
	// payload is a []string.
	IncludeOnlyTools = "include_only_tools"
)

// Override is the payload of SetInferenceOverride.
type Override struct {
	// Model is the vendor's name of the model; empty keeps the agent's.
	Model string
	// Params override those of the agent; zero fields keep them.
	Params model.Params
}

// LoopActions is the plugin that handles the loop's actions.
type LoopActions struct{}

var _ plugins.Plugin = LoopActions{}

// Descriptor describes the plugin.
func (LoopActions) Descriptor() plugins.Descriptor {
	return noSections("Handles the actions that shape the next model request.")
}

// Register adds the handlers.
func (LoopActions) Register(r *plugins.Registrar) error {
	r.ActionHandler(AddContextMessage, plugins.BeforeInference, addContext)
	r.ActionHandler(SetInferenceOverride, plugins.BeforeInference, setOverride)
	r.ActionHandler(ExcludeTool, plugins.BeforeInference, excludeTool)
	r.ActionHandler(IncludeOnlyTools, plugins.BeforeInference, includeOnly)
	return nil
}

func addContext(_ context.Context, p *plugins.PhaseContext, payload any) error {
	m, err := payloadOf[plugins.ContextMessage](payload)
	if err != nil {
		return err
	}
	p.Request().Context = append(p.Request().Context, m)
	return nil
}

func setOverride(_ context.Context, p *plugins.PhaseContext, payload any) error {
	o, err := payloadOf[Override](payload)
	if err != nil {
		return err
	}
	if o.Model != "" {
		p.Request().Model = o.Model
	}
	p.Request().Params = p.Request().Params.Merge(o.Params)
	return nil
}

func excludeTool(_ context.Context, p *plugins.PhaseContext, payload any) error {
	id, err := payloadOf[string](payload)
	if err != nil {
		return err
	}
	p.Request().Exclude = append(p.Request().Exclude, id)
	return nil
}

func includeOnly(_ context.Context, p *plugins.PhaseContext, payload any) error {
	ids, err := payloadOf[[]string](payload)
	if err != nil {
		return err
	}
	p.Request().Restrict = true
	p.Request().Include = append(p.Request().Include, ids...)
	return nil
}

func payloadOf[T any](payload any) (T, error) {
	v, ok := payload.(T)
	if !ok {
		return v, fmt.Errorf("the payload is a %T, want %T", payload, v)
	}
	return v, nil
}
