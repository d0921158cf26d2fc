package yamltree

import (
	"fmt"

	"go.yaml.in/yaml/v4"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/clip"
)

// anchored is a value that has an anchor.
type anchored struct {
	node *Node // nil while it is being converted
	size size
}

// size is the size of a value with its aliases expanded.
type size struct{ nodes, bytes, depth int }

func (s *size) add(child size) {
	s.nodes += child.nodes
	s.bytes += child.bytes
	s.depth = max(s.depth, child.depth+1)
}

// converter converts the YAML library's nodes to the smaller nodes of a tree.
type converter struct {
	doc        *Document
	nounOf     func(registry string) string
	index      uint16
	extraLines int
	standIns   *standIns
	anchors    map[*yaml.Node]*anchored
	arena      []Node
	merged     int
	found      diag.List
	fatal      bool
}

func (c *converter) byteOffset(line, column int) int {
	return c.doc.lines().offset(max(line-c.extraLines, 1), column)
}

func (c *converter) addFault(n *Node, format string, args ...any) {
	c.addFinding(n, diag.New(diag.InvalidYAML, "", format, args...))
}

// addFinding adds a diagnostic about a node, up to the limit.
func (c *converter) addFinding(n *Node, d diag.Diagnostic) {
	if len(c.found) <= MaxFindings {
		d.Span = c.doc.SpanOfNode(n)
		c.found = append(c.found, d)
	}
}

// newFault returns an invalid-yaml diagnostic with a hint.
func newFault(hint, format string, args ...any) diag.Diagnostic {
	return diag.New(diag.InvalidYAML, "", format, args...).WithHint("%s", hint)
}

// reportFatal reports a fault that makes the tree unusable.
func (c *converter) reportFatal(n *Node, format string, args ...any) {
	if !c.fatal {
		c.addFault(n, format, args...)
		c.fatal = true
	}
}

func (c *converter) newNode(y *yaml.Node) *Node {
	if len(c.arena) == 0 {
		c.arena = make([]Node, 512)
	}
	n := &c.arena[0]
	c.arena = c.arena[1:]
	*n = Node{Document: c.index, Line: int32(y.Line - c.extraLines), Column: int32(y.Column), Text: c.standIns.restoreText(y.Value)}
	return n
}

// convert converts the value at a location.
func (c *converter) convert(y *yaml.Node, at *location) (*Node, size) {
	if c.fatal {
		return &Node{}, size{}
	}
	if y.Kind == yaml.AliasNode {
		return c.convertAlias(y)
	}
	if at != nil && at.level > 2*MaxDepth {
		n := c.newNode(y)
		c.reportFatal(n, "collections are nested more than %d levels deep", MaxDepth)
		return n, size{}
	}
	var mark *anchored
	if y.Anchor != "" {
		mark = &anchored{}
		c.anchors[y] = mark
	}
	n := c.newNode(y)
	s := size{nodes: 1, bytes: len(y.Value)}
	switch y.Kind {
	case yaml.MappingNode:
		c.convertMapping(n, y, at, &s)
	case yaml.SequenceNode:
		c.convertSequence(n, y, at, &s)
	default:
		c.setScalarKind(n, y)
	}
	if s.nodes > MaxNodes || s.bytes > MaxExpanded || s.depth > MaxDepth {
		c.tooLarge(n, s)
	}
	if mark != nil {
		mark.node, mark.size = n, s
	}
	return n, s
}

func (c *converter) tooLarge(n *Node, s size) {
	switch {
	case s.depth > MaxDepth:
		c.reportFatal(n, "collections are nested more than %d levels deep", MaxDepth)
	case s.nodes > MaxNodes:
		c.reportFatal(n, "with its aliases expanded, the file has more than %d values", MaxNodes)
	default:
		c.reportFatal(n, "with its aliases expanded, the file has more than %d bytes of text", MaxExpanded)
	}
}

func (c *converter) convertAlias(y *yaml.Node) (*Node, size) {
	if target, ok := c.anchors[y.Alias]; ok && target.node != nil {
		return target.node, target.size
	}
	n := c.newNode(y)
	n.Text = "*" + y.Value
	c.reportFatal(n, "alias *%s is recursive", y.Value)
	return n, size{}
}

// location is a value's position, from the inside out; nil is the root.
type location struct {
	parent *location
	level  int
	key    string
}

func (l *location) nextLevel() *location {
	if l == nil {
		return &location{level: 1}
	}
	return &location{parent: l, level: l.level + 1}
}

func (c *converter) convertSequence(n *Node, y *yaml.Node, at *location, s *size) {
	n.Kind, n.Style = Sequence, collectionStyle(y)
	c.checkTag(n, y, "!!seq")
	if len(y.Content) == 0 {
		return
	}
	n.Children = make([]*Node, 0, len(y.Content))
	inside := at.nextLevel()
	for _, child := range y.Content {
		v, size := c.convert(child, inside)
		s.add(size)
		n.Children = append(n.Children, v)
	}
}

