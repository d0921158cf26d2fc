package resolve

import (
	"fmt"

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
	own := model.OptionParams(&t.agent.ModelOptions)
	params := model.OptionParams(&m.ModelOptions).Merge(own)
	params.ReasoningEffort = t.agent.ReasoningEffort
	for _, fault := range checker.CheckParams(m.UpstreamModel, &params) {
		byAgent := len(own.SetAmong(fault.Name)) > 0
		path, who := diag.Join(t.index.set.Models.Path(m.ID), fault.Name), fmt.Sprintf("model %q", m.ID)
		if byAgent {
			path, who = t.pathOf(fault.Name), fmt.Sprintf("agent %q", t.agent.ID)
		}
		reason := "the provider does not take it"
		if fault.Reason != "" {
			reason = fault.Name + " " + fault.Reason
		}
		message := fmt.Sprintf("%s sets %s for provider %q: %s", who, fault.Name, m.ProviderID, reason)
		switch {
		case !fault.Omitted:
			t.addError(diag.New(diag.InvalidValue, path, "%s", message).ForAgent(t.agent.ID))
		case byAgent:
			t.warnIneffective(fault.Name, "%s", message)
		default:
			t.addWarning(diag.New(diag.NoEffect, path, "%s", message))
		}
	}
}
