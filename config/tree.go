package config

import (
	"fmt"

	"github.com/agentruntime/agentruntime/internal/clip"
)

// nodeKind is the type of a YAML value.
type nodeKind uint8

const (
	nullNode nodeKind = iota
	boolNode
	intNode
	floatNode
	stringNode
	sequenceNode
	mappingNode
)

// nodeStyle is the syntax in which a value is written; it determines the value's end.
type nodeStyle uint8

const (
	plainStyle nodeStyle = iota
	singleQuoted
	doubleQuoted
	literalBlock
	foldedBlock
	blockCollection
	flowCollection
)

// node is a value or key in a file. It is small because a file may have a million of them. An alias
// is its anchor's node, so nodes may have several parents and are never modified.
type node struct {
	kind  nodeKind
	style nodeStyle
	// document is the index of the node's file.
	document uint16
	// line and column are the node's start in the parser's count; its anchor and tag come before
	// it. See document.span.
	line, column int32
	// text is the text of a scalar, with quotes and escapes resolved.
	text string
	// children are the elements of a sequence, or the alternating keys and values of a mapping.
	children []*node
}

// pairs calls yield for each key and value of a mapping; it yields nothing for
// other nodes.
func (n *node) pairs(yield func(key, value *node) bool) {
	if n == nil || n.kind != mappingNode {
		return
	}
	for i := 0; i+1 < len(n.children); i += 2 {
		if !yield(n.children[i], n.children[i+1]) {
			return
		}
	}
}

// findField returns the key and the value of a field of a mapping, or nil.
func (n *node) findField(name string) (key, value *node) {
	for k, v := range n.pairs {
		if k.text == name {
			return k, v
		}
	}
	return nil, nil
}

func (n *node) isScalar() bool { return n.kind < sequenceNode }

// describe describes a value for a message, without its text if it is a secret.
func (n *node) describe(secret bool) string {
	switch n.kind {
	case nullNode:
		return "nothing"
	case boolNode:
		return "the truth value " + n.text
	case intNode, floatNode:
		if secret {
			return "a number"
		}
		return "the number " + clip.Text(n.text)
	case sequenceNode:
		return "a list"
	case mappingNode:
		return "a mapping"
	default:
		if secret {
			return "a text"
		}
		return fmt.Sprintf("the text %q", clip.Text(n.text))
	}
}

// kindName returns the name of a value's type.
func (n *node) kindName() string {
	switch n.kind {
	case nullNode:
		return "null"
	case boolNode:
		return "truth value"
	case intNode, floatNode:
		return "number"
	case sequenceNode:
		return "list"
	case mappingNode:
		return "mapping"
	default:
		return "text"
	}
}
