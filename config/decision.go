package config

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/config/internal/keys"
	"github.com/agentruntime/agentruntime/config/internal/overlay"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/yamltree"
)

// Decision is the place that decides one field of an entry.
type Decision struct {
	// Field is the field's name. Fields of merged mappings and sections are named individually, as
	// in budgets.max_tokens.
	Field string `json:"field"`
	// Place is file:line:column, or the path in a document.
	Place string `json:"place"`
	// From is the agent that the field is inherited from, if any.
	From string `json:"inherited_from,omitempty"`
	// Patched is set if a patch decided the field.
	Patched bool `json:"patched,omitempty"`
	// Cleared is set if the field was removed there.
	Cleared bool `json:"cleared,omitempty"`
}

// Decisions returns where each field of an extending or patched agent was decided, in field order.
// For others it returns nil: their fields are decided in place.
func (f *File) Decisions(agentID string) []Decision {
	return f.decisions(agentID, func(key *yamltree.Node, _ string) string {
		return f.tree.Documents[key.Document].SpanOfNode(key).Place()
	})
}

// DocumentDecisions is Decisions with paths instead of file positions, for readers that have the
// files as documents. Paths in the second of two documents begin with its name.
func (f *File) DocumentDecisions(agentID, second string) []Decision {
	if f.isEdited() {
		f = f.readAgent(agentID)
	}
	return f.decisions(agentID, func(key *yamltree.Node, path string) string {
		if key.Document > 0 {
			return second + ": " + path
		}
		return path
	})
}

func (f *File) decisions(agentID string, place func(key *yamltree.Node, path string) string) []Decision {
	if f.tree.Root == nil {
		return nil
	}
	entry := f.tree.FindEntry(keys.Agents, agentID)
	if _, merged := f.tree.Origins.Written[entry]; !merged {
		return nil
	}
	c := &decisions{file: f, agent: agentID, place: place}
	c.addFields("", entry)
	return c.list
}

// decisions collects where the fields of an agent were decided.
type decisions struct {
	file  *File
	agent string
	place func(key *yamltree.Node, path string) string
	list  []Decision
}

// addFields adds the decisions for the fields of one of the agent's mappings. In merged mappings,
// each field has its own decision.
func (c *decisions) addFields(parent string, in *yamltree.Node) {
	f := c.file
	for key, value := range in.Pairs {
		field := diag.Key(parent, key.Text)
		_, merged := f.tree.Origins.Written[value]
		switch {
		case field == keys.Extends, keys.IsExtension(key.Text):
		case merged, field == "sections" && value.Kind == yamltree.Mapping:
			c.addFields(field, value)
		default:
			path, _ := diag.ParsePath(diag.Join(diag.Key(keys.Agents, c.agent), field))
			c.addField(key, field, f.tree.DecidedBy(path), false)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(f.tree.Origins.Cleared[in])) {
		cleared := f.tree.Origins.Cleared[in][name]
		c.addField(cleared.Key, diag.Key(parent, name), cleared.Origin, true)
	}
}

func (c *decisions) addField(key *yamltree.Node, field string, by overlay.Origin, isCleared bool) {
	path := diag.Join(diag.Key(keys.Agents, cmp.Or(by.From, c.agent)), field)
	if by.Patched {
		path = diag.Join(keys.Patches, path)
	}
	c.list = append(c.list, Decision{Field: field, Place: c.place(key, path), From: by.From, Patched: by.Patched, Cleared: isCleared})
}

// DecidedPath returns the path that decided the value at a path, which may be in a patch.
func (f *File) DecidedPath(path string) string {
	segments, ok := diag.ParsePath(path)
	if !ok || len(segments) < 3 || f.tree.Root == nil {
		return path
	}
	by := f.tree.DecidedBy(segments)
	if !by.Patched {
		return path
	}
	registry, id := segments[0].Key, segments[1].Key
	rest := strings.TrimPrefix(path[len(diag.Key(registry, id)):], ".")
	return diag.Join(keys.Patches, diag.Join(diag.Key(registry, cmp.Or(by.From, id)), rest))
}
