package toolset

import (
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/tools"
)

// Set is the tools of an agent, sorted by id. It is immutable.
type Set struct {
	entries      []*Entry
	declarations []model.Tool
}

// NewSet returns a set of entries, whose ids must be unique.
func NewSet(entries []*Entry) *Set {
	s := &Set{entries: slices.Clone(entries)}
	slices.SortFunc(s.entries, func(a, b *Entry) int { return strings.Compare(a.ID, b.ID) })
	s.declarations = make([]model.Tool, len(s.entries))
	for i, e := range s.entries {
		s.declarations[i] = e.declaration
	}
	return s
}

// Len returns the number of tools in the set.
func (s *Set) Len() int { return len(s.entries) }

// Entries returns the tools sorted by id. The slice is read-only.
func (s *Set) Entries() []*Entry { return s.entries }

// Declarations returns the tools as models see them, sorted by id. The slice
// is read-only, and the same at every call.
func (s *Set) Declarations() []model.Tool { return s.declarations }

// Get returns the tool with an id, or nil.
func (s *Set) Get(id string) *Entry {
	i, found := slices.BinarySearchFunc(s.entries, id, func(e *Entry, id string) int { return strings.Compare(e.ID, id) })
	if !found {
		return nil
	}
	return s.entries[i]
}

// Instantiate returns the set with new instances of the tools of plugins, which register them at
// every resolve. A nil instance keeps the tool. The declarations stay the same.
func (s *Set) Instantiate(instance func(id string) tools.Tool) *Set {
	c := &Set{entries: slices.Clone(s.entries), declarations: s.declarations}
	for i, e := range c.entries {
		if e.Source.Kind != SourcePlugin {
			continue
		}
		if tool := instance(e.ID); tool != nil {
			c.entries[i] = e.withTool(tool)
		}
	}
	return c
}
