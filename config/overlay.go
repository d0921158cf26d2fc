package config

import "slices"

// overlays records how values of merged collections were decided. All maps are keyed by collections
// created by a merge.
type overlays struct {
	// written maps to the collections as written in the files.
	written map[*node]*node
	// origins holds the fields that do not come from the entry itself.
	origins map[*node]map[string]origin
	// cleared holds the removed fields, with the key and the null that removed them.
	cleared map[*node]map[string]clearing
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
	key, value *node
	origin     origin
}

// maxOverlaid limits the total number of fields in merged collections.
const maxOverlaid = 2 * maxNodes

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
	replaced func(key, value *node)
	// left is the number of fields that may still be merged.
	left *int
}

// mergeInto returns base with the fields of over on top. For fields selected by isValue, which
// applies only to the outermost level, null is a value.
func (m *overlayMerger) mergeInto(base, over *node, isValue func(name string) bool) *node {
	merged := &node{kind: mappingNode, style: over.style, document: over.document, line: over.line, column: over.column}
	lower := over
	if base != nil && base.kind == mappingNode {
		lower = base
		*merged = *base
		merged.children = slices.Clone(base.children)
	}
	m.written[merged] = m.asWritten(lower)
	m.inheritOrigins(merged, base)
	*m.left -= len(merged.children)/2 + len(over.children)/2
	if *m.left < 0 {
		return merged
	}
	fields := newFieldIndex(merged)
	for name, c := range m.cleared[over] {
		m.clearField(merged, fields, name, c)
	}
	for key, value := range over.pairs {
		by, known := m.origins[over][key.text]
		if !known {
			by = m.by
		}
		if value.kind == nullNode && (isValue == nil || !isValue(key.text)) {
			m.clearField(merged, fields, key.text, clearing{key, value, by})
		} else {
			m.mergeField(merged, fields, key, value, by)
		}
	}
	fields.dropRemoved()
	return merged
}

// clearField removes a field.
func (m *overlayMerger) clearField(merged *node, fields *fieldIndex, name string, c clearing) {
	m.setCleared(merged, name, c)
	if at, have := fields.find(name); have {
		m.noteReplaced(merged.children[at], merged.children[at+1])
		fields.remove(at)
	}
}

// mergeField merges one field of the upper part.
func (m *overlayMerger) mergeField(merged *node, fields *fieldIndex, key, value *node, by origin) {
	var below *node
	if at, have := fields.find(key.text); have {
		below = merged.children[at+1]
		switch {
		case value.kind != mappingNode || below.kind != mappingNode:
			m.noteReplaced(merged.children[at], below)
		default:
			key, by = merged.children[at], m.origins[merged][key.text]
		}
	}
	m.setOrigin(merged, key.text, by)
	delete(m.cleared[merged], key.text)
	if value.kind == mappingNode {
		value = m.mergeInto(below, value, nil)
	}
	fields.set(key, value)
}

func (m *overlayMerger) noteReplaced(key, value *node) {
	if m.replaced != nil {
		m.replaced(key, value)
	}
}

// inheritOrigins copies a base collection's origins to the merged one.
func (m *overlayMerger) inheritOrigins(merged, base *node) {
	if base == nil || base.kind != mappingNode {
		return
	}
	for key := range base.pairs {
		o := m.origins[base][key.text]
		if m.base != "" && o.from == "" {
			o.from = m.base
		}
		m.setOrigin(merged, key.text, o)
	}
	for name, c := range m.cleared[base] {
		if m.base != "" && c.origin.from == "" {
			c.origin.from = m.base
		}
		m.setCleared(merged, name, c)
	}
}

func (o *overlays) setOrigin(merged *node, name string, by origin) {
	if by == (origin{}) {
		delete(o.origins[merged], name)
		return
	}
	if o.origins[merged] == nil {
		o.origins[merged] = map[string]origin{}
	}
	o.origins[merged][name] = by
}

func (o *overlays) setCleared(merged *node, name string, c clearing) {
	if o.cleared[merged] == nil {
		o.cleared[merged] = map[string]clearing{}
	}
	o.cleared[merged][name] = c
	delete(o.origins[merged], name)
}

// asWritten returns the file's collection that a merged one started from, or the node itself.
func (o *overlays) asWritten(n *node) *node {
	if written, ok := o.written[n]; ok {
		return written
	}
	return n
}

// share copies the recorded origins to a partial copy of a merged collection.
func (o *overlays) share(copied, from *node) {
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
	return overlays{written: map[*node]*node{}, origins: map[*node]map[string]origin{}, cleared: map[*node]map[string]clearing{}}
}

// fieldIndex finds and changes fields of a mapping.
type fieldIndex struct {
	mapping *node
	known   map[string]int // of large mappings
	removed bool
}

func newFieldIndex(mapping *node) *fieldIndex {
	x := &fieldIndex{mapping: mapping}
	const large = 64
	if len(mapping.children) > large {
		x.addAll()
	}
	return x
}

func (x *fieldIndex) addAll() {
	x.known = make(map[string]int, len(x.mapping.children))
	for i := 0; i+1 < len(x.mapping.children); i += 2 {
		x.known[x.mapping.children[i].text] = i
	}
}

// find returns the position of a field's key.
func (x *fieldIndex) find(name string) (at int, ok bool) {
	if x.known != nil {
		at, ok = x.known[name]
		return at, ok
	}
	for i := 0; i+1 < len(x.mapping.children); i += 2 {
		if key := x.mapping.children[i]; key != nil && key.text == name {
			return i, true
		}
	}
	return 0, false
}

// set replaces the field with the same name, or appends it.
func (x *fieldIndex) set(key, value *node) {
	if at, ok := x.find(key.text); ok {
		x.mapping.children[at], x.mapping.children[at+1] = key, value
		return
	}
	if x.known != nil {
		x.known[key.text] = len(x.mapping.children)
	}
	x.mapping.children = append(x.mapping.children, key, value)
}

// remove removes the field whose key is at a position; dropRemoved closes the gap.
func (x *fieldIndex) remove(at int) {
	delete(x.known, x.mapping.children[at].text)
	x.mapping.children[at], x.mapping.children[at+1] = nil, nil
	x.removed = true
}

// dropRemoved closes the gaps of removed fields. The index is invalid afterwards.
func (x *fieldIndex) dropRemoved() {
	if x.removed {
		x.mapping.children = slices.DeleteFunc(x.mapping.children, func(n *node) bool { return n == nil })
	}
}

// isNamesField reports whether null is a valid value of an agent's field, meaning an empty list of
// names.
func isNamesField(name string) bool {
	f := recordOf(agentType).byName[name]
	return f != nil && shapeOf(f.typ) == namesShape
}
