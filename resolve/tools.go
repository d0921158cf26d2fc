package resolve

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/agenttool"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/plugins/execution"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/agentruntime/agentruntime/tools/toolset"
)

// collectTools is the third stage. It merges the global tools, the delegates and the tools of
// plugins, finds conflicts, and filters the result by the agent's catalog.
func (r *resolver) collectTools() {
	r.trace.beginStage(StageTools)
	defer r.trace.endStage()
	m := r.mergeTools()
	catalog, list := toolset.CompileFilter(r.agent)
	r.failAll(list)
	r.catalog, r.unreadable = catalog, len(list) > 0
	m.filterTools(catalog)
	m.checkGates()
	m.checkDialects()
	m.warnAll(catalog)
}

// mergeTools merges the tools of all sources. Of two tools with one id the first stays, and the
// conflict is an error.
func (r *resolver) mergeTools() *merger {
	m := &merger{resolver: r, all: slices.Clip(r.index.tools)}
	if r.trace.isOn() {
		r.trace.addNote("merged", "the global tools", strconv.Itoa(len(m.all))+" in all")
	}
	m.addBrought()
	for i, id := range r.agent.Delegates {
		if !slices.Contains(r.agent.Delegates[:i], id) {
			m.addDelegate(i, id)
		}
	}
	for i, id := range r.agent.Handoffs {
		if !slices.Contains(r.agent.Handoffs[:i], id) {
			m.addHandoff(i, id)
		}
	}
	if r.env != nil {
		for _, p := range r.env.Tools() {
			m.addPluginTool(p)
		}
	}
	return m
}

// addBrought adds the turn's own tools. They hide global tools with the same id; two of them with
// one id are an error.
func (m *merger) addBrought() {
	source := toolset.Source{Kind: toolset.SourceTurn}
	for i, b := range m.brought {
		path := diag.Index("tools", i)
		if first, taken := m.own[b.ID]; taken {
			m.addError(&ToolIDConflictError{Agent: m.agent.ID, ToolID: b.ID, First: first.Source, Second: source, Path: path})
			continue
		}
		if hidden, ok := m.index.global[b.ID]; ok {
			m.all = slices.DeleteFunc(slices.Clone(m.all), func(e *toolset.Entry) bool { return e == hidden })
		}
		entry, found := toolset.Compile(b.ID, b.Tool, source)
		m.addTool(b.ID, entry, found, path)
	}
}

// addDelegate adds the tool that calls another agent.
func (m *merger) addDelegate(i int, id string) {
	path := m.pathOf(diag.Index("delegates", i))
	source := toolset.Source{Kind: toolset.SourceDelegate, Name: id}
	agent, ok := m.index.set.Agent(id)
	m.dependOnAgent(onAgent, id, agent)
	if !ok && !m.index.set.Undiscovered(id) {
		m.lost = append(m.lost, agenttool.DelegateID(id))
		m.addError(m.index.agentNotFound(id, m.agent.ID, path))
		return
	}
	if ok && !agent.Local() {
		if _, errs := m.index.checkEndpoint(agent, m.agent.ID, diag.Join(agentPath(m.index.set, agent), "endpoint")); errs != nil {
			m.lost = append(m.lost, agenttool.DelegateID(id))
			m.errs = append(m.errs, errs...)
			return
		}
	}
	if m.claimID(agenttool.DelegateID(id), source, path) {
		tool := m.index.delegateTool(id, agent)
		m.addTool(agenttool.DelegateID(id), tool.entry, tool.found, path)
	}
}

// addHandoff adds the tool that hands the conversation to another agent, which must also run on the
// local loop.
func (m *merger) addHandoff(i int, id string) {
	path := m.pathOf(diag.Index("handoffs", i))
	agent, ok := m.index.set.Agent(id)
	m.dependOnAgent(onAgent, id, agent)
	switch {
	case !ok:
		m.lost = append(m.lost, agenttool.HandoffID(id))
		m.addError(m.index.agentNotFound(id, m.agent.ID, path))
	case !agent.Local():
		m.lost = append(m.lost, agenttool.HandoffID(id))
		m.addError(diag.New(diag.RemoteNotLocal, path, "agent %q runs at an endpoint, so the conversation cannot be handed to it", id).
			WithHint("make it a delegate").ForAgent(m.agent.ID))
	case agent.ID == m.agent.ID:
		m.lost = append(m.lost, agenttool.HandoffID(id))
		m.addError(diag.New(diag.InvalidValue, path, "agent %q cannot hand the conversation to itself", id).ForAgent(m.agent.ID))
	case m.claimID(agenttool.HandoffID(id), toolset.Source{Kind: toolset.SourceHandoff, Name: id}, path):
		tool := m.index.handOff(id, agent)
		m.addTool(agenttool.HandoffID(id), tool.entry, tool.found, path)
	}
}

// addPluginTool adds a tool that a plugin registered for this agent.
func (m *merger) addPluginTool(p execution.PluginTool) {
	path := m.pluginPath(p.Owner)
	source := toolset.Source{Kind: toolset.SourcePlugin, Name: p.Owner}
	if m.claimID(p.ID, source, path) {
		entry, found := toolset.Compile(p.ID, p.Tool, source)
		m.addTool(p.ID, entry, found, path)
	}
}

// agentTool is a tool that calls an agent, with its problems.
type agentTool struct {
	entry *toolset.Entry
	found diag.List
}

