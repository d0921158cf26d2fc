package config

import "slices"

// merger merges the trees of files. It leaves the files' nodes unchanged; merged collections are
// new.
type merger struct {
	root *node
	// position indexes the entries of merge targets by key.
	position map[*node]map[string]int
}

// positions returns the positions of the keys in a merge target.
func (m *merger) positions(into *node) map[string]int {
	at, ok := m.position[into]
	if !ok {
		at = make(map[string]int, len(into.children)/2)
		for i := 0; i < len(into.children); i += 2 {
			at[into.children[i].text] = i
		}
		m.position[into] = at
	}
	return at
}

// setEntry adds an entry to a collection, replacing any with the same key.
func (m *merger) setEntry(into, key, value *node) {
	at := m.positions(into)
	if i, ok := at[key.text]; ok {
		into.children[i], into.children[i+1] = key, value
		return
	}
	at[key.text] = len(into.children)
	into.children = append(into.children, key, value)
}

// findEntry returns the value of an entry in a merge target, or nil.
func (m *merger) findEntry(in *node, name string) *node {
	if i, ok := m.positions(in)[name]; ok {
		return in.children[i+1]
	}
	return nil
}

// replaceValue replaces the value of an existing entry.
func (m *merger) replaceValue(in *node, name string, value *node) {
	in.children[m.positions(in)[name]+1] = value
}

// removeEntry removes an existing entry.
func (m *merger) removeEntry(from *node, name string) {
	from.children = withoutField(from, name).children
	delete(m.position, from)
	m.positions(from)
}

// ownCollection returns a modifiable copy of a nested collection, or nil if absent so far.
func (m *merger) ownCollection(in *node, name string) *node {
	_, have := in.findField(name)
	if have == nil {
		return nil
	}
	if _, merged := m.position[have]; merged {
		return have
	}
	c := *have
	c.children = slices.Clone(have.children)
	for i := 1; i < len(in.children); i += 2 {
		if in.children[i] == have {
			in.children[i] = &c
		}
	}
	return &c
}

func (m *merger) mergeRegistry(in, key, value *node) {
	into := m.ownCollection(in, key.text)
	if into == nil {
		m.setEntry(in, key, value)
		return
	}
	for k, v := range value.pairs {
		m.setEntry(into, k, v)
	}
}

func (m *merger) appendList(key, value *node) {
	into := m.ownCollection(m.root, key.text)
	if into == nil {
		m.setEntry(m.root, key, value)
		return
	}
	into.children = append(into.children, value.children...)
}

// mergeFields merges a record field by field, and mappings that are its fields key by key where
// byKey says so.
func (m *merger) mergeFields(key, value *node, byKey func(field string) bool) {
	into := m.ownCollection(m.root, key.text)
	if into == nil {
		m.setEntry(m.root, key, value)
		return
	}
	for k, v := range value.pairs {
		if _, have := into.findField(k.text); byKey(k.text) && v.kind == mappingNode && have != nil && have.kind == mappingNode {
			m.mergeRegistry(into, k, v)
			continue
		}
		m.setEntry(into, k, v)
	}
}

// isMergedByKey reports whether a field of a record is merged key by key.
func isMergedByKey(field string) bool {
	return contains([]string{"sections", "retention", "limits", "rate", "a2a"}, field)
}

// isAnyField is true for all fields.
func isAnyField(string) bool { return true }
