package resolve

import (
	"slices"
	"sync"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/plugins/execution"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools/toolset"
)

// template is the part of a resolved agent that depends only on the revision: everything except
// the plugin registration, which each resolve repeats. The first resolve creates it; it is then
// read-only. The next revision reuses it unless a dependency of the agent changed.
type template struct {
	dependencies
	agent  *spec.Agent
	origin spec.Origin
	base   string

	errs     []error
	warnings diag.List

	// Set by the first stage.
	remote  backend.Backend
	calling calling
	// cutoff controls whether the model gets its knowledge cutoff.
	cutoff  cutoffContext
	wrapped bool
	served
	// summary calls the model that writes summaries, if it is a different one.
	summary served
	// policyFields maps the context policy's fields set by the section compaction to their paths
	// below the agent.
	policyFields map[string]string

	// provider serves the agent's model, and providers the members of its pool, by model id.
	provider  string
	providers map[string]string
	// prices are its models' prices, and outputLimit is the maximum number of tokens in an answer.
	prices      map[string]*spec.Pricing
	outputLimit int
	// form is the format of the final answer; nil for any.
	form *backend.OutputForm
	// declares are the variables that a turn may supply; nil for none.
	declares *variables

	// Set by the second stage.
	loaded   []execution.Loaded
	sections map[plugins.Claim]any
	// claimed are the sections that are read. Among the agent's other sections, unclaimed are those
	// that do not guard; the rest are errors.
	claimed, unclaimed []string
	env                *execution.Env
	gaps
	// toolless is set if the catalog leaves no tool without saying so explicitly.
	toolless bool

	// brought are an ephemeral agent's tools, and passing is set if the template is for one turn
	// only.
	brought []EphemeralTool
	// call is the only call of an ephemeral agent without a model; nil for others.
	call    *SingleCall
	passing bool

	// Set by the third stage. seen are the agent's tools, offered those offered to its model;
	// choices are recorded only for Explain.
	seen, offered *toolbox
	// counted is the toolbox of the global tools that the agent uses.
	counted *toolbox
	choices []ToolChoice
	// calls are the agents that the offered tools call.
	calls []string
	// dialects are the tool dialects of the models, and adapted the tools converted for them.
	dialects []model.ToolDialect
	adapted  []adaptedTool
}

// gaps records what mistakes leave unknown about the plugins and tools of an agent.
type gaps struct {
	// meant are the plugins that misspelled plugin_ids probably mean.
	meant []string
	// broken is set if a plugin is missing or does not register, so that
	// its tools are unknown.
	broken bool
	// unreadable is set if a catalog pattern does not compile, so that its matches are unknown;
	// wanted are the tools that misspelled catalog entries and rules probably mean.
	unreadable bool
	wanted     []string
}

// toolbox is a group of tools. Their set is created when the first agent that has them runs.
type toolbox struct {
	entries []*toolset.Entry
	set     func() *toolset.Set
}

func newToolbox(entries []*toolset.Entry) *toolbox {
	return &toolbox{entries: entries, set: sync.OnceValue(func() *toolset.Set { return toolset.NewSet(entries) })}
}

// adaptedTool is a tool that a model's vendor receives in another form.
type adaptedTool struct {
	// path is the location where the tool is defined.
	path, id, vendor string
	change           model.ToolChange
}

// pathOf returns where a part of the agent is defined: the agent's own record,
// or the defaults.
func (t *template) pathOf(rel string) string { return t.origin.Path(t.base, rel) }

// addError adds a finding. A warning does not prevent the agent from resolving.
func (t *template) addError(err error) {
	if d, ok := err.(diag.Diagnostic); ok && d.Severity != diag.Error { //nolint:errorlint // findings are not wrapped
		t.addWarning(d)
		return
	}
	t.errs = append(t.errs, err)
}

func (t *template) addWarning(d diag.Diagnostic) {
	t.warnings = append(t.warnings, d.ForAgent(t.agent.ID))
}

// joinedError returns the errors that prevent the agent from resolving, or nil.
func (t *template) joinedError() error {
	if len(t.errs) == 0 {
		return nil
	}
	return &Error{Agent: t.agent.ID, Errs: t.errs}
}

// dependOn records that an entry was looked up. A temporary agent is not carried over, so it needs
// no record.
func (t *template) dependOn(kind dependencyKind, id string) {
	if t.passing {
		return
	}
	if t.named == nil {
		t.named = make([]dependency, 0, 4)
	}
	const few = 16 // beyond this, a duplicate costs less than the search
	if d := (dependency{kind, id}); len(t.named) > few || !slices.Contains(t.named, d) {
		t.named = append(t.named, d)
	}
}

// dependOnAgent records that another agent was looked up, and found unless it is nil.
func (t *template) dependOnAgent(kind dependencyKind, id string, found *spec.Agent) {
	t.dependOn(kind, id)
	if found == nil || found.Registry != "" {
		t.anySource = true
	} else if found.ID != id {
		t.dependOn(kind, found.ID)
	}
}
