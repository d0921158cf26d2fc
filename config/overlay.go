package config

import (
	"slices"

	"github.com/agentruntime/agentruntime/internal/yamltree"
)

// overlays records how values of merged collections were decided. All maps are keyed by collections
// created by a merge.
type overlays struct {
	// written maps to the collections as written in the files.
	written map[*yamltree.Node]*yamltree.Node
	// origins holds the fields that do not come from the entry itself.
	origins map[*yamltree.Node]map[string]origin
	// cleared holds the removed fields, with the key and the null that removed them.
	cleared map[*yamltree.Node]map[string]clearing
}

// origin records the source of an entry's field that does not come from the entry itself.
type origin struct {
	// patched reports whether a patch decided the field.
	patched bool
	// from is the agent that the field is inherited from, if any.
	from string
}

// clearing is the key and the null that removed a field.
type clearing struct {
	key, value *yamltree.Node
	origin     origin
}

// maxOverlaid limits the total number of fields in merged collections.
const maxOverlaid = 2 * yamltree.MaxNodes

// overlayMerger merges entries field by field, like a JSON merge patch (RFC 7396): absent fields
// stay, null removes a field, mappings are merged, everything else is replaced. Nodes of files stay
// unchanged.
type overlayMerger struct {
	*overlays
	// by is the origin of the upper part; base is the agent from which the lower part is
	// inherited, if any.
	by   origin
	base string
	// replaced is called with values that are no longer part of the configuration.
	replaced func(key, value *yamltree.Node)
	// left is the number of fields that may still be merged.
	left *int
}

// mergeInto returns base with the fields of over on top. For fields selected by isValue, which
// applies only to the outermost level, null is a value.
func (m *overlayMerger) mergeInto(base, over *yamltree.Node, isValue func(name string) bool) *yamltree.Node {
	merged := &yamltree.Node{Kind: yamltree.Mapping, Style: over.Style, Document: over.Document, Line: over.Line, Column: over.Column}
	lower := over
	if base != nil && base.Kind == yamltree.Mapping {
		lower = base
		*merged = *base
		merged.Children = slices.Clone(base.Children)
	}
	m.written[merged] = m.asWritten(lower)
	m.inheritOrigins(merged, base)
	*m.left -= len(merged.Children)/2 + len(over.Children)/2
	if *m.left < 0 {
		return merged
	}
	fields := newFieldIndex(merged)
	for name, c := range m.cleared[over] {
		m.clearField(merged, fields, name, c)
	}
	for key, value := range over.Pairs {
		by, known := m.origins[over][key.Text]
		if !known {
			by = m.by
		}
		if value.Kind == yamltree.Null && (isValue == nil || !isValue(key.Text)) {
			m.clearField(merged, fields, key.Text, clearing{key, value, by})
		} else {
			m.mergeField(merged, fields, key, value, by)
		}
	}
	fields.dropRemoved()
	return merged
}

// clearField removes a field.
func (m *overlayMerger) clearField(merged *yamltree.Node, fields *fieldIndex, name string, c clearing) {
	m.setCleared(merged, name, c)
	if at, have := fields.find(name); have {
		m.noteReplaced(merged.Children[at], merged.Children[at+1])
		fields.remove(at)
	}
}

// mergeField merges one field of the upper part.
func (m *overlayMerger) mergeField(merged *yamltree.Node, fields *fieldIndex, key, value *yamltree.Node, by origin) {
	var below *yamltree.Node
	if at, have := fields.find(key.Text); have {
		below = merged.Children[at+1]
		switch {
		case value.Kind != yamltree.Mapping || below.Kind != yamltree.Mapping:
			m.noteReplaced(merged.Children[at], below)
		default:
			key, by = merged.Children[at], m.origins[merged][key.Text]
		}
	}
	m.setOrigin(merged, key.Text, by)
	delete(m.cleared[merged], key.Text)
	if value.Kind == yamltree.Mapping {
		value = m.mergeInto(below, value, nil)
	}
	fields.set(key, value)
}

func (m *overlayMerger) noteReplaced(key, value *yamltree.Node) {
	if m.replaced != nil {
		m.replaced(key, value)
	}
}

