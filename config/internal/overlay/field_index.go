package overlay

import (
	"slices"

	"github.com/agentruntime/agentruntime/internal/yamltree"
)

// fieldIndex finds and changes fields of a mapping.
type fieldIndex struct {
	mapping *yamltree.Node
	// known are the positions of the keys.
	known map[string]int
}

func newFieldIndex(mapping *yamltree.Node) *fieldIndex {
	return &fieldIndex{mapping: mapping, known: mapping.IndexFields()}
}

// find returns the position of a field's key.
func (x *fieldIndex) find(name string) (at int, ok bool) {
	at, ok = x.known[name]
	return at, ok
}

// set replaces the field with the same name, or appends it.
func (x *fieldIndex) set(key, value *yamltree.Node) {
	if at, ok := x.known[key.Text]; ok {
		x.mapping.Children[at], x.mapping.Children[at+1] = key, value
		return
	}
	x.known[key.Text] = len(x.mapping.Children)
	x.mapping.Children = append(x.mapping.Children, key, value)
}

// remove removes the field whose key is at a position; dropRemoved closes the gap.
func (x *fieldIndex) remove(at int) {
	delete(x.known, x.mapping.Children[at].Text)
	x.mapping.Children[at], x.mapping.Children[at+1] = nil, nil
}

// dropRemoved closes the gaps of removed fields. The index is invalid afterwards.
func (x *fieldIndex) dropRemoved() {
	x.mapping.Children = slices.DeleteFunc(x.mapping.Children, func(n *yamltree.Node) bool { return n == nil })
}
