// Package overlay merges the trees of a configuration's files with their patches and with extended
// agents, and records which of them decided each field.
package overlay

import (
	"slices"

	"github.com/agentruntime/agentruntime/internal/yamltree"
)

// Tree merges the trees of files. It leaves the files' nodes unchanged; merged collections are
// new.
type Tree struct {
	Root *yamltree.Node
	// position indexes the entries of merge targets by key.
	position map[*yamltree.Node]map[string]int
}

// NewTree returns an empty tree.
func NewTree() *Tree {
	return &Tree{Root: &yamltree.Node{Kind: yamltree.Mapping}, position: map[*yamltree.Node]map[string]int{}}
}

// positions returns the positions of the keys in a merge target.
func (t *Tree) positions(into *yamltree.Node) map[string]int {
	at, ok := t.position[into]
	if !ok {
		at = into.IndexFields()
		t.position[into] = at
	}
	return at
}

// setEntry adds an entry to a collection, replacing any with the same key.
func (t *Tree) setEntry(into, key, value *yamltree.Node) {
	at := t.positions(into)
	if i, ok := at[key.Text]; ok {
		into.Children[i], into.Children[i+1] = key, value
		return
	}
	at[key.Text] = len(into.Children)
	into.Children = append(into.Children, key, value)
}

// FindEntry returns the value of an entry in a merge target, or nil.
func (t *Tree) FindEntry(in *yamltree.Node, name string) *yamltree.Node {
	if i, ok := t.positions(in)[name]; ok {
		return in.Children[i+1]
	}
	return nil
}

// ReplaceValue replaces the value of an existing entry.
func (t *Tree) ReplaceValue(in *yamltree.Node, name string, value *yamltree.Node) {
	in.Children[t.positions(in)[name]+1] = value
}

// RemoveEntry removes an existing entry.
func (t *Tree) RemoveEntry(from *yamltree.Node, name string) {
	from.Children = WithoutField(from, name).Children
	delete(t.position, from)
	t.positions(from)
}

// OwnCollection returns a modifiable copy of a nested collection, or nil if absent so far.
func (t *Tree) OwnCollection(in *yamltree.Node, name string) *yamltree.Node {
	_, have := in.FindField(name)
	if have == nil {
		return nil
	}
	if _, merged := t.position[have]; merged {
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

// MergeRegistry merges a collection into the one of the same name, entry by entry.
func (t *Tree) MergeRegistry(in, key, value *yamltree.Node) {
	into := t.OwnCollection(in, key.Text)
	if into == nil {
		t.setEntry(in, key, value)
		return
	}
	for k, v := range value.Pairs {
		t.setEntry(into, k, v)
	}
}

// AppendList appends a top-level list to the one of the same name.
func (t *Tree) AppendList(key, value *yamltree.Node) {
	into := t.OwnCollection(t.Root, key.Text)
	if into == nil {
		t.setEntry(t.Root, key, value)
		return
	}
	into.Children = append(into.Children, value.Children...)
}

// MergeFields merges a record field by field, and mappings that are its fields key by key where
// byKey says so.
func (t *Tree) MergeFields(key, value *yamltree.Node, byKey func(field string) bool) {
	into := t.OwnCollection(t.Root, key.Text)
	if into == nil {
		t.setEntry(t.Root, key, value)
		return
	}
	for k, v := range value.Pairs {
		if _, have := into.FindField(k.Text); byKey(k.Text) && v.Kind == yamltree.Mapping && have != nil && have.Kind == yamltree.Mapping {
			t.MergeRegistry(into, k, v)
			continue
		}
		t.setEntry(into, k, v)
	}
}

// WithoutField returns a mapping without a field.
func WithoutField(n *yamltree.Node, name string) *yamltree.Node {
	at, ok := n.IndexFields()[name]
	if !ok {
		return n
	}
	c := *n
	c.Children = slices.Delete(slices.Clone(n.Children), at, at+2)
	return &c
}

// CopyDeclared returns a copy of the merged tree that is unaffected by extending agents.
func (t *Tree) CopyDeclared() *yamltree.Node {
	root := *t.Root
	root.Children = slices.Clone(root.Children)
	for i := 1; i < len(root.Children); i += 2 {
		value := *root.Children[i]
		value.Children = slices.Clone(value.Children)
		root.Children[i] = &value
	}
	return &root
}
