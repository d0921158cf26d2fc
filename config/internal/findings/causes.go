// Package findings decides which diagnostics of a configuration are shown. It drops repetitions,
// consequences of other diagnostics, and diagnostics that comments suppress.
package findings

import (
	"github.com/agentruntime/agentruntime/config/internal/keys"
	"github.com/agentruntime/agentruntime/config/internal/tree"
	"github.com/agentruntime/agentruntime/diag"
)

// Causes are the places of loading findings that later findings may follow from.
type Causes struct {
	// at are the places themselves, and below those with a faulty value.
	at, below map[string]bool
	// inside are the fields that contain such a place, and component entries with an unset
	// variable.
	inside map[string]bool
	// meant are the fields that are present under a misspelled name.
	meant map[string]bool
	consequences
}

// NewCauses returns the causes among the findings of loading a tree.
func NewCauses(load diag.List, t *tree.Tree) *Causes {
	c := &Causes{at: map[string]bool{}, below: map[string]bool{}, inside: map[string]bool{}, meant: t.Meant, consequences: newConsequences()}
	for i := range load {
		d := &load[i]
		unset := d.Code == diag.UnsetVariable
		if d.Path == "" || d.Severity != diag.Error && !unset {
			continue
		}
		c.at[d.Path] = true
		if !d.Code.MarksKey() {
			c.below[d.Path] = true
		}
		c.addEnclosingFields(d.Path, unset)
		c.addFinding(d)
	}
	c.addMissingRegistries(t.Root)
	return c
}

// AddFaulty records a faulty value.
func (c *Causes) AddFaulty(path string) { c.below[path] = true }

// addEnclosingFields records the fields around a place. A field belongs to an entry of a
// registry, or directly to the defaults or settings.
func (c *Causes) addEnclosingFields(path string, unset bool) {
	segments, ok := diag.ParsePath(path)
	if !ok {
		return
	}
	from := 3
	switch {
	case segments[0].Key == "defaults", keys.SettingNamed(segments[0].Key) != nil:
		from = 2
	case unset && (segments[0].Key == "providers" || segments[0].Key == "tools" || segments[0].Key == "plugins"):
		from = 2 // creating a component from an empty value may fail entirely
	}
	for n := from; n < len(segments); n++ {
		c.inside[diag.FormatPath(segments[:n])] = true
	}
}

// Covers reports whether a building diagnostic repeats or follows from a loading diagnostic.
func (c *Causes) Covers(d diag.Diagnostic) bool {
	if d.Path == "" {
		return false
	}
	if c.isConsequence(d) || c.at[d.Path] || c.inside[d.Path] || c.meant[d.Path] && d.Code == diag.MissingField {
		return true
	}
	if len(c.below) == 0 {
		return false
	}
	segments, ok := diag.ParsePath(d.Path)
	if !ok {
		return false
	}
	for n := 1; n < len(segments); n++ {
		if c.below[diag.FormatPath(segments[:n])] {
			return true
		}
	}
	return false
}
