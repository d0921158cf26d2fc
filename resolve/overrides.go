package resolve

import (
	"cmp"
	"slices"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins/execution"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools/toolset"
)

// Overrides replace an agent's model, limits and output format for one turn. Unset fields keep the
// agent's settings.
type Overrides struct {
	// ModelID is a model or a pool; for a hosted agent, its provider's name for a model. The agent
	// must run here or at such a provider, and an agent that takes over by a hand-off has its own.
	ModelID       string              `json:"model_id,omitempty"`
	MaxRounds     *int                `json:"max_rounds,omitempty"`
	OnMaxRounds   spec.OnMaxRounds    `json:"on_max_rounds,omitempty"`
	OnTruncation  spec.OnTruncation   `json:"on_truncation,omitempty"`
	Budgets       *spec.Budgets       `json:"budgets,omitempty"`
	LoopDetection *spec.LoopDetection `json:"loop_detection,omitempty"`
	// ToolBudgets, if not nil, replaces all tool budgets.
	ToolBudgets map[string]spec.ToolBudget `json:"tool_budgets,omitempty"`
	Output      *spec.OutputSchema         `json:"output_schema,omitempty"`
	// ToolChoice, when not nil, applies to the first model call of the turn.
	ToolChoice *model.ToolChoice `json:"tool_choice,omitempty"`
	// MaxCalls is the maximum number of tool calls in one answer of the model; 0 uses the loop's
	// limit.
	MaxCalls int `json:"max_calls,omitempty"`
	// Tools, if not nil, are the only tools that the turn may call, among those that the agent has.
	Tools spec.Names `json:"tools,omitzero"`
}

// Empty reports whether the agent stays unchanged.
func (o *Overrides) Empty() bool {
	return o.ModelID == "" && o.MaxRounds == nil && o.OnMaxRounds == "" && o.OnTruncation == "" && o.Budgets == nil && o.LoopDetection == nil && o.ToolBudgets == nil && o.Output == nil && o.Tools == nil &&
		o.ToolChoice == nil && o.MaxCalls == 0
}

// applyTo returns the agent with the turn's overrides.
func (o *Overrides) applyTo(agent *spec.Agent) *spec.Agent {
	a := *agent
	if o.MaxRounds != nil {
		a.MaxRounds = o.MaxRounds
	}
	a.OnMaxRounds = cmp.Or(o.OnMaxRounds, a.OnMaxRounds)
	a.OnTruncation = cmp.Or(o.OnTruncation, a.OnTruncation)
	if o.Budgets != nil {
		a.Budgets = o.Budgets
	}
	if o.LoopDetection != nil {
		a.LoopDetection = o.LoopDetection
	}
	if o.ToolBudgets != nil {
		a.ToolBudgets = o.ToolBudgets
	}
	if o.Output != nil {
		a.OutputSchema = o.Output
	}
	return &a
}

// narrowTools returns the tools of a set that the turn may call.
func (o *Overrides) narrowTools(set *toolset.Set) *toolset.Set {
	if o.Tools == nil {
		return set
	}
	var list []*toolset.Entry
	for _, entry := range set.Entries() {
		if slices.Contains(o.Tools, entry.ID) {
			list = append(list, entry)
		}
	}
	return toolset.NewSet(list)
}

// variant is the part of a template that a turn runs with: the agent, its plugins, and its output
// format.
type variant struct {
	agent  *spec.Agent
	loaded []execution.Loaded
	form   *backend.OutputForm
}

// newVariant returns the template's own variant, or one with overrides, which are checked as if the
// agent declared them.
func (t *template) newVariant(x *index, o *Overrides) (variant, error) {
	if o.Empty() {
		return variant{t.agent, t.loaded, t.form}, nil
	}
	return t.overriddenVariant(x, o)
}

// overriddenVariant is separate from newVariant because it needs a large stack, and most turns
// override nothing.
func (t *template) overriddenVariant(x *index, o *Overrides) (variant, error) {
	v := variant{agent: o.applyTo(t.agent), form: t.form}
	e := &Error{Agent: t.agent.ID}
	for _, d := range v.agent.Validate().Errors() {
		e.Errs = append(e.Errs, d.ForAgent(t.agent.ID))
	}
	if len(e.Errs) == 0 && o.Output != nil {
		form, err := backend.NewOutputForm(o.Output)
		if err != nil {
			e.Errs = append(e.Errs, diag.New(diag.InvalidSchema, "output_schema.schema",
				"the output schema is not a valid JSON Schema: %v", err).ForAgent(t.agent.ID))
		}
		v.form = form
	}
	if err := t.checkCostLimit(x, &v); err != nil {
		e.Errs = append(e.Errs, err)
	}
	if len(e.Errs) > 0 {
		return variant{}, e
	}
	v.loaded = slices.DeleteFunc(slices.Clone(t.loaded), func(l execution.Loaded) bool { return l.Core })
	v.loaded = append(v.loaded, t.ownPlugins(v.agent, nil)...)
	return v, nil
}

// checkCostLimit rejects a turn's cost limit that cannot be measured: the caller relies on it.
func (t *template) checkCostLimit(x *index, v *variant) error {
	asked, own := v.agent.Budgets, t.agent.Budgets
	if asked == nil || asked.MaxCost == nil {
		return nil
	}
	if own != nil && own.MaxCost != nil && *own.MaxCost == *asked.MaxCost && own.Currency == asked.Currency {
		return nil // the agent's own: publishing warned about it
	}
	reasons := x.unmeasuredCosts(nil, v.agent, asked.Currency)
	if len(reasons) == 0 {
		return nil
	}
	return &UnmeasuredCostError{Agent: t.agent.ID, Reasons: reasons}
}

// compileOutput compiles the agent's output format.
func (r *resolver) compileOutput() {
	output := r.agent.OutputSchema
	if output == nil || output.Validate().HasErrors() {
		return // the record's own validation reports it
	}
	form, err := backend.NewOutputForm(output)
	if err != nil {
		r.addError(diag.New(diag.InvalidSchema, r.pathOf("output_schema.schema"),
			"the output schema is not a valid JSON Schema: %v", err).ForAgent(r.agent.ID))
		return
	}
	r.form = form
}
