package permission

import (
	"fmt"
	"slices"

	"github.com/agentruntime/agentruntime/internal/panics"
	"github.com/agentruntime/agentruntime/plugins"
)

// Widening compares the rules for a tool with an earlier revision: for the agent's own calls, and
// for its delegates' calls, to which an asking default does not apply.
func (g *gate) Widening(before plugins.Gate, toolID string) plugins.Widening {
	return g.compareWith(before, toolID, false, true)
}

// CeilingWidening compares the rules for the agent's delegates with an earlier revision.
func (g *gate) CeilingWidening(before plugins.Gate, toolID string) plugins.Widening {
	return g.compareWith(before, toolID, true)
}

// compareWith compares the rules with earlier ones: for the agent itself, for its delegates, or
// both.
func (g *gate) compareWith(before plugins.Gate, toolID string, ceilings ...bool) (w plugins.Widening) {
	was, ok := before.(*gate)
	if !ok {
		return plugins.Widening{Widened: true, Narrowed: true, Reason: "the plugin was another one"}
	}
	defer panics.Handle(func(p *panics.Error) {
		w = plugins.Widening{Widened: true, Narrowed: true, Reason: fmt.Sprintf("the rules cannot be compared: %v", p.Value)}
	})
	for _, ceiling := range ceilings {
		c := newComparison(was.policy, g.policy, toolID, ceiling)
		if c == nil {
			return plugins.Widening{Widened: true, Narrowed: true, Reason: "so many rules for one tool cannot be compared"}
		}
		wider, stricter := c.findStricter(&c.before, &c.after), c.findStricter(&c.after, &c.before)
		if wider != nil && !w.Widened {
			w.Widened, w.Reason = true, c.describeChange(wider.other, wider.way)
		}
		if stricter != nil {
			if !w.Widened && !w.Narrowed {
				w.Reason = c.describeChange(stricter.way, stricter.other)
			}
			w.Narrowed = true
		}
	}
	return w
}

// A policy is compared by the ways in which it can decide. A way is a rule, or the default, and the
// state that each rule's arguments must be in for it to decide: rules that beat it must not match.
// Two ways, one of each policy, are compatible if their states are. The rules are widened if a way
// of the new policy is compatible with a stricter one of the old.
//
// The arguments of two rules count as independent unless one is known to imply the other. That may
// find an impossible call, but never misses a possible one.

// states is the set of states that a rule's arguments may be in: not matching, undecided, which
// only a cautious rule counts as a match, or matching.
type states uint8

const (
	not       states = 1 << iota // no rule with these arguments fits
	undecided                    // only a cautious one does
	fitting                      // any does
	anyState  = not | undecided | fitting
)

// comparison compares two policies for one tool.
type comparison struct {
	before, after situation
	// rules are the rules with conditions on arguments, one for each group of equivalent rules.
	rules []*Rule
	// implied are pairs of rules: arguments that match the first match the second.
	implied [][2]int
	ceiling bool
}

// situation is one of the policies.
type situation struct {
	policy  *policy
	entries []*entry
	// rule is the number of each entry's rule; -1 if it has no conditions on arguments.
	rule []int
}

// way is one way to decide a call: by an entry, nil for the default, and with each rule in one of
// some states.
type way struct {
	entry *entry
	level int
	need  []states
}

// maxCompared is the maximum number of steps for comparing the rules for one tool.
const maxCompared = 4_000_000

// newComparison returns the comparison of two policies; nil if it takes too many steps.
func newComparison(before, after *policy, tool string, ceiling bool) *comparison {
	c := &comparison{ceiling: ceiling}
	known := make(map[string]int)
	c.before.policy, c.after.policy = before, after
	for _, s := range []*situation{&c.before, &c.after} {
		p := s.policy
		for i := range p.entries {
			e := &p.entries[i]
			if !e.MatchesTool(tool) {
				continue
			}
			number := -1
			if e.Conditional() {
				text := e.argumentsText()
				if _, ok := known[text]; !ok {
					known[text] = len(c.rules)
					c.rules = append(c.rules, &e.Rule)
				}
				number = known[text]
			}
			s.entries, s.rule = append(s.entries, e), append(s.rule, number)
		}
	}
	if c.isTooLarge() {
		return nil
	}
	for i, r := range c.rules {
		for j, other := range c.rules {
			if i != j && r.impliesRule(other) {
				c.implied = append(c.implied, [2]int{i, j})
			}
		}
	}
	if c.isTooLarge() {
		return nil
	}
	return c
}