// convertMapping converts a mapping. Its own keys come first, in order, then those from merge keys.
func (c *converter) convertMapping(n *Node, y *yaml.Node, at *location, s *size) {
	n.Kind, n.Style = Mapping, collectionStyle(y)
	c.checkTag(n, y, "!!map")
	if len(y.Content) == 0 {
		return
	}
	n.Children = make([]*Node, 0, len(y.Content))
	var merges []*Node
	keys := make(map[string]*Node, len(y.Content)/2)
	inside := at.nextLevel()
	for i := 0; i+1 < len(y.Content); i += 2 {
		key, size := c.convert(y.Content[i], inside)
		s.add(size)
		inside.key = key.Text
		value, size := c.convert(y.Content[i+1], inside)
		s.add(size)
		switch {
		case c.fatal:
			return
		case y.Content[i].Tag == "!!merge":
			merges = append(merges, value)
		case !c.checkKey(key):
		default:
			if first := keys[key.Text]; first != nil {
				c.reportRepeatedKey(key, first, at)
				continue
			}
			keys[key.Text] = key
			n.Children = append(n.Children, key, value)
		}
	}
	if s.nodes > MaxNodes {
		return // convert reports it
	}
	for _, m := range merges {
		c.addMergedKeys(n, m, keys)
	}
}

// checkKey reports non-text keys.
func (c *converter) checkKey(key *Node) bool {
	switch key.Kind {
	case String:
		return true
	case Null:
		c.addFault(key, "a key is required here")
	case Sequence:
		c.addFault(key, "a key must be a text, not a collection")
	case Mapping:
		c.addFinding(key, newFault("a text that begins with {{ needs quotes", "a key must be a text, not a collection"))
	default:
		noun := "number"
		if key.Kind == Bool {
			noun = "truth value"
		}
		c.addFinding(key, newFault(fmt.Sprintf("write it in quotes: %q", clip.Text(key.Text)), "the key %s is a %s; keys must be texts", clip.Text(key.Text), noun))
	}
	return false
}

// reportRepeatedKey reports a second key. In a registry it is an id.
func (c *converter) reportRepeatedKey(key, first *Node, at *location) {
	related := diag.Related{Message: "the first one is here", Span: c.doc.SpanOfNode(first)}
	d := diag.New(diag.InvalidYAML, "", "the key %q is repeated; its first occurrence is in line %d", clip.Text(key.Text), related.Line)
	if at != nil && at.parent == nil && c.nounOf(at.key) != "" {
		d = diag.New(diag.DuplicateID, diag.Key(at.key, key.Text), "%s %q is defined twice", c.nounOf(at.key), clip.Text(key.Text))
		related.Path = d.Path
	}
	d.Related = []diag.Related{related}
	c.addFinding(key, d)
}

// addMergedKeys adds the keys of a mapping, or of a list of mappings, that a merge key references.
// Existing keys win.
func (c *converter) addMergedKeys(n, source *Node, keys map[string]*Node) {
	switch source.Kind {
	case Mapping:
		for key, value := range source.Pairs {
			if keys[key.Text] != nil {
				continue
			}
			keys[key.Text] = key
			if c.merged += 2; c.merged > MaxNodes {
				c.reportFatal(n, "with its merge keys expanded, the file has more than %d values", MaxNodes)
				return
			}
			n.Children = append(n.Children, key, value)
		}
	case Sequence:
		for _, element := range source.Children {
			if element.Kind != Mapping {
				c.addFault(element, "a merge key takes mappings, not %s", element.Describe(false))
				continue
			}
			c.addMergedKeys(n, element, keys)
		}
	default:
		c.addFinding(source, newFault("write <<: *anchor", "a merge key takes a mapping, not %s", source.Describe(false)))
	}
}

func collectionStyle(y *yaml.Node) Style {
	if y.Style&yaml.FlowStyle != 0 {
		return flowCollection
	}
	return blockCollection
}

func (c *converter) setScalarKind(n *Node, y *yaml.Node) {
	switch {
	case y.Style&yaml.SingleQuotedStyle != 0:
		n.Style = singleQuoted
	case y.Style&yaml.DoubleQuotedStyle != 0:
		n.Style = doubleQuoted
	case y.Style&yaml.LiteralStyle != 0:
		n.Style = literalBlock
	case y.Style&yaml.FoldedStyle != 0:
		n.Style = foldedBlock
	}
	switch y.Tag {
	case "!!null":
		n.Kind = Null
	case "!!bool":
		n.Kind = Bool
	case "!!int":
		n.Kind = Int
	case "!!float":
		n.Kind = Float
	default: // texts, and YAML's dates and merge keys
		n.Kind = String
	}
	if y.Style&yaml.TaggedStyle != 0 {
		n.Kind = String
		c.checkTag(n, y, "!!str")
	}
}

// checkTag reports tags other than the allowed one, which has no effect.
func (c *converter) checkTag(n *Node, y *yaml.Node, allowed string) {
	if y.Style&yaml.TaggedStyle == 0 || y.Tag == allowed {
		return
	}
	c.addFinding(n, newFault("write the value without a tag", "the tag %s is not supported", clip.Text(y.Tag)))
}
