package config

import (
	"slices"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/yamltree"
)

// found is the value at a path in the files.
type found struct {
	key, value *yamltree.Node
	// exact reports whether the whole path exists, not only its beginning.
	exact bool
}

// findPath follows a path until a segment is missing.
func (t *tree) findPath(path string) (found, bool) {
	segments, ok := diag.ParsePath(path)
	if !ok || t.root == nil {
		return found{}, false
	}
	at := found{value: t.root}
	for i, segment := range segments {
		next, ok := t.followSegment(at.value, segment)
		if !ok {
			return at, i > 0 && (at.key != nil || at.value != t.root)
		}
		at = next
	}
	at.exact = true
	return at, len(segments) > 0
}

// followSegment follows one path segment from a node.
func (t *tree) followSegment(from *yamltree.Node, segment diag.Segment) (found, bool) {
	if segment.IsIndex {
		if from.Kind != yamltree.Sequence || segment.Index >= len(from.Children) {
			return found{}, false
		}
		return found{value: from.Children[segment.Index]}, true
	}
	if key, value := t.findChild(from, segment.Key); value != nil {
		return found{key: key, value: value}, true
	}
	for _, other := range t.spellings[segment.Key] {
		if key, value := t.findChild(from, other); value != nil {
			return found{key: key, value: value}, true
		}
	}
	if c, ok := t.origins.Cleared[from][segment.Key]; ok {
		return found{key: c.Key, value: c.Value}, true // the missing value was removed here
	}
	return found{}, false
}

// addSpelling records another spelling of a field in the files, so that lookups by its own name
// find it.
func (t *tree) addSpelling(name, other string) {
	if t.spellings == nil {
		t.spellings = map[string][]string{}
	}
	if !slices.Contains(t.spellings[name], other) {
		t.spellings[name] = append(t.spellings[name], other)
	}
}

// findChild finds a key; large mappings are indexed on first use.
func (t *tree) findChild(from *yamltree.Node, name string) (key, value *yamltree.Node) {
	const large = 128
	if len(from.Children) < large {
		return from.FindField(name)
	}
	known, ok := t.index[from]
	if !ok {
		known = make(map[string]int, len(from.Children)/2)
		for i := 0; i+1 < len(from.Children) && from.Kind == yamltree.Mapping; i += 2 {
			known[from.Children[i].Text] = i
		}
		if t.index == nil {
			t.index = map[*yamltree.Node]map[string]int{}
		}
		t.index[from] = known
	}
	if i, ok := known[name]; ok {
		return from.Children[i], from.Children[i+1]
	}
	return nil, nil
}

// findTarget returns the key or value that a diagnostic with the code refers to.
func (t *tree) findTarget(code diag.Code, path string) (*yamltree.Node, bool) {
	at, ok := t.findPath(path)
	switch n := at.value; {
	case !ok:
		return nil, false
	case at.key == nil:
		return n, true
	case !at.exact, n.Kind == yamltree.Null && n.Text == "":
		return at.key, true // not the whole record, and not nothing
	case code.MarksKey() && !namesItself(code, n):
		return at.key, true
	default:
		return n, true
	}
}

// locateSpan returns the span for a diagnostic's code and path.
func (t *tree) locateSpan(code diag.Code, path string) (diag.Span, bool) {
	n, ok := t.findTarget(code, path)
	if !ok || int(n.Document) >= len(t.documents) {
		return diag.Span{}, false
	}
	return t.documents[n.Document].SpanOfNode(t.origins.AsWritten(n)), true
}

// namesItself reports whether a value is itself the id that a diagnostic is about, such as the name
// of a remote source.
func namesItself(code diag.Code, n *yamltree.Node) bool {
	return (code == diag.InvalidID || code == diag.DuplicateID) && n.Kind == yamltree.String
}

// placeCode returns the code that locates a diagnostic. For a diagnostic about a key it is a code
// that marks keys.
func placeCode(d *diag.Diagnostic) diag.Code {
	if d.OfKey {
		return diag.UnknownField
	}
	return d.Code
}

// fillSpans fills in a diagnostic's missing positions.
func (t *tree) fillSpans(d *diag.Diagnostic) {
	if d.Line == 0 && d.Path != "" {
		if span, ok := t.locateSpan(placeCode(d), d.Path); ok {
			d.Span = span
		}
	}
	d.Related = slices.Clone(d.Related) // the caller keeps its own
	t.relateOverlay(d)
	for i := range d.Related {
		r := &d.Related[i]
		if r.Line != 0 || r.Path == "" {
			continue
		}
		if span, ok := t.locateSpan("", r.Path); ok {
			r.Span = span
		}
	}
}
