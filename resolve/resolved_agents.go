package resolve

import (
	"cmp"
	"slices"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/persist"
	"github.com/agentruntime/agentruntime/registry"
)

// tally is all agents of a revision that resolve, and what they add up to. That of
// the next revision begins as a copy, which shares with it what stays the same.
type tally struct {
	templates *templates
	// warning are the agents with something to report, callers those that call
	// others, naming those that name others, and costly those whose limit of cost
	// looks at other agents.
	warning, callers, naming, costly *templates
	// models, plugins, tools and claimed count the uses of each id.
	models, plugins, tools, claimed *counts
	// anyModel and anyTool count the agents that may mean any.
	anyModel, anyTool int
	// boxes are the toolboxes in use, by their hashes.
	boxes *persist.Map[uint64, []boxUse]
	// cycles are the warnings of circles of agents.
	cycles diag.List
}

type (
	templates = persist.Map[string, *template]
	counts    = persist.Map[string, int]
)

// boxUse counts the agents that have a toolbox.
type boxUse struct {
	*toolbox
	n int
}

func newTally() *tally {
	return &tally{
		templates: new(templates), warning: new(templates), callers: new(templates), naming: new(templates), costly: new(templates),
		models: new(counts), plugins: new(counts), tools: new(counts), claimed: new(counts),
		boxes: new(persist.Map[uint64, []boxUse]),
	}
}

func (y *tally) clone() *tally {
	own := *y
	for _, m := range []**templates{&own.templates, &own.warning, &own.callers, &own.naming, &own.costly} {
		*m = (*m).Clone()
	}
	for _, m := range []**counts{&own.models, &own.plugins, &own.tools, &own.claimed} {
		*m = (*m).Clone()
	}
	own.boxes = own.boxes.Clone()
	return &own
}

// put adds what an agent resolves to, in place of what it did before.
func (y *tally) put(id string, t *template) {
	before, _ := y.templates.Get(id)
	if before != nil {
		y.countUses(before, -1)
	}
	y.countUses(t, 1)
	y.templates.Set(id, t)
	list := func(m *templates, listed func(*template) bool) {
		switch {
		case listed(t):
			m.Set(id, t)
		case before != nil && listed(before):
			m.Delete(id)
		}
	}
	list(y.warning, func(t *template) bool { return len(t.warnings)+len(t.unclaimed)+len(t.adapted) > 0 })
	list(y.callers, func(t *template) bool { return len(t.calls) > 0 })
	list(y.naming, func(t *template) bool { return t.dependsOnA(onAgent) })
	list(y.costly, func(t *template) bool { return t.dependsOnA(onRecord) })
}

// remove removes an agent, if it is there.
func (y *tally) remove(id string) {
	t, ok := y.templates.Get(id)
	if !ok {
		return
	}
	y.countUses(t, -1)
	for _, m := range []*templates{y.templates, y.warning, y.callers, y.naming, y.costly} {
		m.Delete(id)
	}
}

// countUses adds n to the uses of what an agent uses.
func (y *tally) countUses(t *template, n int) {
	addTo(y.models, t.agent.ModelID, n)
	if p := t.agent.ContextPolicy; p != nil {
		addTo(y.models, p.SummaryModelID, n)
	}
	for _, id := range t.agent.PluginIDs {
		addTo(y.plugins, id, n)
	}
	for _, id := range t.agent.ActiveHookFilter {
		addTo(y.plugins, id, n) // what the filter alone names is warned of there
	}
	for _, id := range t.wanted {
		addTo(y.tools, id, n)
	}
	for _, key := range t.claimed {
		if !isPipelineKey(key) { // every local agent claims those
			addTo(y.claimed, key, n)
		}
	}
	if t.unreadable || t.toolless {
		y.anyTool += n
	}
	if t.agent.Local() && t.agent.ModelID == "" {
		y.anyModel += n
	}
	if t.counted != nil {
		y.countBox(t.counted, n)
	}
}

// countBox adds n to the agents that have a toolbox. The first one uses all of its
// tools, and so they are counted once for all.
func (y *tally) countBox(box *toolbox, n int) {
	uses, _ := y.boxes.Get(box.sum)
	uses = slices.Clone(uses) // another revision may have the list, too
	i := slices.IndexFunc(uses, func(u boxUse) bool { return u.toolbox == box })
	if i < 0 {
		uses = append(uses, boxUse{toolbox: box})
		i = len(uses) - 1
		y.countTools(box, 1)
	}
	if uses[i].n += n; uses[i].n == 0 {
		uses = slices.Delete(uses, i, i+1)
		y.countTools(box, -1)
	}
	if len(uses) == 0 {
		y.boxes.Delete(box.sum)
	} else {
		y.boxes.Set(box.sum, uses)
	}
}

func (y *tally) countTools(box *toolbox, n int) {
	for _, entry := range box.entries {
		addTo(y.tools, entry.ID, n)
	}
}

// addTo adds n to a count, and removes one that has come to nothing.
func addTo(m *counts, id string, n int) {
	known, _ := m.Get(id)
	if known += n; known == 0 {
		m.Delete(id)
	} else {
		m.Set(id, known)
	}
}

// inOrder returns the agents of a map in the order of the revision: the declared
// ones, then those of each source.
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
