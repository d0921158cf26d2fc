package resolve

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

// ToolChoice is what resolving decided about one tool.
type ToolChoice struct {
	ID     string         `json:"id"`
	Source tools.Source   `json:"source"`
	Rule   tools.Decision `json:"catalog"`
	// Verdict is what the plugins' gates can tell about the tool.
	Verdict plugins.Verdict `json:"gate"`
}

// Offered reports whether the model is told of the tool.
func (c *ToolChoice) Offered() bool {
	return c.Rule.Visible && c.Verdict.Access != plugins.AccessDeny
}

// collect is the third stage. It merges the global tools, the delegates and
// the tools of plugins, finds conflicts, and filters the whole by the agent's
// catalog.
func (t *template) collect() {
	t.trace.stage(StageTools)
	defer t.trace.end()
	merged := t.merge()
	catalog, list := tools.CompileCatalog(t.agent)
	t.failAll(list)
	t.filter(merged, catalog)
	t.warn(merged, catalog)
}

// merge puts the tools of all sources together. Of two tools with one id the
// first stays, and the conflict is an error.
func (t *template) merge() []*tools.Entry {
	m := merger{template: t, seen: make(map[string]*tools.Entry, len(t.index.tools)), all: make([]*tools.Entry, 0, len(t.index.tools))}
	for _, entry := range t.index.tools {
		m.seen[entry.ID] = entry
		m.all = append(m.all, entry)
	}
	t.trace.add("merged", strconv.Itoa(len(m.all))+" global tools", "")
	for i, id := range t.agent.Delegates {
		if !slices.Contains(t.agent.Delegates[:i], id) {
			m.addDelegate(i, id)
		}
	}
	if t.env != nil {
		for _, p := range t.env.Tools() {
			path := t.path("plugin_ids")
			if i := slices.Index(t.agent.PluginIDs, p.Owner); i >= 0 {
				path = t.path(diag.Index("plugin_ids", i))
			}
			m.add(p.ID, p.Tool, tools.Source{Kind: tools.SourcePlugin, Name: p.Owner}, path)
		}
	}
	return m.all
}

// merger collects the tools of one agent.
type merger struct {
	*template
	seen map[string]*tools.Entry
	all  []*tools.Entry
}

func (m *merger) add(id string, tool tools.Tool, source tools.Source, path string) {
	if first, taken := m.seen[id]; taken {
		m.fail(&ToolIDConflictError{Agent: m.agent.ID, ToolID: id, First: first.Source, Second: source, Path: path})
		return
	}
	entry, list := tools.Compile(id, tool, source)
	for _, d := range list {
		d.Path = path
		m.fail(d.ForAgent(m.agent.ID))
	}
	if entry == nil {
		return
	}
	m.seen[id] = entry
	m.all = append(m.all, entry)
	m.trace.add("merged", fmt.Sprintf("tool %q", id), source.String())
}

// addDelegate adds the tool that calls another agent.
func (m *merger) addDelegate(i int, id string) {
	path := m.path(diag.Index("delegates", i))
	tool := &tools.Delegate{AgentID: id}
	agent, ok := m.index.set.Agent(id)
	switch {
	case ok:
		tool.Description = m.index.described(agent)
		if !agent.Local() {
			if _, errs := m.index.checkEndpoint(agent, m.agent.ID, agentPath(m.index.set, agent)+".endpoint"); errs != nil {
				m.errs = append(m.errs, errs...)
				return
			}
		}
	case m.index.set.Undiscovered(id):
		tool.Description = "Agent " + id
	default:
		m.fail(m.index.agentNotFound(id, m.agent.ID, path))
		return
	}
	m.add(tools.DelegateID(id), tool, tools.Source{Kind: tools.SourceDelegate, Name: id}, path)
}

// described returns how an agent is presented to those that may call it.
func (x *index) described(agent *spec.Agent) string {
	effective, _ := x.set.Defaults.Apply(agent)
	return effective.DisplayDescription()
}

// filter applies the catalog, and finds what the gates say of each tool.
func (t *template) filter(merged []*tools.Entry, catalog *tools.Catalog) {
	t.choices = make([]ToolChoice, len(merged))
	visible := make([]*tools.Entry, 0, len(merged))
	for i, entry := range merged {
		choice := ToolChoice{ID: entry.ID, Source: entry.Source, Rule: catalog.Decide(entry.ID)}
		if t.env != nil {
			choice.Verdict = t.env.ToolVerdict(entry.ID)
		}
		t.choices[i] = choice
		if choice.Rule.Visible {
			visible = append(visible, entry)
		}
		if t.trace.on() {
			t.traceTool(&choice)
		}
	}
	t.tools = tools.NewSet(visible)
	t.offered = t.offer()
}

// offer returns the declarations of the visible tools, without those that a
// gate denies whatever their arguments.
func (t *template) offer() []model.Tool {
	all := t.tools.Declarations()
	denied := make(map[string]bool)
	for i := range t.choices {
		if c := &t.choices[i]; c.Rule.Visible && !c.Offered() {
			denied[c.ID] = true
		}
	}
	if len(denied) == 0 {
		return all
	}
	offered := make([]model.Tool, 0, len(all))
	for _, d := range all {
		if !denied[d.Name] {
			offered = append(offered, d)
		}
	}
	return offered
}

func (t *template) traceTool(c *ToolChoice) {
	subject := fmt.Sprintf("tool %q", c.ID)
	switch {
	case !c.Rule.Visible:
		t.trace.add("dropped", subject, c.Rule.Rule())
	case !c.Offered():
		t.trace.add("hidden", subject, fmt.Sprintf("plugin %s: %s", c.Verdict.Plugin, c.Verdict.Rule))
	default:
		t.trace.add("kept", subject, c.Rule.Rule())
	}
}
