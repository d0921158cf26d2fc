package overlay

import "github.com/agentruntime/agentruntime/internal/yamltree"

// Origins records how values of merged collections were decided. All maps are keyed by collections
// created by a merge.
type Origins struct {
	// Written maps to the collections as written in the files.
	Written map[*yamltree.Node]*yamltree.Node
	// Fields holds the fields that do not come from the entry itself.
	Fields map[*yamltree.Node]map[string]Origin
	// Cleared holds the removed fields, with the key and the null that removed them.
	Cleared map[*yamltree.Node]map[string]Clearing
}

// NewOrigins returns a record without merges.
func NewOrigins() Origins {
	return Origins{Written: map[*yamltree.Node]*yamltree.Node{}, Fields: map[*yamltree.Node]map[string]Origin{}, Cleared: map[*yamltree.Node]map[string]Clearing{}}
}

// Origin records the source of an entry's field that does not come from the entry itself.
type Origin struct {
	// Patched reports whether a patch decided the field.
	Patched bool
	// From is the agent that the field is inherited from, if any.
	From string
}

// Clearing is the key and the null that removed a field.
type Clearing struct {
	Key, Value *yamltree.Node
	Origin     Origin
}

// setOrigin records the source of a field.
func (o *Origins) setOrigin(merged *yamltree.Node, name string, by Origin) {
	if by == (Origin{}) {
		delete(o.Fields[merged], name)
		return
	}
	if o.Fields[merged] == nil {
		o.Fields[merged] = map[string]Origin{}
	}
	o.Fields[merged][name] = by
}

// SetCleared records that a field was removed.
func (o *Origins) SetCleared(merged *yamltree.Node, name string, c Clearing) {
	if o.Cleared[merged] == nil {
		o.Cleared[merged] = map[string]Clearing{}
	}
	o.Cleared[merged][name] = c
	delete(o.Fields[merged], name)
}

// AsWritten returns the file's collection that a merged one started from, or the node itself.
func (o *Origins) AsWritten(n *yamltree.Node) *yamltree.Node {
	if written, ok := o.Written[n]; ok {
		return written
	}
	return n
}

// Share copies the recorded origins to a partial copy of a merged collection.
func (o *Origins) Share(copied, from *yamltree.Node) {
	if copied == from {
		return
	}
	o.Written[copied] = o.AsWritten(from)
	if origins, ok := o.Fields[from]; ok {
		o.Fields[copied] = origins
	}
	if cleared, ok := o.Cleared[from]; ok {
		o.Cleared[copied] = cleared
	}
}
