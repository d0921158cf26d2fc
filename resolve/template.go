package resolve

import (
	"fmt"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/plugins/execution"
	"github.com/agentruntime/agentruntime/spec"
)

// template is the part of a resolved agent that depends on the revision alone:
// everything but the plugins' registration, which each resolve repeats. It is made
// once, by the goroutine that resolves the agent first, and read-only from then on.
// The next revision has it, too, unless what the agent depends on has changed.
type template struct {
	// index and trace are there while the stages run. Later the template may
	// belong to other revisions, too, which must not keep the first one.
	index *index
	trace *Trace
	dependencies
	agent  *spec.Agent
	origin spec.Origin
	base   string

	errs     []error
	warnings diag.List

	// Set by the first stage.
	remote  backend.Backend
	calling calling
	// cutoff is whether the model is told its knowledge cutoff.
	cutoff  cutoffContext
	wrapped bool
	served
	// summary asks the model that writes summaries, when it is another one.
	summary served
	// summaryAt is where that model was named, below the agent.
	summaryAt string

	// provider serves the agent's model, and providers the members of its pool, by
	// the ids of the models.
	provider  string
	providers map[string]string
	// prices are what its models cost, and outputLimit how many tokens an answer
	// may have.
	prices      map[string]*spec.Pricing
	outputLimit int
	// form is that of the final answer; nil for any.
	form *backend.OutputForm
	// declares are the variables that a turn may bring; nil for none.
	declares *variables

	// Set by the second stage.
	loaded   []execution.Loaded
	sections map[plugins.Claim]any
	// claimed are the sections that something reads. Of the agent's others,
	// unclaimed are those that do not guard; the rest are errors.
	claimed, unclaimed []string
	env                *execution.Env
	gaps
	// toolless is set if the catalog leaves no tool without saying so explicitly.
	toolless bool

	// brought are the tools of an ephemeral agent, and passing is set if the
	// template is for one turn only.
	brought []EphemeralTool
	// call is the one call of an ephemeral agent that asks no model; nil for others.
	call    *SingleCall
	passing bool

	// Set by the third stage. The agent sees some tools, and its model is offered
	// some of those; choices are recorded for Explain only.
	seen, offered *toolbox
	// counted is the toolbox of the global tools that the agent uses.
	counted *toolbox
	choices []ToolChoice
	// calls are the agents that the offered tools call.
	calls []string
	// dialects are what the models take as tools, and adapted the tools that they get in
	// another form.
	dialects []model.ToolDialect
	adapted  []adaptedTool
}

// gaps are what mistakes leave open about the plugins and tools of an agent.
type gaps struct {
	// meant are the plugins that misspelt plugin_ids probably mean.
	meant []string
	// broken is set if a plugin is missing or does not register, so that
	// its tools are unknown.
	broken bool
	// unreadable is set if a pattern of the catalog does not compile, so that
	// it is unknown which tools it matches; wanted are the tools that misspelt
	// entries of the catalog, and rules, probably mean.
	unreadable bool
	wanted     []string
}

// resolveAgent runs the stages for an agent that exists. A stage goes on where an
// earlier one failed, so that all errors are found; what only follows from an
// earlier error is left out.
func (x *index) resolveAgent(id string, trace *Trace) *template {
	declared, _ := x.set.Agent(id)
	return x.runStages(&template{base: agentPath(x.set, declared)}, declared, trace)
}

// runStages runs the stages for an agent, in a template that says where it comes
// from.
func (x *index) runStages(t *template, declared *spec.Agent, trace *Trace) *template {
	t.index, t.trace = x, trace
	t.agent, t.origin = x.set.Defaults.Apply(declared)
	if t.call != nil {
		t.agent = onlyGuards(t.agent)
	}
	t.validateAgent()
	t.checkTenantVariables(x.set)
	t.lookupModel()
	if !t.agent.Local() {
		t.reportIgnored()
	}
	if t.agent.UsesTools() {
		t.prices, t.outputLimit = t.modelPrices(), t.maxOutput(t.agent)
		t.provider, t.providers = t.servedBy(), t.poolProviders()
		t.compileOutput()
		t.compileVariables()
		t.loadPlugins()
		t.collectTools()
	}
	t.errs = dropRepeated(t.errs)
	t.index, t.trace = nil, nil
	return t
}

// within returns the template as it is while the stages run in a revision.
func (t *template) within(x *index) *template {
	own := *t
	own.index = x
	return &own
}

// validateAgent checks the agent's record by itself.
func (t *template) validateAgent() {
	for _, d := range t.agent.Validate() {
		if d.Code == diag.InvalidEndpoint {
			continue // the first stage reports it, with the backend's own findings
		}
		if d.Code == diag.MissingField {
			d.Message = fmt.Sprintf("agent %q has no %s", t.agent.ID, d.Path)
		}
		d.Path = t.pathOf(d.Path)
		t.addError(d.ForAgent(t.agent.ID))
	}
}

// pathOf returns where a part of the agent is defined: the agent's own record,
// or the defaults.
func (t *template) pathOf(rel string) string { return t.origin.Path(t.base, rel) }

func (t *template) addError(err error) { t.errs = append(t.errs, err) }

// failAll reports diagnostics with paths below the agent.
func (t *template) failAll(list diag.List) {
	for _, d := range list {
		d.Path = t.pathOf(d.Path)
		t.addError(d.ForAgent(t.agent.ID))
	}
}

func (t *template) addWarning(d diag.Diagnostic) {
	t.warnings = append(t.warnings, d.ForAgent(t.agent.ID))
}

// joinedError returns everything that keeps the agent from resolving, or nil.
func (t *template) joinedError() error {
	if len(t.errs) == 0 {
		return nil
	}
	return &Error{Agent: t.agent.ID, Errs: t.errs}
}
