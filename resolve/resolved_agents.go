package resolve

import (
	"cmp"
	"slices"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/persist"
	"github.com/agentruntime/agentruntime/registry"
)

// resolvedAgents holds all resolved agents of a revision and their totals. The next revision
// starts with a copy, which shares the unchanged parts.
type resolvedAgents struct {
	templates *templates
	// warning are the agents with something to report, callers the agents that call others, naming
	// the agents that name others, and costly the agents whose cost limit depends on other agents.
	warning, callers, naming, costly *templates
	// models, plugins, tools and claimed count the uses of each id.
	models, plugins, tools, claimed *counts
	// anyModel and anyTool count the agents that may use any.
	anyModel, anyTool int
	// boxes are the toolboxes in use, by hash.
	boxes *persist.Map[uint64, []boxUse]
	// cycles are the warnings about circles of agents.
	cycles diag.List
}

type (
	templates = persist.Map[string, *template]
	counts    = persist.Map[string, int]
)

// boxUse counts the agents with a toolbox.
type boxUse struct {
	*toolbox
	n int
}

func newResolvedAgents() *resolvedAgents {
	return &resolvedAgents{
		templates: new(templates), warning: new(templates), callers: new(templates), naming: new(templates), costly: new(templates),
		models: new(counts), plugins: new(counts), tools: new(counts), claimed: new(counts),
		boxes: new(persist.Map[uint64, []boxUse]),
	}
}

func (r *resolvedAgents) clone() *resolvedAgents {
	own := *r
	for _, m := range []**templates{&own.templates, &own.warning, &own.callers, &own.naming, &own.costly} {
		*m = (*m).Clone()
	}
	for _, m := range []**counts{&own.models, &own.plugins, &own.tools, &own.claimed} {
		*m = (*m).Clone()
	}
	own.boxes = own.boxes.Clone()
	return &own
}

// put adds or replaces the template of an agent.
func (r *resolvedAgents) put(id string, t *template) {
	before, _ := r.templates.Get(id)
	if before != nil {
		r.countUses(before, -1)
	}
	r.countUses(t, 1)
	r.templates.Set(id, t)
	list := func(m *templates, listed func(*template) bool) {
		switch {
		case listed(t):
			m.Set(id, t)
		case before != nil && listed(before):
			m.Delete(id)
		}
	}
	list(r.warning, func(t *template) bool { return len(t.warnings)+len(t.unclaimed)+len(t.adapted) > 0 })
	list(r.callers, func(t *template) bool { return len(t.calls) > 0 })
	list(r.naming, func(t *template) bool { return t.dependsOnA(onAgent) })
	list(r.costly, func(t *template) bool { return t.dependsOnA(onRecord) })
}

// remove removes an agent, if present.
func (r *resolvedAgents) remove(id string) {
	t, ok := r.templates.Get(id)
	if !ok {
		return
	}
	r.countUses(t, -1)
	for _, m := range []*templates{r.templates, r.warning, r.callers, r.naming, r.costly} {
		m.Delete(id)
	}
}

// countUses adds n to the use count of everything that an agent uses.
func (r *resolvedAgents) countUses(t *template, n int) {
	addTo(r.models, t.agent.ModelID, n)
	if p := t.agent.ContextPolicy; p != nil {
		addTo(r.models, p.SummaryModelID, n)
	}
	for _, id := range t.agent.PluginIDs {
		addTo(r.plugins, id, n)
	}
	for _, id := range t.agent.ActiveHookFilter {
		addTo(r.plugins, id, n) // others are reported by the filter's check
	}
	for _, id := range t.wanted {
		addTo(r.tools, id, n)
	}
	for _, key := range t.claimed {
		if !isPipelineKey(key) { // every local agent claims them
			addTo(r.claimed, key, n)
		}
	}
	if t.unreadable || t.toolless {
		r.anyTool += n
	}
	if t.agent.Local() && t.agent.ModelID == "" {
		r.anyModel += n
	}
	if t.counted != nil {
		r.countBox(t.counted, n)
	}
}

// countBox adds n to the agents with a toolbox. Its tools are counted once, for the first agent
// that uses it.
func (r *resolvedAgents) countBox(box *toolbox, n int) {
	uses, _ := r.boxes.Get(box.sum)
	uses = slices.Clone(uses) // another revision may share it
	i := slices.IndexFunc(uses, func(u boxUse) bool { return u.toolbox == box })
	if i < 0 {
		uses = append(uses, boxUse{toolbox: box})
		i = len(uses) - 1
		r.countTools(box, 1)
	}
	if uses[i].n += n; uses[i].n == 0 {
		uses = slices.Delete(uses, i, i+1)
		r.countTools(box, -1)
	}
	if len(uses) == 0 {
		r.boxes.Delete(box.sum)
	} else {
		r.boxes.Set(box.sum, uses)
	}
}

func (r *resolvedAgents) countTools(box *toolbox, n int) {
	for _, entry := range box.entries {
		addTo(r.tools, entry.ID, n)
	}
}

// addTo adds n to a count, and removes a count that reaches zero.
func addTo(m *counts, id string, n int) {
	known, _ := m.Get(id)
	if known += n; known == 0 {
		m.Delete(id)
	} else {
		m.Set(id, known)
	}
}

// inOrder returns the agents of a map in the order of the revision: declared agents first, then
// the agents of each source.
func inOrder(set *registry.Set, m *templates) []*template {
	type placed struct {
		at uint64
		*template
	}
	list := make([]placed, 0, m.Len())
	var remote int
	for id, t := range m.All() {
		if t.agent.Registry != "" {
			remote++
			continue
		}
		list = append(list, placed{set.Agents.Position(id), t})
	}
	slices.SortFunc(list, func(a, b placed) int { return cmp.Compare(a.at, b.at) })
	out := make([]*template, 0, m.Len())
	for i := range list {
		out = append(out, list[i].template)
	}
	if remote == 0 {
		return out
	}
	for _, src := range set.Sources.All() {
		for _, agent := range src.Agents {
			if t, ok := m.Get(agent.ID); ok && t.agent.Registry != "" {
				out = append(out, t)
			}
		}
	}
	return out
}
