package resolve

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/plugins/core"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools/toolset"
)

// toolForm identifies a tool in one dialect's encoding.
type toolForm struct {
	entry   *toolset.Entry
	dialect model.ToolDialect
}

// noteDialect records the tool dialect of a model that the agent uses.
func (r *resolver) noteDialect(m *spec.Model, exec model.Executor) {
	adapter, ok := exec.(model.ToolAdapter)
	if !ok || r.passing {
		return
	}
	if d := adapter.ToolDialect(m.UpstreamModel); !slices.Contains(r.dialects, d) {
		r.dialects = append(r.dialects, d)
	}
}

// checkDialects finds the offered tools that the models' vendors receive in another form, and
// vendors that accept fewer tools.
func (m *merger) checkDialects() {
	for _, d := range m.dialects {
		if n := len(m.offered.entries); d.MaxTools() > 0 && n > d.MaxTools() && !m.narrowsRequests() {
			m.addError(diag.New(diag.InvalidValue, m.pathOf(""), "agent %q offers %d tools, but %s takes at most %d", m.agent.ID, n, d.Vendor(), d.MaxTools()).
				WithHint("narrow allowed_tools, or add the plugin tool_search").ForAgent(m.agent.ID))
		}
		for _, entry := range m.offered.entries {
			if change := m.index.changeOf(entry, d); !change.IsZero() {
				m.adapted = append(m.adapted, adaptedTool{m.toolPath(entry), entry.ID, d.Vendor(), change})
			}
		}
	}
}

// narrowsRequests reports whether a plugin may exclude tools from requests.
func (m *merger) narrowsRequests() bool {
	return m.env != nil && slices.ContainsFunc(m.env.Hooks(plugins.BeforeInference), func(id string) bool { return !strings.HasPrefix(id, core.Prefix) })
}

// toolPath returns the path where a tool is defined, or named.
func (m *merger) toolPath(entry *toolset.Entry) string {
	switch entry.Source.Kind {
	case toolset.SourceGlobal:
		return m.index.set.Tools.Path(entry.ID)
	case toolset.SourcePlugin:
		return m.pluginPath(entry.Source.Name)
	default:
		return m.pathOf("")
	}
}

// changeOf returns a dialect's change to a tool, computed once.
func (x *index) changeOf(entry *toolset.Entry, d model.ToolDialect) model.ToolChange {
	key := toolForm{entry, d}
	if known, ok := x.changes.Load(key); ok {
		return known.(model.ToolChange) //nolint:forcetypeassert // only these are stored
	}
	var change model.ToolChange
	if callGuarded("Adapt", func() {
		change = d.Adapt(&model.Tool{Name: entry.ID, Parameters: entry.Descriptor.Parameters})
	}) != nil {
		return model.ToolChange{}
	}
	x.changes.Store(key, change)
	return change
}

// maxNamed limits the tools named per location.
const maxNamed = 5

// adaptationNotes reports adapted tools, once for each place that defines some.
func adaptationNotes(list []adaptedTool) (notes diag.List) {
	byPath := map[string]map[string][]string{}
	var paths []string
	for i := range list {
		a := &list[i]
		if byPath[a.path] == nil {
			byPath[a.path] = map[string][]string{}
			paths = append(paths, a.path)
		}
		text := a.text()
		if !slices.Contains(byPath[a.path][a.id], text) {
			byPath[a.path][a.id] = append(byPath[a.path][a.id], text)
		}
	}
	for _, path := range paths {
		ids := slices.Sorted(maps.Keys(byPath[path]))
		message := fmt.Sprintf("tool %q is sent in another form: %s", ids[0], strings.Join(byPath[path][ids[0]], "; "))
		if len(ids) > 1 {
			message = fmt.Sprintf("%d tools are sent in another form", len(ids))
			separator := ": "
			for _, id := range ids[:min(len(ids), maxNamed)] {
				message += fmt.Sprintf("%s%s (%s)", separator, id, strings.Join(byPath[path][id], "; "))
				separator = ", "
			}
			if more := len(ids) - maxNamed; more > 0 {
				message += fmt.Sprintf(", and %d more", more)
			}
		}
		notes = append(notes, diag.New(diag.AdaptedTool, path, "%s", message).
			WithHint("descriptions tell models the rest, and arguments are checked against the whole schema"))
	}
	return notes.LimitAlike(diag.AdaptedTool)
}

// text describes the form of the tool.
func (a *adaptedTool) text() string {
	var parts []string
	if a.change.Name != "" {
		parts = append(parts, "as "+a.change.Name)
	}
	if len(a.change.Dropped) > 0 {
		parts = append(parts, "without "+strings.Join(a.change.Dropped, ", "))
	}
	return a.vendor + " " + strings.Join(parts, " and ")
}

// noteAdapted reports the adapted tools of all agents.
func (c *check) noteAdapted(agents []*template) {
	var all []adaptedTool
	for _, t := range agents {
		all = append(all, t.adapted...)
	}
	slices.SortStableFunc(all, func(a, b adaptedTool) int { return cmp.Compare(a.vendor, b.vendor) })
	c.rest = append(c.rest, adaptationNotes(all)...)
}
