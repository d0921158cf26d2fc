// Package access classifies every agent field by how changing it affects the agent's access.
// Diffs, patches and tenant overlays all use this table.
package access

import (
	"strings"

	"github.com/agentruntime/agentruntime/spec"
)

// Class is the effect of setting a field.
type Class string

// The classes. A change in the other direction has the opposite effect.
const (
	// Narrowing fields restrict an agent: setting one, or a stricter value, allows less.
	Narrowing Class = "narrowing"
	// Widening fields grant something: setting one, or a greater value, allows more.
	Widening Class = "widening"
	// Neutral fields do not affect access.
	Neutral Class = "neutral"
)

// Right is the way a tenant's overlay may change an agent's field.
type Right string

// The rights of overlays.
const (
	// MayChange allows every change.
	MayChange Right = "any change"
	// MayNarrow allows changes that do not widen; others need tenants.may.fields.
	MayNarrow Right = "narrow, or `may.fields`"
	// MayLowerBudgets allows lower budgets; higher ones need tenants.may.max_budget.
	MayLowerBudgets Right = "narrow, or `may.max_budget`"
	// MayChooseModels allows the models of tenants.may.models.
	MayChooseModels Right = "`may.models`"
	// MaySetSections allows permission, and the sections of tenants.may.sections.
	MaySetSections Right = "`permission`, or `may.sections`"
	// MayNarrowTools allows fewer tools; others need tenants.may.tools.
	MayNarrowTools Right = "narrow, or `may.tools`"
	// MayNotChange allows no change.
	MayNotChange Right = "never"
)

// Field is a field of an agent, or of a record in one.
type Field struct {
	// Path names the field in a configuration, without elements of lists and mappings, as in
	// stop_conditions.rounds.
	Path  string
	Class Class
	// Widens describes the changes that widen access; empty for neutral fields.
	Widens string
	// Overlay is the right of overlays.
	Overlay Right

	// whole is set if the field includes all fields below it.
	whole bool
	// widens reports whether a change widens access. It is nil for neutral fields, and
	// for those whose effect shows only when the agent is resolved.
	widens func(before, after *spec.Agent) bool
}

// Top returns the agent's top-level field that contains the field.
func (f *Field) Top() string {
	top, _, _ := strings.Cut(f.Path, ".")
	return top
}
