package config

import (
	"strconv"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/yamltree"
)

// place locates a value in the configuration. Every decoded value has one, but paths are built only
// for reports.
type place struct {
	parent *place
	// key is the name of a field; it is empty for a list element.
	key   string
	index int
	// node is the key in the file; nil for a list element or an absent field.
	node *yamltree.Node
}

func (p *place) fieldPlace(key string, n *yamltree.Node) *place {
	return &place{parent: p, key: key, node: n, index: -1}
}

func (p *place) elementPlace(i int) *place { return &place{parent: p, index: i} }

// path returns the path of the place.
func (p *place) path() string {
	switch {
	case p == nil:
		return ""
	case p.index >= 0:
		return diag.Index(p.parent.path(), p.index)
	default:
		return diag.Key(p.parent.path(), p.key)
	}
}

// name returns the name of the field at the place; empty for a list element.
func (p *place) name() string {
	if p == nil {
		return ""
	}
	return p.key
}

// label returns the place's name for messages: its last key and the positions after it.
func (p *place) label() string {
	switch {
	case p == nil:
		return "the file"
	case p.index >= 0:
		return p.parent.label() + "[" + strconv.Itoa(p.index) + "]"
	case p.key == "":
		return `""`
	default:
		return clip.Text(p.key)
	}
}