// isTooLarge reports whether comparing all ways takes too many steps. Equal policies are
// compared as if they had no rules.
func (c *comparison) isTooLarge() bool {
	steps := len(c.rules) + len(c.implied) + 1
	for _, s := range []*situation{&c.before, &c.after} {
		asks := 1
		for _, e := range s.entries {
			if e.behavior == Ask && e.Conditional() {
				asks++
			}
		}
		if steps *= (len(s.entries) + 1) * asks; steps > maxCompared {
			return !c.dropEqual()
		}
	}
	return false
}

// dropEqual drops the rules of both policies if they are equal.
func (c *comparison) dropEqual() bool {
	same := func(a, b *entry) bool { return a.text == b.text && a.behavior == b.behavior && a.scope == b.scope }
	if c.before.policy.fallback != c.after.policy.fallback || !slices.EqualFunc(c.before.entries, c.after.entries, same) {
		return false
	}
	c.before.entries, c.after.entries, c.rules, c.implied = nil, nil, nil, nil
	return true
}

// listWays returns all ways in which a policy can decide.
func (c *comparison) listWays(s *situation) (all []way) {
	for sure := range len(s.entries) + 1 {
		all = c.addWay(all, s, sure, sure)
		for asks := range s.entries {
			if e := s.entries[asks]; asks != sure && e.behavior == Ask && e.Conditional() {
				all = c.addWay(all, s, sure, asks)
			}
		}
	}
	return all
}

// addWay adds the situation in which entry sure certainly applies, and entry asks applies if it is
// undecidable; without an asking override both are the same. The number after the last entry is the
// default.
func (c *comparison) addWay(all []way, s *situation, sure, asks int) []way {
	w := way{need: slices.Repeat([]states{anyState}, len(c.rules))}
	possible := true
	// restrict limits an entry to some states of its arguments.
	restrict := func(i int, to states) {
		if i == len(s.entries) {
			return
		}
		if s.rule[i] < 0 {
			possible = possible && to&fitting != 0
		} else {
			w.need[s.rule[i]] &= to
		}
	}
	decider := func(i int) *entry {
		if i == len(s.entries) {
			return nil
		}
		return s.entries[i]
	}
	first, second := decider(sure), decider(asks)
	restrict(sure, sureStates(first))
	if sure != asks {
		restrict(asks, undecided)
	}
	for i, e := range s.entries {
		if i != sure && i != asks && e.overrides(second) {
			restrict(i, anyState&^fittingStates(e))
		}
		if i != sure && e.overrides(first) {
			restrict(i, anyState&^sureStates(e))
		}
	}
	if !possible || slices.Contains(w.need, 0) || sure != asks && !second.overrides(first) {
		return all
	}
	if w.entry = second; s.policy.strictness(second) < s.policy.strictness(first) {
		w.entry = first
	}
	w.level = c.strictness(s, w.entry)
	return append(all, w)
}

// fittingStates returns the states in which an entry counts as fitting.
func fittingStates(e *entry) states {
	if e.behavior == Allow {
		return fitting
	}
	return undecided | fitting
}

// sureStates returns the states in which an entry certainly takes effect; a denying entry also
// does when undecided.
func sureStates(e *entry) states {
	if e != nil && e.isDenial() {
		return undecided | fitting
	}
	return fitting
}

