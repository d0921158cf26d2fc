package overlay

import (
	"slices"

	"github.com/agentruntime/agentruntime/internal/yamltree"
)

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
