package resolve

import (
	"slices"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/tools/toolset"
)

// merger collects the tools of one agent.
type merger struct {
	*resolver
	// all are the tools of all sources, by id: the global tools, then the agent's own.
	all []*toolset.Entry
	own map[string]*toolset.Entry
	// lost are the ids of tools omitted because of a reported error, so that references to them are
	// not reported again.
	lost []string
}

// claimID reports whether an id is free; if it is taken, that is an error.
func (m *merger) claimID(id string, source toolset.Source, path string) bool {
	first, taken := m.own[id]
	m.dependOn(onTool, id)
	if !taken {
		first, taken = m.index.global[id]
	}
	if taken {
		m.addError(&ToolIDConflictError{Agent: m.agent.ID, ToolID: id, First: first.Source, Second: source, Path: path})
	}
	return !taken
}

// addTool adds a compiled tool, or reports why it could not be compiled.
func (m *merger) addTool(id string, entry *toolset.Entry, found diag.List, path string) {
	for _, d := range found {
		d.Path = path
		m.addError(d.ForAgent(m.agent.ID))
	}
	if entry == nil {
		m.lost = append(m.lost, id)
		return
	}
	if m.own == nil {
		m.own = make(map[string]*toolset.Entry)
	}
	m.own[id] = entry
	m.all = append(m.all, entry)
	if m.trace.isOn() {
		m.trace.addChoice("merged", "tool", id, entry.Source.String())
	}
}

// toolIDs returns the ids of all tools, including those with errors, sorted.
func (m *merger) toolIDs() []string {
	own := m.all[len(m.index.tools):]
	if len(own)+len(m.lost) == 0 {
		return m.index.toolIDs
	}
	ids := slices.Concat(m.index.toolIDs, m.lost)
	for _, entry := range own {
		ids = append(ids, entry.ID)
	}
	slices.Sort(ids)
	return ids
}

// isHidden reports whether the catalog filters a tool out, unless that follows from a reported
// mistake in the catalog itself.
func (m *merger) isHidden(catalog *toolset.Filter, id string) bool {
	return !catalog.Decide(id).Visible && !m.unreadable && !slices.Contains(m.wanted, id)
}
