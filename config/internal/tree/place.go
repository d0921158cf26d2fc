package tree

import (
	"strconv"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/yamltree"
)

// Place locates a value in the configuration. Every decoded value has one, but paths are built only
// for reports.
type Place struct {
	Parent *Place
	// Key is the name of a field; it is empty for a list element.
	Key   string
	Index int
	// Node is the key in the file; nil for a list element or an absent field.
	Node *yamltree.Node
}

// TopField returns the place of a top-level key.
func TopField(key string, n *yamltree.Node) *Place { return (*Place)(nil).Field(key, n) }

// Field returns the place of a field below p; n is its key, or nil for an absent field.
func (p *Place) Field(key string, n *yamltree.Node) *Place {
	return &Place{Parent: p, Key: key, Node: n, Index: -1}
}

// Element returns the place of a list element below p.
func (p *Place) Element(i int) *Place { return &Place{Parent: p, Index: i} }

// Path returns the path of the place.
func (p *Place) Path() string {
	switch {
	case p == nil:
		return ""
	case p.Index >= 0:
		return diag.Index(p.Parent.Path(), p.Index)
	default:
		return diag.Key(p.Parent.Path(), p.Key)
	}
}

// Name returns the name of the field at the place; empty for a list element.
func (p *Place) Name() string {
	if p == nil {
		return ""
	}
	return p.Key
}

// Label returns the place's name for messages: its last key and the positions after it.
func (p *Place) Label() string {
	switch {
	case p == nil:
		return "the file"
	case p.Index >= 0:
		return p.Parent.Label() + "[" + strconv.Itoa(p.Index) + "]"
	case p.Key == "":
		return `""`
	default:
		return clip.Text(p.Key)
	}
}
