package config

import (
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/config/internal/keys"
	"github.com/agentruntime/agentruntime/config/internal/overlay"
	"github.com/agentruntime/agentruntime/config/internal/tree"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/yamltree"
	"github.com/agentruntime/agentruntime/spec"
)

// maxExtends limits the length of a chain of extending agents.
const maxExtends = 8

// An extension is an agent that extends another.
type extension struct {
	id, base   string
	key, value *yamltree.Node // of extends
	// chain is the number of agents it builds on; broken is set if one is missing or it builds on
	// itself.
	chain  int
	broken bool
	known  bool
}

// extendAgents adds the fields of extended agents. It runs after the patches, so agents also
// inherit patched values.
func (l *loader) extendAgents(m *overlay.Tree) {
	_, agents := m.Root.FindField("agents")
	extensions := findExtensions(agents)
	if len(extensions) == 0 {
		return
	}
	agents = m.OwnCollection(m.Root, "agents")
	entries := make(map[string]*yamltree.Node, len(agents.Children)/2)
	for key, value := range agents.Pairs {
		entries[key.Text] = value
	}
	e := &extender{loader: l, extensions: extensions, entries: entries, done: map[string]bool{}}
	for key := range agents.Pairs {
		if x := extensions[key.Text]; x != nil {
			e.measureChain(x)
		}
	}
	for key := range agents.Pairs {
		x := extensions[key.Text]
		if x == nil {
			continue
		}
		if x.broken {
			if l.file.unextended == nil {
				l.file.unextended = map[string]bool{}
			}
			l.file.unextended[x.id] = true
			continue
		}
		e.extendAgent(x)
		if l.overlaid < 0 {
			l.reportOverlaid(tree.TopField("agents", nil).Field(x.id, nil).Field(keys.Extends, x.key), x.value)
			return
		}
		m.ReplaceValue(agents, x.id, e.entries[x.id])
	}
}

// findExtensions returns the agents that extend others, by id.
func findExtensions(agents *yamltree.Node) map[string]*extension {
	var found map[string]*extension
	for id, agent := range agents.Pairs {
		key, value := agent.FindField(keys.Extends)
		if value == nil || value.Kind == yamltree.Null {
			continue
		}
		if found == nil {
			found = map[string]*extension{}
		}
		x := &extension{id: id.Text, base: value.Text, key: key, value: value}
		x.broken = value.Kind != yamltree.String // reported where the field is decoded
		x.known = x.broken
		found[id.Text] = x
	}
	return found
}

// extender extends the agents of a configuration.
type extender struct {
	*loader
	extensions map[string]*extension
	entries    map[string]*yamltree.Node
	done       map[string]bool
}

// measureChain computes the length of a chain of extended agents, and reports the first broken
// one.
func (e *extender) measureChain(x *extension) {
	var open []*extension
	for ; x != nil && !x.known; x = e.extensions[x.base] {
		if at := slices.Index(open, x); at >= 0 {
			e.reportCircle(open[at:])
			break
		}
		open = append(open, x)
	}
	for _, x := range slices.Backward(open) {
		if x.known {
			continue
		}
		x.known = true
		below := e.extensions[x.base]
		entry, exists := e.entries[x.base]
		switch {
		case !exists:
			x.broken = true
			e.reportUnknownBase(x)
		case below != nil:
			x.chain, x.broken = below.chain+1, below.broken
			if x.chain > maxExtends && !x.broken {
				x.broken = true
				e.reportExtends(x, diag.New(diag.InvalidValue, "", "%s builds on more than %d agents, one extending the other", clip.Text(x.id), maxExtends).
					WithHint("extend an agent closer to the base"))
			}
		case entry.Kind != yamltree.Mapping:
			x.broken = true // reported where the agent is decoded
		default:
			x.chain = 1
		}
	}
}

// reportCircle reports agents that extend each other, at the first of them.
func (e *extender) reportCircle(circle []*extension) {
	names := make([]string, len(circle)+1)
	for i, x := range circle {
		x.known, x.broken = true, true
		names[i] = clip.Text(x.id)
	}
	names[len(circle)] = names[0]
	found := diag.New(diag.InvalidValue, "", "agents extend each other in a circle: %s", strings.Join(names, " → "))
	if len(circle) == 1 {
		found = diag.New(diag.InvalidValue, "", "the agent extends itself")
	}
	const shown = 8
	for _, x := range circle[1:min(len(circle), shown)] {
		found.Related = append(found.Related, diag.Related{
			Message: "and " + clip.Text(x.id) + " extends " + clip.Text(x.base) + " here", Path: tree.ExtendsPath(x.id),
			Span: e.Tree.Documents[x.value.Document].SpanOfNode(x.value),
		})
	}
	e.reportExtends(circle[0], found)
}

// reportUnknownBase reports an agent that extends an unknown agent.
func (e *extender) reportUnknownBase(x *extension) {
	if e.file.Partial {
		return
	}
	var ids []string
	for id := range e.entries {
		if id != x.id {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	e.reportExtends(x, diag.New(diag.AgentNotFound, "", "agent %q is not defined", clip.Text(x.base)).WithNearest(x.base, ids))
}

func (e *extender) reportExtends(x *extension, found diag.Diagnostic) {
	found.Path, found.Agent = tree.ExtendsPath(x.id), x.id
	e.AddFinding(found, x.value)
}

// extendAgent merges an agent over its base, after extending the base.
func (e *extender) extendAgent(x *extension) {
	if e.done[x.id] {
		return
	}
	e.done[x.id] = true
	if below := e.extensions[x.base]; below != nil {
		e.extendAgent(below)
	}
	m := e.newOverlayMerger(overlay.Origin{})
	m.Base = x.base
	own := e.entries[x.id]
	e.entries[x.id] = m.MergeInto(e.inherited(e.entries[x.base], own), own, keys.IsNamesField)
}

// inherited returns the base's fields that an agent inherits: all except those equivalent to one of
// its own. The allow fields count as one, as do the two ways to configure compaction; see
// spec.Defaults.
func (e *extender) inherited(base, own *yamltree.Node) *yamltree.Node {
	left := []string{keys.Extends}
	if hasValue(own, "allowed_tools") || hasValue(own, "allowed_tool_patterns") {
		left = append(left, "allowed_tools", "allowed_tool_patterns")
	}
	_, sections := own.FindField("sections")
	if hasValue(sections, spec.CompactionSection) {
		left = append(left, "context_policy")
	}
	below := base
	for _, name := range left {
		below = overlay.WithoutField(below, name)
	}
	if key, sections := below.FindField("sections"); key != nil && hasValue(own, "context_policy") {
		without := overlay.WithoutField(sections, spec.CompactionSection)
		e.file.tree.Origins.Share(without, sections)
		below = overlay.WithoutField(below, "sections")
		below = &yamltree.Node{Kind: below.Kind, Style: below.Style, Document: below.Document, Line: below.Line, Column: below.Column,
			Children: append(slices.Clone(below.Children), key, without)}
	}
	e.file.tree.Origins.Share(below, base)
	return below
}

// hasValue reports whether an agent has a field. Null is a value of lists of names.
func hasValue(n *yamltree.Node, name string) bool {
	_, value := n.FindField(name)
	return value != nil && (value.Kind != yamltree.Null || keys.IsNamesField(name))
}
