package config

import (
	"maps"
	"slices"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/clip"
)

// decidedBy returns where the value at a path comes from, if not from the entry itself.
func (f *File) decidedBy(path []diag.Segment) origin {
	if len(f.overlays.written) == 0 || f.root == nil {
		return origin{}
	}
	var by origin
	at := f.root
	for _, segment := range path {
		if _, merged := f.overlays.written[at]; merged && !segment.IsIndex {
			by = f.originOf(at, segment.Key)
		}
		next, ok := f.followSegment(at, segment)
		if !ok {
			break
		}
		at = next.value
	}
	return by
}

// originOf returns where a field of a merged collection comes from.
func (f *File) originOf(in *node, name string) origin {
	if c, ok := f.overlays.cleared[in][name]; ok {
		return c.origin
	}
	if o, ok := f.overlays.origins[in][name]; ok {
		return o
	}
	for _, other := range f.spellings[name] {
		if o, ok := f.overlays.origins[in][other]; ok {
			return o
		}
	}
	return origin{}
}

// relateOverlay adds to a diagnostic about a value that was inherited or patched where
// that was done, or what was patched.
func (f *File) relateOverlay(d *diag.Diagnostic) {
	if len(f.overlays.written) == 0 || d.Path == "" {
		return
	}
	path, ok := diag.ParsePath(d.Path)
	if !ok || len(path) < 3 {
		return
	}
	by := f.decidedBy(path)
	registry, id := path[0].Key, path[1].Key
	if by.from != "" {
		if key, value := f.findEntry(registry, id).findField(extendsKey); key != nil {
			f.addRelated(d, clip.Text(id)+" extends "+clip.Text(value.text)+" here", extendsPath(id), value)
		}
		id = by.from
	}
	if by.patched {
		if key, _ := f.findChild(f.findRegistry(registry), id); key != nil {
			f.addRelated(d, "the patched "+registryNamed(registry).noun+" is here", diag.Key(registry, id), key)
		}
	}
}

func (f *File) addRelated(d *diag.Diagnostic, message, path string, n *node) {
	if slices.ContainsFunc(d.Related, func(r diag.Related) bool { return r.Path == path && r.Message == message }) {
		return
	}
	d.Related = append(slices.Clip(d.Related), diag.Related{Message: message, Path: path, Span: f.documents[n.document].spanOfNode(n)})
}

func (f *File) findRegistry(name string) *node {
	_, value := f.root.findField(name)
	return value
}

func (f *File) findEntry(registry, id string) *node {
	in := f.findRegistry(registry)
	if in == nil {
		return nil
	}
	_, value := f.findChild(in, id)
	return value
}

// Decision is where one field of an entry was decided.
type Decision struct {
	// Field is the name of the field. The fields of merged mappings are named one by
	// one, as in budgets.max_tokens, and so are sections.
	Field string `json:"field"`
	// Place is where it stands, as file:line:column.
	Place string `json:"place"`
	// From is the agent that the field is inherited from, if any.
	From string `json:"inherited_from,omitempty"`
	// Patched is set if a patch decided it.
	Patched bool `json:"patched,omitempty"`
	// Cleared is set if the field was removed there.
	Cleared bool `json:"cleared,omitempty"`
}

// Decisions returns where each field of an agent was decided, in the order of the
// fields, for an agent that extends another or is patched. For others it returns
// nothing: their fields stand where they do.
func (f *File) Decisions(agentID string) []Decision {
	if f.root == nil {
		return nil
	}
	entry := f.findEntry("agents", agentID)
	if _, merged := f.overlays.written[entry]; !merged {
		return nil
	}
	return f.decisionsIn(nil, agentID, "", entry)
}

// decisionsIn adds the decisions about the fields of a mapping of an agent. Of mappings
// that were merged, each field was decided by itself.
func (f *File) decisionsIn(list []Decision, agentID, parent string, in *node) []Decision {
	for key, value := range in.pairs {
		field := diag.Key(parent, key.text)
		_, merged := f.overlays.written[value]
		switch {
		case field == extendsKey, isExtension(key.text):
		case merged, field == "sections" && value.kind == mappingNode:
			list = f.decisionsIn(list, agentID, field, value)
		default:
			path, _ := diag.ParsePath(diag.Join(diag.Key("agents", agentID), field))
			by := f.decidedBy(path)
			list = append(list, Decision{Field: field, Place: f.documents[key.document].spanOfNode(key).Place(), From: by.from, Patched: by.patched})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(f.overlays.cleared[in])) {
		c := f.overlays.cleared[in][name]
		list = append(list, Decision{
			Field: diag.Key(parent, name), Place: f.documents[c.key.document].spanOfNode(c.key).Place(),
			From: c.origin.from, Patched: c.origin.patched, Cleared: true,
		})
	}
	return list
}
