package config

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/config/internal/keys"
	"github.com/agentruntime/agentruntime/config/internal/overlay"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/yamltree"
)

// decidedBy returns the origin of the value at a path, if it is not the entry itself.
func (t *tree) decidedBy(path []diag.Segment) overlay.Origin {
	if len(t.origins.Written) == 0 || t.root == nil {
		return overlay.Origin{}
	}
	var by overlay.Origin
	inherited := "" // the agent a whole collection comes from
	at := t.root
	for i, segment := range path {
		if _, merged := t.origins.Written[at]; merged && !segment.IsIndex {
			by = t.originOf(at, segment.Key)
			by.From = cmp.Or(by.From, inherited)
		}
		next, ok := t.followSegment(at, segment)
		if !ok {
			break
		}
		at = next.value
		if by.From != "" && i > 1 && t.hasAt(path[0], by.From, path[2:i+1], at) {
			inherited = by.From
		}
	}
	return by
}

// hasAt reports whether an entry has exactly this value at a path.
func (t *tree) hasAt(registry diag.Segment, id string, path []diag.Segment, value *yamltree.Node) bool {
	at := t.root
	for _, segment := range slices.Concat([]diag.Segment{registry, {Key: id}}, path) {
		next, ok := t.followSegment(at, segment)
		if !ok {
			return false
		}
		at = next.value
	}
	return at == value
}

// originOf returns the origin of a field of a merged collection.
func (t *tree) originOf(in *yamltree.Node, name string) overlay.Origin {
	if c, ok := t.origins.Cleared[in][name]; ok {
		return c.Origin
	}
	if o, ok := t.origins.Fields[in][name]; ok {
		return o
	}
	for _, other := range t.spellings[name] {
		if o, ok := t.origins.Fields[in][other]; ok {
			return o
		}
	}
	return overlay.Origin{}
}

// relateOverlay relates a diagnostic about an inherited or patched value to the place that
// decided it, or to the value that was patched.
func (t *tree) relateOverlay(d *diag.Diagnostic) {
	if len(t.origins.Written) == 0 || d.Path == "" {
		return
	}
	path, ok := diag.ParsePath(d.Path)
	if !ok || len(path) < 3 {
		return
	}
	by := t.decidedBy(path)
	registry, id := path[0].Key, path[1].Key
	if by.From != "" {
		if key, value := t.findEntry(registry, id).FindField(keys.Extends); key != nil {
			t.addRelated(d, clip.Text(id)+" extends "+clip.Text(value.Text)+" here", extendsPath(id), value)
		}
		id = by.From
	}
	if by.Patched {
		if key, _ := t.findChild(t.findRegistry(registry), id); key != nil {
			t.addRelated(d, "the patched "+keys.RegistryNamed(registry).Noun+" is here", diag.Key(registry, id), key)
		}
	}
}

func (t *tree) addRelated(d *diag.Diagnostic, message, path string, n *yamltree.Node) {
	if slices.ContainsFunc(d.Related, func(r diag.Related) bool { return r.Path == path && r.Message == message }) {
		return
	}
	d.Related = append(slices.Clip(d.Related), diag.Related{Message: message, Path: path, Span: t.documents[n.Document].SpanOfNode(n)})
}

func (t *tree) findRegistry(name string) *yamltree.Node {
	_, value := t.root.FindField(name)
	return value
}

func (t *tree) findEntry(registry, id string) *yamltree.Node {
	in := t.findRegistry(registry)
	if in == nil {
		return nil
	}
	_, value := t.findChild(in, id)
	return value
}

// Decision is the place that decides one field of an entry.
type Decision struct {
	// Field is the field's name. Fields of merged mappings and sections are named individually, as
	// in budgets.max_tokens.
	Field string `json:"field"`
	// Place is file:line:column, or the path in a document.
	Place string `json:"place"`
	// From is the agent that the field is inherited from, if any.
	From string `json:"inherited_from,omitempty"`
	// Patched is set if a patch decided the field.
	Patched bool `json:"patched,omitempty"`
	// Cleared is set if the field was removed there.
	Cleared bool `json:"cleared,omitempty"`
}

// Decisions returns where each field of an extending or patched agent was decided, in field order.
// For others it returns nil: their fields are decided in place.
func (f *File) Decisions(agentID string) []Decision {
	return f.decisions(agentID, func(key *yamltree.Node, _ string) string {
		return f.tree.documents[key.Document].SpanOfNode(key).Place()
	})
}

// DocumentDecisions is Decisions with paths instead of file positions, for readers that have the
// files as documents. Paths in the second of two documents begin with its name.
func (f *File) DocumentDecisions(agentID, second string) []Decision {
	if f.isEdited() {
		f = f.readAgent(agentID)
	}
	return f.decisions(agentID, func(key *yamltree.Node, path string) string {
		if key.Document > 0 {
			return second + ": " + path
		}
		return path
	})
}

func (f *File) decisions(agentID string, place func(key *yamltree.Node, path string) string) []Decision {
	if f.tree.root == nil {
		return nil
	}
	entry := f.tree.findEntry(keys.Agents, agentID)
	if _, merged := f.tree.origins.Written[entry]; !merged {
		return nil
	}
	c := &decisions{file: f, agent: agentID, place: place}
	c.addFields("", entry)
	return c.list
}

// decisions collects where the fields of an agent were decided.
type decisions struct {
	file  *File
	agent string
	place func(key *yamltree.Node, path string) string
	list  []Decision
}

// addFields adds the decisions for the fields of one of the agent's mappings. In merged mappings,
// each field has its own decision.
func (c *decisions) addFields(parent string, in *yamltree.Node) {
	f := c.file
	for key, value := range in.Pairs {
		field := diag.Key(parent, key.Text)
		_, merged := f.tree.origins.Written[value]
		switch {
		case field == keys.Extends, isExtension(key.Text):
		case merged, field == "sections" && value.Kind == yamltree.Mapping:
			c.addFields(field, value)
		default:
			path, _ := diag.ParsePath(diag.Join(diag.Key(keys.Agents, c.agent), field))
			c.addField(key, field, f.tree.decidedBy(path), false)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(f.tree.origins.Cleared[in])) {
		cleared := f.tree.origins.Cleared[in][name]
		c.addField(cleared.Key, diag.Key(parent, name), cleared.Origin, true)
	}
}

func (c *decisions) addField(key *yamltree.Node, field string, by overlay.Origin, isCleared bool) {
	path := diag.Join(diag.Key(keys.Agents, cmp.Or(by.From, c.agent)), field)
	if by.Patched {
		path = diag.Join(keys.Patches, path)
	}
	c.list = append(c.list, Decision{Field: field, Place: c.place(key, path), From: by.From, Patched: by.Patched, Cleared: isCleared})
}

// DecidedPath returns the path that decided the value at a path, which may be in a patch.
func (f *File) DecidedPath(path string) string {
	segments, ok := diag.ParsePath(path)
	if !ok || len(segments) < 3 || f.tree.root == nil {
		return path
	}
	by := f.tree.decidedBy(segments)
	if !by.Patched {
		return path
	}
	registry, id := segments[0].Key, segments[1].Key
	rest := strings.TrimPrefix(path[len(diag.Key(registry, id)):], ".")
	return diag.Join(keys.Patches, diag.Join(diag.Key(registry, cmp.Or(by.From, id)), rest))
}
