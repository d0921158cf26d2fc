package resolve

import (
	"slices"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/spec"
)

// checkParams reports settings of the agent, and of its model, that the provider of the
// model does not take.
func (t *template) checkParams(m *spec.Model, exec model.Executor) {
	checker, ok := exec.(model.ParamChecker)
	if !ok {
		return
	}
	own := checker.UnsupportedParams(model.OptionParams(&t.agent.ModelOptions))
	for _, name := range own {
		t.addError(diag.New(diag.InvalidValue, t.pathOf(name),
			"agent %q sets %s, which provider %q of model %q does not take", t.agent.ID, name, m.ProviderID, m.ID).ForAgent(t.agent.ID))
	}
	for _, name := range checker.UnsupportedParams(model.OptionParams(&m.ModelOptions)) {
		if !slices.Contains(own, name) {
			t.addError(diag.New(diag.InvalidValue, diag.Join(t.index.set.Models.Path(m.ID), name),
				"model %q sets %s, which provider %q does not take; agent %q runs on it", m.ID, name, m.ProviderID, t.agent.ID).ForAgent(t.agent.ID))
		}
	}
}
