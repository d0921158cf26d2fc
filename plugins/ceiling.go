package plugins

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// CeilingDiffGate is implemented by ceiling gates that can tell what they hold
// delegates to without a call, and compare it with the gate of the same plugin in
// an earlier revision. It is called for tools that a delegate has; what cannot
// be compared is widened. A ceiling gate that does not implement it is judged as
// it judges the agent's own calls.
type CeilingDiffGate interface {
	CeilingGate
	// CeilingVerdict tells what Ceiling decides about a tool.
	CeilingVerdict(toolID string) Verdict
	// CeilingWidening compares what Ceiling decides about a tool with what that of
	// the earlier gate did.
	CeilingWidening(before Gate, toolID string) Widening
}

// Ceiling returns the gates that the agent's delegates are held to.
func (e *ExecutionEnv) Ceiling() []CeilingGate {
	var gates []CeilingGate
	for i := range e.gates {
		if g, ok := e.gates[i].gate.(CeilingGate); ok {
			gates = append(gates, g)
		}
	}
	return gates
}

// CeilingVerdict returns what the agent's gates can tell about a tool of its
// delegates: the strictest verdict of those that hold delegates to anything.
func (e *ExecutionEnv) CeilingVerdict(toolID string) (strictest Verdict) {
	if e == nil {
		return Verdict{}
	}
	for i := range e.gates {
		if _, ok := e.gates[i].gate.(CeilingGate); !ok {
			continue
		}
		v := ceilingVerdict(e.gates[i].gate, toolID)
		if v.Access > strictest.Access || strictest.Plugin == "" {
			v.Plugin = e.gates[i].owner
			strictest = v
		}
	}
	return strictest
}

// CeilingWidening compares what the gates hold delegates to with what those of
// an earlier environment did, as Widening compares what they say of the agent's
// own calls.
func (e *ExecutionEnv) CeilingWidening(before *ExecutionEnv, toolID string, settingsChanged bool) Widening {
	return compareOwned(before.ownedCeilings(), e.ownedCeilings(), comparer{
		verdict: func(g Gate) Verdict { return ceilingVerdict(g, toolID) },
		compare: func(was, is Gate) Widening { return compareCeilings(was, is, toolID, settingsChanged) },
	})
}

// ownedCeilings returns the gates that hold delegates to anything, by the plugin
// that they belong to.
func (e *ExecutionEnv) ownedCeilings() map[string][]Gate {
	m := e.ownedGates()
	for owner, gates := range m {
		m[owner] = slices.DeleteFunc(gates, func(g Gate) bool { _, ok := g.(CeilingGate); return !ok })
	}
	return m
}

// ceilingVerdict returns what a ceiling gate tells of a tool of a delegate.
func ceilingVerdict(gate Gate, toolID string) Verdict {
	if ceiling, ok := gate.(CeilingDiffGate); ok {
		return foretell(func() Verdict { return ceiling.CeilingVerdict(toolID) })
	}
	return staticVerdict(gate, toolID)
}

// compareCeilings compares what two gates of one plugin hold delegates to.
func compareCeilings(was, is Gate, toolID string, settingsChanged bool) (w Widening) {
	ceiling, ok := is.(CeilingDiffGate)
	if !ok {
		return compareGates(was, is, toolID, settingsChanged)
	}
	defer refuseComparison(&w)
	return ceiling.CeilingWidening(was, toolID)
}

// comparer compares gates of one tool.
type comparer struct {
	// verdict tells what a gate decides without a call.
	verdict func(Gate) Verdict
	// compare compares two gates of one plugin.
	compare func(was, is Gate) Widening
}

// compareOwned compares the gates of two environments, plugin by plugin. The gates
// of a plugin that only one of them has count by their verdicts.
func compareOwned(old, now map[string][]Gate, by comparer) (all Widening) {
	note := func(w Widening) {
		if w.Reason != "" && (all.Reason == "" || w.Widened && !all.Widened) {
			all.Reason = w.Reason
		}
		all.Widened, all.Narrowed = all.Widened || w.Widened, all.Narrowed || w.Narrowed
	}
	for _, owner := range slices.Sorted(maps.Keys(old)) {
		for i, was := range old[owner] {
			if i < len(now[owner]) {
				note(by.compare(was, now[owner][i]))
			} else if v := by.verdict(was); v.Access != AccessAllow {
				note(Widening{Widened: true, Reason: fmt.Sprintf("plugin %s, which decided by %s, is gone", owner, cmp.Or(v.Rule, v.Access.String()))})
			}
		}
	}
	for _, owner := range slices.Sorted(maps.Keys(now)) {
		for _, is := range now[owner][min(len(now[owner]), len(old[owner])):] {
			if v := by.verdict(is); v.Access != AccessAllow {
				note(Widening{Narrowed: true, Reason: fmt.Sprintf("plugin %s decides by %s", owner, cmp.Or(v.Rule, v.Access.String()))})
			}
		}
	}
	return all
}
