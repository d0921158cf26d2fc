package workflows

import (
	"encoding/json"

	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/service"
	flow "github.com/agentruntime/agentruntime/spec/workflow"
)

// ReadTarget reads a target in the format of this protocol or of Gestalt. The error names the
// path of the invalid field.
func ReadTarget(data []byte) (Target, error) {
	var t Target
	if !isGestalt(data) {
		return t, server.DecodeJSON(data, &t, true)
	}
	var g flow.GestaltTarget
	if err := server.DecodeJSON(data, &g, true); err != nil {
		return t, err
	}
	steps, found := g.ToSteps()
	if len(found) > 0 {
		return t, &service.InvalidError{Field: found[0].Path, Problem: found[0].Message}
	}
	return targetOf(&flow.Workflow{Steps: steps}), nil
}

// isGestalt reports whether a target has a field that only Gestalt's form has, or lacks the agent
// of the other form.
func isGestalt(data []byte) bool {
	type work struct {
		App, Plugin json.RawMessage
		Agent       *struct{ Provider, Agent json.RawMessage }
	}
	has := func(w *work) bool {
		return w.App != nil || w.Plugin != nil || w.Agent != nil && (w.Agent.Provider != nil || w.Agent.Agent == nil)
	}
	var target struct {
		work
		Steps []work
	}
	if json.Unmarshal(data, &target) != nil {
		return false
	}
	found := has(&target.work)
	for i := range target.Steps {
		found = found || has(&target.Steps[i])
	}
	return found
}
