package config

import (
	"slices"

	"github.com/agentruntime/agentruntime/internal/yamltree"
)

// merger merges the trees of files. It leaves the files' nodes unchanged; merged collections are
// new.
type merger struct {
	root *yamltree.Node
	// position indexes the entries of merge targets by key.
	position map[*yamltree.Node]map[string]int
}

func newTree() *merger {
	return &merger{root: &yamltree.Node{Kind: yamltree.Mapping}, position: map[*yamltree.Node]map[string]int{}}
}

// positions returns the positions of the keys in a merge target.
func (m *merger) positions(into *yamltree.Node) map[string]int {
	at, ok := m.position[into]
	if !ok {
		at = make(map[string]int, len(into.Children)/2)
		for i := 0; i < len(into.Children); i += 2 {
			at[into.Children[i].Text] = i
		}
		m.position[into] = at
	}
	return at
}

// setEntry adds an entry to a collection, replacing any with the same key.
func (m *merger) setEntry(into, key, value *yamltree.Node) {
	at := m.positions(into)
	if i, ok := at[key.Text]; ok {
		into.Children[i], into.Children[i+1] = key, value
		return
	}
	at[key.Text] = len(into.Children)
	into.Children = append(into.Children, key, value)
}

// findEntry returns the value of an entry in a merge target, or nil.
func (m *merger) findEntry(in *yamltree.Node, name string) *yamltree.Node {
	if i, ok := m.positions(in)[name]; ok {
		return in.Children[i+1]
	}
	return nil
}

// replaceValue replaces the value of an existing entry.
func (m *merger) replaceValue(in *yamltree.Node, name string, value *yamltree.Node) {
	in.Children[m.positions(in)[name]+1] = value
}

// removeEntry removes an existing entry.
func (m *merger) removeEntry(from *yamltree.Node, name string) {
	from.Children = withoutField(from, name).Children
	delete(m.position, from)
	m.positions(from)
}

// ownCollection returns a modifiable copy of a nested collection, or nil if absent so far.
func (m *merger) ownCollection(in *yamltree.Node, name string) *yamltree.Node {
	_, have := in.FindField(name)
	if have == nil {
		return nil
	}
	if _, merged := m.position[have]; merged {
		return have
	}
	c := *have
	c.Children = slices.Clone(have.Children)
	for i := 1; i < len(in.Children); i += 2 {
		if in.Children[i] == have {
			in.Children[i] = &c
		}
	}
	return &c
}

func (m *merger) mergeRegistry(in, key, value *yamltree.Node) {
	into := m.ownCollection(in, key.Text)
	if into == nil {
		m.setEntry(in, key, value)
		return
	}
	for k, v := range value.Pairs {
		m.setEntry(into, k, v)
	}
}

func (m *merger) appendList(key, value *yamltree.Node) {
	into := m.ownCollection(m.root, key.Text)
	if into == nil {
		m.setEntry(m.root, key, value)
		return
	}
	into.Children = append(into.Children, value.Children...)
}

// mergeFields merges a record field by field, and mappings that are its fields key by key where
// byKey says so.
func (m *merger) mergeFields(key, value *yamltree.Node, byKey func(field string) bool) {
	into := m.ownCollection(m.root, key.Text)
	if into == nil {
		m.setEntry(m.root, key, value)
		return
	}
	for k, v := range value.Pairs {
		if _, have := into.FindField(k.Text); byKey(k.Text) && v.Kind == yamltree.Mapping && have != nil && have.Kind == yamltree.Mapping {
			m.mergeRegistry(into, k, v)
			continue
		}
		m.setEntry(into, k, v)
	}
}

// withoutField returns a mapping without a field.
func withoutField(n *yamltree.Node, name string) *yamltree.Node {
	if key, _ := n.FindField(name); key == nil {
		return n
	}
	c := *n
	c.Children = slices.Clone(n.Children)
	for i := 0; i < len(c.Children); i += 2 {
		if c.Children[i].Text == name {
			c.Children = slices.Delete(c.Children, i, i+2)
			break
		}
	}
	return &c
}

// copyDeclared returns a copy of the merged tree that is unaffected by extending agents.
func (m *merger) copyDeclared() *yamltree.Node {
	root := *m.root
	root.Children = slices.Clone(root.Children)
	for i := 1; i < len(root.Children); i += 2 {
		value := *root.Children[i]
		value.Children = slices.Clone(value.Children)
		root.Children[i] = &value
	}
	return &root
}
