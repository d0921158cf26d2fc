package overlay

import (
	"slices"

	"github.com/agentruntime/agentruntime/internal/yamltree"
)

// MaxFields limits the total number of fields in merged collections.
const MaxFields = 2 * yamltree.MaxNodes

// Merger merges entries field by field, like a JSON merge patch (RFC 7396): absent fields
// stay, null removes a field, mappings are merged, everything else is replaced. Nodes of files stay
// unchanged.
type Merger struct {
	*Origins
	// By is the origin of the upper part; Base is the agent from which the lower part is
	// inherited, if any.
	By   Origin
	Base string
	// Replaced is called with values that are no longer part of the configuration.
	Replaced func(key, value *yamltree.Node)
	// Left is the number of fields that may still be merged.
	Left *int
}

// MergeInto returns base with the fields of over on top. For fields selected by isValue, which
// applies only to the outermost level, null is a value.
func (m *Merger) MergeInto(base, over *yamltree.Node, isValue func(name string) bool) *yamltree.Node {
	merged := &yamltree.Node{Kind: yamltree.Mapping, Style: over.Style, Document: over.Document, Line: over.Line, Column: over.Column}
	lower := over
	if base != nil && base.Kind == yamltree.Mapping {
		lower = base
		*merged = *base
		merged.Children = slices.Clone(base.Children)
	}
	m.Written[merged] = m.AsWritten(lower)
	m.inheritOrigins(merged, base)
	*m.Left -= len(merged.Children)/2 + len(over.Children)/2
	if *m.Left < 0 {
		return merged
	}
	fields := newFieldIndex(merged)
	for name, c := range m.Cleared[over] {
		m.clearField(merged, fields, name, c)
	}
	for key, value := range over.Pairs {
		by, known := m.Fields[over][key.Text]
		if !known {
			by = m.By
		}
		if value.Kind == yamltree.Null && (isValue == nil || !isValue(key.Text)) {
			m.clearField(merged, fields, key.Text, Clearing{key, value, by})
		} else {
			m.mergeField(merged, fields, key, value, by)
		}
	}
	fields.dropRemoved()
	return merged
}

// clearField removes a field.
func (m *Merger) clearField(merged *yamltree.Node, fields *fieldIndex, name string, c Clearing) {
	m.SetCleared(merged, name, c)
	if at, have := fields.find(name); have {
		m.noteReplaced(merged.Children[at], merged.Children[at+1])
		fields.remove(at)
	}
}

// mergeField merges one field of the upper part.
func (m *Merger) mergeField(merged *yamltree.Node, fields *fieldIndex, key, value *yamltree.Node, by Origin) {
	var below *yamltree.Node
	if at, have := fields.find(key.Text); have {
		below = merged.Children[at+1]
		switch {
		case value.Kind != yamltree.Mapping || below.Kind != yamltree.Mapping:
			m.noteReplaced(merged.Children[at], below)
		default:
			key, by = merged.Children[at], m.Fields[merged][key.Text]
		}
	}
	m.setOrigin(merged, key.Text, by)
	delete(m.Cleared[merged], key.Text)
	if value.Kind == yamltree.Mapping {
		value = m.MergeInto(below, value, nil)
	}
	fields.set(key, value)
}

func (m *Merger) noteReplaced(key, value *yamltree.Node) {
	if m.Replaced != nil {
		m.Replaced(key, value)
	}
}

// inheritOrigins copies a base collection's origins to the merged one.
func (m *Merger) inheritOrigins(merged, base *yamltree.Node) {
	if base == nil || base.Kind != yamltree.Mapping {
		return
	}
	for key := range base.Pairs {
		o := m.Fields[base][key.Text]
		if m.Base != "" && o.From == "" {
			o.From = m.Base
		}
		m.setOrigin(merged, key.Text, o)
	}
	for name, c := range m.Cleared[base] {
		if m.Base != "" && c.Origin.From == "" {
			c.Origin.From = m.Base
		}
		m.SetCleared(merged, name, c)
	}
}
