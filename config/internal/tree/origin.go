package tree

import (
	"cmp"
	"slices"

	"github.com/agentruntime/agentruntime/config/internal/keys"
	"github.com/agentruntime/agentruntime/config/internal/overlay"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/yamltree"
)

// DecidedBy returns the origin of the value at a path, if it is not the entry itself.
func (t *Tree) DecidedBy(path []diag.Segment) overlay.Origin {
	if len(t.Origins.Written) == 0 || t.Root == nil {
		return overlay.Origin{}
	}
	var by overlay.Origin
	inherited := "" // the agent a whole collection comes from
	at := t.Root
	for i, segment := range path {
		if _, merged := t.Origins.Written[at]; merged && !segment.IsIndex {
			by = t.originOf(at, segment.Key)
			by.From = cmp.Or(by.From, inherited)
		}
		next, ok := t.followSegment(at, segment)
		if !ok {
			break
		}
		at = next.Value
		if by.From != "" && i > 1 && t.hasAt(path[0], by.From, path[2:i+1], at) {
			inherited = by.From
		}
	}
	return by
}

// hasAt reports whether an entry has exactly this value at a path.
func (t *Tree) hasAt(registry diag.Segment, id string, path []diag.Segment, value *yamltree.Node) bool {
	at := t.Root
	for _, segment := range slices.Concat([]diag.Segment{registry, {Key: id}}, path) {
		next, ok := t.followSegment(at, segment)
		if !ok {
			return false
		}
		at = next.Value
	}
	return at == value
}

// originOf returns the origin of a field of a merged collection.
func (t *Tree) originOf(in *yamltree.Node, name string) overlay.Origin {
	if c, ok := t.Origins.Cleared[in][name]; ok {
		return c.Origin
	}
	if o, ok := t.Origins.Fields[in][name]; ok {
		return o
	}
	for _, other := range t.spellings[name] {
		if o, ok := t.Origins.Fields[in][other]; ok {
			return o
		}
	}
	return overlay.Origin{}
}

// RelateOverlay relates a diagnostic about an inherited or patched value to the place that
// decided it, or to the value that was patched.
func (t *Tree) RelateOverlay(d *diag.Diagnostic) {
	if len(t.Origins.Written) == 0 || d.Path == "" {
		return
	}
	path, ok := diag.ParsePath(d.Path)
	if !ok || len(path) < 3 {
		return
	}
	by := t.DecidedBy(path)
	registry, id := path[0].Key, path[1].Key
	if by.From != "" {
		if key, value := t.FindEntry(registry, id).FindField(keys.Extends); key != nil {
			t.AddRelated(d, clip.Text(id)+" extends "+clip.Text(value.Text)+" here", ExtendsPath(id), value)
		}
		id = by.From
	}
	if by.Patched {
		if key, _ := t.FindChild(t.FindRegistry(registry), id); key != nil {
			t.AddRelated(d, "the patched "+keys.RegistryNamed(registry).Noun+" is here", diag.Key(registry, id), key)
		}
	}
}

// ExtendsPath returns the path of an agent's extends.
func ExtendsPath(id string) string { return diag.Key(diag.Key("agents", id), keys.Extends) }

// AddRelated adds a related place to a diagnostic, once.
func (t *Tree) AddRelated(d *diag.Diagnostic, message, path string, n *yamltree.Node) {
	if slices.ContainsFunc(d.Related, func(r diag.Related) bool { return r.Path == path && r.Message == message }) {
		return
	}
	d.Related = append(slices.Clip(d.Related), diag.Related{Message: message, Path: path, Span: t.Documents[n.Document].SpanOfNode(n)})
}