// strictness orders the possible outcomes of a call like the policy. Delegates are not asked if
// only the default asks, and are granted single calls only.
func (c *comparison) strictness(s *situation, e *entry) int {
	level := s.policy.strictness(e)
	switch {
	case c.ceiling && level == 1 && e == nil:
		return 0
	case c.ceiling && level == 2:
		return 1
	default:
		return level
	}
}

// pair is a way of deciding, and a more permissive one of the other policy.
type pair struct{ way, other *entry }

// findStricter finds a call that one policy treats more strictly than the other.
func (c *comparison) findStricter(strict, open *situation) *pair {
	others := c.listWays(open)
	for _, w := range c.listWays(strict) {
		for _, other := range others {
			if other.level < w.level && c.isCompatible(w.need, other.need) {
				return &pair{way: w.entry, other: other.entry}
			}
		}
	}
	return nil
}

// describeChange names the rules that decide now and decided before.
func (c *comparison) describeChange(now, was *entry) string {
	text := c.after.policy.entryName(now) + " instead of " + c.before.policy.entryName(was)
	if c.ceiling {
		text += ", for delegates"
	}
	return text
}

// isCompatible reports whether one call can have the states required by both ways.
func (c *comparison) isCompatible(a, b []states) bool {
	for i := range a {
		if a[i]&b[i] == 0 {
			return false
		}
	}
	for _, p := range c.implied {
		i, j := p[0], p[1]
		if a[i]&b[i]&upTo(a[j]&b[j]) == 0 {
			return false
		}
	}
	return true
}

// upTo returns all states up to the greatest one in a set.
func upTo(in states) states {
	switch {
	case in&fitting != 0:
		return anyState
	case in&undecided != 0:
		return not | undecided
	default:
		return in
	}
}

// argumentsText returns the arguments part of a rule.
func (r *Rule) argumentsText() string {
	bare := Rule{primary: r.primary, conditions: r.conditions}
	return bare.String()
}

// impliesRule reports whether other is known to match all arguments that r matches, in either
// state.
func (r *Rule) impliesRule(other *Rule) bool {
	if r.primary != nil && other.primary != nil {
		return r.primary.isWithin(other.primary)
	}
	if len(r.conditions) == 0 || len(other.conditions) == 0 {
		return false
	}
	for i := range other.conditions {
		if !slices.ContainsFunc(r.conditions, func(c condition) bool { return c.impliesCondition(&other.conditions[i]) }) {
			return false
		}
	}
	return true
}

// impliesCondition reports whether a condition is known to hold no more often than other.
func (c *condition) impliesCondition(other *condition) bool {
	if c.path.String() != other.path.String() {
		return false
	}
	if c.String() == other.String() {
		return true
	}
	switch {
	case c.op.comparesOrder() && other.op.comparesOrder() && c.op[0] == other.op[0]:
		order := c.value.number.compare(other.value.number)
		if c.op[0] == '<' {
			order = -order
		}
		return order > 0 || order == 0 && len(other.op) == len(atLeast)
	case c.op == like && other.op == like && c.anyOne() == other.anyOne():
		return c.value.isWithin(&other.value)
	}
	some, all := c.allowedValues(), other.allowedValues()
	return some != nil && all != nil && isSubset(some, all)
}

// allowedValues returns the only values that can satisfy the condition.
func (c *condition) allowedValues() []operand {
	switch {
	case c.op == among:
		return c.value.list
	case c.op == same && c.value.kind != ofNull:
		return []operand{c.value}
	default:
		return nil
	}
}

// isSubset reports whether some is a subset of all and both have the same kinds, so that the same
// values can be compared with both.
func isSubset(some, all []operand) bool {
	has := func(list []operand, o operand) bool {
		return slices.ContainsFunc(list, func(x operand) bool { return x.String() == o.String() })
	}
	kind := func(list []operand, o operand) bool {
		return slices.ContainsFunc(list, func(x operand) bool { return x.kind == o.kind })
	}
	for _, o := range some {
		if !has(all, o) {
			return false
		}
	}
	for _, o := range all {
		if !kind(some, o) || o.kind == ofNull {
			return false
		}
	}
	return true
}