// delegateTool returns the tool that calls an agent, shared by all agents that may call it. agent
// is nil if its source was not queried yet.
func (x *index) delegateTool(id string, agent *spec.Agent) *agentTool {
	source := toolset.Source{Kind: toolset.SourceDelegate, Name: id}
	tool := func() tools.Tool { return &agenttool.Delegate{AgentID: id, Description: x.describeAgent(id, agent)} }
	if agent == nil { // unknown ids are unlimited, so they are not cached
		made := new(agentTool)
		made.entry, made.found = toolset.Compile(agenttool.DelegateID(id), tool(), source)
		return made
	}
	return x.agentTool(source, agenttool.DelegateID(id), tool)
}

// handOff returns the tool that hands the conversation to an agent, shared by all agents that may
// do so.
func (x *index) handOff(id string, agent *spec.Agent) *agentTool {
	source := toolset.Source{Kind: toolset.SourceHandoff, Name: id}
	return x.agentTool(source, agenttool.HandoffID(id), func() tools.Tool {
		return &agenttool.Handoff{AgentID: id, Description: x.describeAgent(id, agent)}
	})
}

// describeAgent returns an agent's description for other agents.
func (x *index) describeAgent(id string, agent *spec.Agent) string {
	if agent == nil {
		return "Agent " + id
	}
	effective, _ := x.set.Defaults.Apply(agent)
	return effective.DisplayDescription()
}

func (x *index) agentTool(source toolset.Source, id string, tool func() tools.Tool) *agentTool {
	if known, ok := x.kept.agentTools.Load(source); ok {
		return known.(*agentTool) //nolint:forcetypeassert // only these are stored
	}
	made := new(agentTool)
	made.entry, made.found = toolset.Compile(id, tool(), source)
	known, _ := x.kept.agentTools.LoadOrStore(source, made)
	return known.(*agentTool) //nolint:forcetypeassert // as above
}

// filterTools applies the catalog, and records the gates' verdict on each tool.
func (m *merger) filterTools(catalog *toolset.Filter) {
	seen := make([]*toolset.Entry, 0, len(m.all))
	var denied []*toolset.Entry
	for _, entry := range m.all {
		choice := ToolChoice{ID: entry.ID, Source: entry.Source, Rule: catalog.Decide(entry.ID), Verdict: m.verdictOn(entry.ID)}
		if choice.Rule.Visible {
			seen = append(seen, entry)
			if !choice.Offered() {
				denied = append(denied, entry)
			} else if entry.Source.Kind == toolset.SourceDelegate {
				m.calls = append(m.calls, entry.Source.Name)
			}
		}
		if m.trace.isOn() {
			m.choices = append(m.choices, choice)
			m.traceTool(&choice)
		}
	}
	m.seen = m.toolboxOf(seen)
	m.counted = m.countedToolbox(seen)
	m.offered = m.seen
	if denied != nil {
		offered := slices.DeleteFunc(slices.Clone(seen), func(e *toolset.Entry) bool { return slices.Contains(denied, e) })
		m.offered = m.toolboxOf(offered)
	}
}

// checkGates checks the gates' settings against the arguments of the tools that the agent sees. It
// ignores an ephemeral agent's tools: the settings were not written for them.
func (m *merger) checkGates() {
	if m.env == nil || !m.env.SchemaGates() {
		return
	}
	var list []plugins.ToolSchema
	for _, entry := range m.seen.entries {
		if entry.Source.Kind != toolset.SourceTurn {
			list = append(list, plugins.ToolSchema{ID: entry.ID, Parameters: entry.Descriptor.Parameters})
		}
	}
	var found diag.List
	if err := callGuarded("the check of the gates", func() { found = m.env.CheckSchemas(list) }); err != nil {
		m.addError(&EnvBuildError{Agent: m.agent.ID, Path: m.pathOf("plugin_ids"), Err: err})
		return
	}
	for _, d := range found {
		d.Path = m.pathOf(d.Path)
		if d.Severity == diag.Error {
			m.addError(d.ForAgent(m.agent.ID))
		} else {
			m.addWarning(d)
		}
	}
}

// toolboxOf returns the toolbox for some tools. Plugin tools belong to the agent and turn tools to
// the turn, so such toolboxes are not shared.
func (m *merger) toolboxOf(entries []*toolset.Entry) *toolbox {
	if m.passing || m.hasPluginTools() {
		return newToolbox(entries)
	}
	return m.index.toolboxes.shareToolbox(entries)
}

func (m *merger) hasPluginTools() bool { return m.env != nil && len(m.env.Tools()) > 0 }

// countedToolbox returns the toolbox that counts the agent's use of global tools.
func (m *merger) countedToolbox(seen []*toolset.Entry) *toolbox {
	switch {
	case m.passing:
		return nil
	case m.hasPluginTools():
		return m.index.toolboxes.shareToolbox(slices.DeleteFunc(slices.Clone(seen), func(e *toolset.Entry) bool {
			return e.Source.Kind == toolset.SourcePlugin
		}))
	}
	return m.seen
}

// verdictOn returns the gates' verdict on a tool.
func (t *template) verdictOn(id string) plugins.Verdict {
	if t.env == nil {
		return plugins.Verdict{}
	}
	return t.env.ToolVerdict(id)
}

func (m *merger) traceTool(c *ToolChoice) {
	switch {
	case !c.Rule.Visible:
		m.trace.addChoice("dropped", "tool", c.ID, c.Rule.Rule())
	case !c.Offered():
		m.trace.addChoice("hidden", "tool", c.ID, fmt.Sprintf("plugin %s: %s", c.Verdict.Plugin, c.Verdict.Rule))
	default:
		m.trace.addChoice("kept", "tool", c.ID, c.Rule.Rule())
	}
}
