package resolve

import (
	"fmt"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/spec"
)

// checkParams reports settings of the agent, and of its model, that the model's provider does not
// support.
func (r *resolver) checkParams(m *spec.Model, exec model.Executor) {
	checker, ok := exec.(model.ParamChecker)
	if !ok {
		return
	}
	own := model.OptionParams(&r.agent.ModelOptions)
	params := model.OptionParams(&m.ModelOptions).Merge(own)
	params.ReasoningEffort = r.agent.ReasoningEffort
	r.checkEdits(m, exec)
	for _, fault := range checker.CheckParams(m.UpstreamModel, &params) {
		byAgent := len(own.SetAmong(fault.Name)) > 0
		path, who := diag.Join(r.index.set.Models.Path(m.ID), fault.Name), fmt.Sprintf("model %q", m.ID)
		if byAgent {
			path, who = r.pathOf(fault.Name), fmt.Sprintf("agent %q", r.agent.ID)
		}
		reason := "the provider does not take it"
		if fault.Reason != "" {
			reason = fault.Name + " " + fault.Reason
		}
		message := fmt.Sprintf("%s sets %s for provider %q: %s", who, fault.Name, m.ProviderID, reason)
		switch {
		case !fault.Omitted:
			r.addError(diag.New(diag.InvalidValue, path, "%s", message).ForAgent(r.agent.ID))
		case byAgent:
			r.warnIneffective(fault.Name, "%s", message)
		default:
			r.addWarning(diag.New(diag.NoEffect, path, "%s", message))
		}
	}
}

// checkEdits warns about request edits that change nothing.
func (r *resolver) checkEdits(m *spec.Model, exec model.Executor) {
	checker, ok := exec.(model.EditChecker)
	if !ok {
		return
	}
	for _, d := range checker.CheckEdits(m.UpstreamModel, m.Request) {
		d.Path = diag.Join(diag.Join(r.index.set.Models.Path(m.ID), "request"), d.Path)
		r.addWarning(d)
	}
	for _, d := range checker.CheckEdits(m.UpstreamModel, r.agent.Request, m.Request) {
		d.Path = r.pathOf(diag.Join("request", d.Path))
		r.addWarning(d)
	}
}
