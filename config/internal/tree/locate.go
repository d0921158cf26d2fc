package tree

import (
	"slices"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/yamltree"
)

// Location is the value at a path in the files.
type Location struct {
	Key, Value *yamltree.Node
	// Exact reports whether the whole path exists, not only its beginning.
	Exact bool
}

// FindPath follows a path until a segment is missing.
func (t *Tree) FindPath(path string) (Location, bool) {
	segments, ok := diag.ParsePath(path)
	if !ok || t.Root == nil {
		return Location{}, false
	}
	at := Location{Value: t.Root}
	for i, segment := range segments {
		next, ok := t.followSegment(at.Value, segment)
		if !ok {
			return at, i > 0 && (at.Key != nil || at.Value != t.Root)
		}
		at = next
	}
	at.Exact = true
	return at, len(segments) > 0
}

// followSegment follows one path segment from a node.
func (t *Tree) followSegment(from *yamltree.Node, segment diag.Segment) (Location, bool) {
	if segment.IsIndex {
		if from.Kind != yamltree.Sequence || segment.Index >= len(from.Children) {
			return Location{}, false
		}
		return Location{Value: from.Children[segment.Index]}, true
	}
	if key, value := t.FindChild(from, segment.Key); value != nil {
		return Location{Key: key, Value: value}, true
	}
	for _, other := range t.spellings[segment.Key] {
		if key, value := t.FindChild(from, other); value != nil {
			return Location{Key: key, Value: value}, true
		}
	}
	if c, ok := t.Origins.Cleared[from][segment.Key]; ok {
		return Location{Key: c.Key, Value: c.Value}, true // the missing value was removed here
	}
	return Location{}, false
}

// AddSpelling records another spelling of a field in the files, so that lookups by its own name
// find it.
func (t *Tree) AddSpelling(name, other string) {
	if t.spellings == nil {
		t.spellings = map[string][]string{}
	}
	if !slices.Contains(t.spellings[name], other) {
		t.spellings[name] = append(t.spellings[name], other)
	}
}

// FindChild finds a key; large mappings are indexed on first use.
func (t *Tree) FindChild(from *yamltree.Node, name string) (key, value *yamltree.Node) {
	const large = 128
	if len(from.Children) < large {
		return from.FindField(name)
	}
	known, ok := t.index[from]
	if !ok {
		known = from.IndexFields()
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

// FindRegistry returns a registry, or nil.
func (t *Tree) FindRegistry(name string) *yamltree.Node {
	_, value := t.Root.FindField(name)
	return value
}

// FindEntry returns an entry of a registry, or nil.
func (t *Tree) FindEntry(registry, id string) *yamltree.Node {
	in := t.FindRegistry(registry)
	if in == nil {
		return nil
	}
	_, value := t.FindChild(in, id)
	return value
}

// FindTarget returns the key or value that a diagnostic with the code refers to.
func (t *Tree) FindTarget(code diag.Code, path string) (*yamltree.Node, bool) {
	at, ok := t.FindPath(path)
	switch n := at.Value; {
	case !ok:
		return nil, false
	case at.Key == nil:
		return n, true
	case !at.Exact, n.Kind == yamltree.Null && n.Text == "":
		return at.Key, true // not the whole record, and not nothing
	case code.MarksKey() && !namesItself(code, n):
		return at.Key, true
	default:
		return n, true
	}
}

// namesItself reports whether a value is itself the id that a diagnostic is about, such as the name
// of a remote source.
func namesItself(code diag.Code, n *yamltree.Node) bool {
	return (code == diag.InvalidID || code == diag.DuplicateID) && n.Kind == yamltree.String
}
