package resolve

import (
	"fmt"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/spec"
)

// templateOf returns the resolved template of an agent, or nil if the agent does not exist.
func (x *index) templateOf(id string) *template {
	if y := x.proven.Load(); y != nil {
		if t, ok := y.Get(id); ok {
			return t
		}
	}
	found, ok := x.templates.Load(id)
	if !ok {
		if _, ok := x.set.Agent(id); !ok {
			return nil
		}
		found, _ = x.templates.LoadOrStore(id, new(slot))
	}
	s := found.(*slot) //nolint:forcetypeassert // only slots are stored
	s.once.Do(func() { s.template = x.resolveAgent(id, nil) })
	return s.template
}

// resolveAgent runs the stages for an existing agent. Later stages run even if an earlier one
// failed, so that all errors are found, but consequences of an earlier error are not reported.
func (x *index) resolveAgent(id string, trace *Trace) *template {
	declared, _ := x.set.Agent(id)
	return x.runStages(&template{base: agentPath(x.set, declared)}, declared, trace)
}

// runStages runs the stages for an agent, in a template that records its origin.
func (x *index) runStages(t *template, declared *spec.Agent, trace *Trace) *template {
	r := &resolver{template: t, index: x, trace: trace}
	t.agent, t.origin = x.set.Defaults.Apply(declared)
	if t.call != nil {
		t.agent = onlyGuards(t.agent)
	}
	r.validateAgent()
	r.checkTenantVariables(x.set)
	r.lookupModel()
	if !t.agent.Local() {
		r.reportIgnored()
	}
	if t.agent.UsesTools() {
		t.prices, t.outputLimit = r.modelPrices(), r.maxOutput(t.agent)
		t.provider, t.providers = r.servedBy(), r.poolProviders()
		r.compileOutput()
		r.compileVariables()
		r.loadPlugins()
		r.collectTools()
	}
	t.errs = dropRepeated(t.errs)
	return t
}

// validateAgent checks the agent's record in isolation.
func (r *resolver) validateAgent() {
	for _, d := range r.agent.Validate() {
		if d.Code == diag.InvalidEndpoint {
			continue // the first stage reports it, with the backend's own findings
		}
		if d.Code == diag.MissingField {
			d.Message = fmt.Sprintf("agent %q has no %s", r.agent.ID, d.Path)
		}
		d.Path = r.pathOf(d.Path)
		r.addError(d.ForAgent(r.agent.ID))
	}
}
