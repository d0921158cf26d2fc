package config

import (
	"cmp"
	"slices"

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

func extendsPath(id string) string { return diag.Key(diag.Key("agents", id), keys.Extends) }

func (t *tree) addRelated(d *diag.Diagnostic, message, path string, n *yamltree.Node) {
	if slices.ContainsFunc(d.Related, func(r diag.Related) bool { return r.Path == path && r.Message == message }) {
		return
	}
	d.Related = append(slices.Clip(d.Related), diag.Related{Message: message, Path: path, Span: t.documents[n.Document].SpanOfNode(n)})
}
