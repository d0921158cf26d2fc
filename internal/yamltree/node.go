// Package yamltree reads YAML files into trees whose values know their positions, in bounded time
// and memory for any content.
package yamltree

import (
	"fmt"

	"github.com/agentruntime/agentruntime/internal/clip"
)

// Kind is the type of a YAML value.
type Kind uint8

// The types of values.
const (
	Null Kind = iota
	Bool
	Int
	Float
	String
	Sequence
	Mapping
)

// Style is the syntax in which a value is written; it determines the value's end.
type Style uint8

const (
	plainStyle Style = iota
	singleQuoted
	doubleQuoted
	literalBlock
	foldedBlock
	blockCollection
	flowCollection
)

// Node is a value or key in a file. It is small because a file may have a million of them. An alias
// is its anchor's node, so nodes may have several parents and are never modified.
type Node struct {
	// Kind is the type of the value, and Style how it is written.
	Kind  Kind
	Style Style
	// Document is the index of the node's file.
	Document uint16
	// Line and Column are the node's start in the parser's count; its anchor and tag come before
	// it. See Document.NodeRange.
	Line, Column int32
	// Text is the text of a scalar, with quotes and escapes resolved.
	Text string
	// Children are the elements of a sequence, or the alternating keys and values of a mapping.
	Children []*Node
}

// Pairs calls yield for each key and value of a mapping; it yields nothing for
// other nodes.
func (n *Node) Pairs(yield func(key, value *Node) bool) {
	if n == nil || n.Kind != Mapping {
		return
	}
	for i := 0; i+1 < len(n.Children); i += 2 {
		if !yield(n.Children[i], n.Children[i+1]) {
			return
		}
	}
}

// FindField returns the key and the value of a field of a mapping, or nil.
func (n *Node) FindField(name string) (key, value *Node) {
	for k, v := range n.Pairs {
		if k.Text == name {
			return k, v
		}
	}
	return nil, nil
}

// IndexFields returns the positions of a mapping's keys among its children, for repeated lookups.
func (n *Node) IndexFields() map[string]int {
	index := make(map[string]int, len(n.Children)/2)
	for i := 0; i+1 < len(n.Children) && n.Kind == Mapping; i += 2 {
		index[n.Children[i].Text] = i
	}
	return index
}

// IsScalar reports whether the value is neither a sequence nor a mapping.
func (n *Node) IsScalar() bool { return n.Kind < Sequence }

// Describe describes a value for a message, without its text if it is a secret.
func (n *Node) Describe(secret bool) string {
	switch n.Kind {
	case Null:
		return "nothing"
	case Bool:
		return "the truth value " + n.Text
	case Int, Float:
		if secret {
			return "a number"
		}
		return "the number " + clip.Text(n.Text)
	case Sequence:
		return "a list"
	case Mapping:
		return "a mapping"
	default:
		if secret {
			return "a text"
		}
		return fmt.Sprintf("the text %q", clip.Text(n.Text))
	}
}