// inheritOrigins copies a base collection's origins to the merged one.
func (m *overlayMerger) inheritOrigins(merged, base *yamltree.Node) {
	if base == nil || base.Kind != yamltree.Mapping {
		return
	}
	for key := range base.Pairs {
		o := m.origins[base][key.Text]
		if m.base != "" && o.from == "" {
			o.from = m.base
		}
		m.setOrigin(merged, key.Text, o)
	}
	for name, c := range m.cleared[base] {
		if m.base != "" && c.origin.from == "" {
			c.origin.from = m.base
		}
		m.setCleared(merged, name, c)
	}
}

func (o *overlays) setOrigin(merged *yamltree.Node, name string, by origin) {
	if by == (origin{}) {
		delete(o.origins[merged], name)
		return
	}
	if o.origins[merged] == nil {
		o.origins[merged] = map[string]origin{}
	}
	o.origins[merged][name] = by
}

func (o *overlays) setCleared(merged *yamltree.Node, name string, c clearing) {
	if o.cleared[merged] == nil {
		o.cleared[merged] = map[string]clearing{}
	}
	o.cleared[merged][name] = c
	delete(o.origins[merged], name)
}

// asWritten returns the file's collection that a merged one started from, or the node itself.
func (o *overlays) asWritten(n *yamltree.Node) *yamltree.Node {
	if written, ok := o.written[n]; ok {
		return written
	}
	return n
}

// share copies the recorded origins to a partial copy of a merged collection.
func (o *overlays) share(copied, from *yamltree.Node) {
	if copied == from {
		return
	}
	o.written[copied] = o.asWritten(from)
	if origins, ok := o.origins[from]; ok {
		o.origins[copied] = origins
	}
	if cleared, ok := o.cleared[from]; ok {
		o.cleared[copied] = cleared
	}
}

func newOverlays() overlays {
	return overlays{written: map[*yamltree.Node]*yamltree.Node{}, origins: map[*yamltree.Node]map[string]origin{}, cleared: map[*yamltree.Node]map[string]clearing{}}
}

// fieldIndex finds and changes fields of a mapping.
type fieldIndex struct {
	mapping *yamltree.Node
	known   map[string]int // of large mappings
	removed bool
}

func newFieldIndex(mapping *yamltree.Node) *fieldIndex {
	x := &fieldIndex{mapping: mapping}
	const large = 64
	if len(mapping.Children) > large {
		x.addAll()
	}
	return x
}

func (x *fieldIndex) addAll() {
	x.known = make(map[string]int, len(x.mapping.Children))
	for i := 0; i+1 < len(x.mapping.Children); i += 2 {
		x.known[x.mapping.Children[i].Text] = i
	}
}

// find returns the position of a field's key.
func (x *fieldIndex) find(name string) (at int, ok bool) {
	if x.known != nil {
		at, ok = x.known[name]
		return at, ok
	}
	for i := 0; i+1 < len(x.mapping.Children); i += 2 {
		if key := x.mapping.Children[i]; key != nil && key.Text == name {
			return i, true
		}
	}
	return 0, false
}

// set replaces the field with the same name, or appends it.
func (x *fieldIndex) set(key, value *yamltree.Node) {
	if at, ok := x.find(key.Text); ok {
		x.mapping.Children[at], x.mapping.Children[at+1] = key, value
		return
	}
	if x.known != nil {
		x.known[key.Text] = len(x.mapping.Children)
	}
	x.mapping.Children = append(x.mapping.Children, key, value)
}

// remove removes the field whose key is at a position; dropRemoved closes the gap.
func (x *fieldIndex) remove(at int) {
	delete(x.known, x.mapping.Children[at].Text)
	x.mapping.Children[at], x.mapping.Children[at+1] = nil, nil
	x.removed = true
}

// dropRemoved closes the gaps of removed fields. The index is invalid afterwards.
func (x *fieldIndex) dropRemoved() {
	if x.removed {
		x.mapping.Children = slices.DeleteFunc(x.mapping.Children, func(n *yamltree.Node) bool { return n == nil })
	}
}
