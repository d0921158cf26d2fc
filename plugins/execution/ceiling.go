package execution

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/agentruntime/agentruntime/internal/panics"
	"github.com/agentruntime/agentruntime/plugins"
)

// Ceiling returns the gates that also apply to the agent's delegates.
func (e *Env) Ceiling() []plugins.CeilingGate {
	var gates []plugins.CeilingGate
	for i := range e.gates {
		if g, ok := e.gates[i].gate.(plugins.CeilingGate); ok {
			gates = append(gates, g)
		}
	}
	return gates
}

// CeilingVerdict returns the strictest verdict of the agent's ceiling gates on a tool
// of its delegates.
func (e *Env) CeilingVerdict(toolID string) (strictest plugins.Verdict) {
	if e == nil {
		return plugins.Verdict{}
	}
	for i := range e.gates {
		if _, ok := e.gates[i].gate.(plugins.CeilingGate); !ok {
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

// CeilingWidening compares the gates' limits for delegates with an earlier environment, as
// Widening does for the agent's own calls.
func (e *Env) CeilingWidening(before *Env, toolID string, settingsChanged bool) plugins.Widening {
	return compareOwned(before.ownedCeilings(), e.ownedCeilings(), comparer{
		verdict: func(g plugins.Gate) plugins.Verdict { return ceilingVerdict(g, toolID) },
		compare: func(was, is plugins.Gate) plugins.Widening { return compareCeilings(was, is, toolID, settingsChanged) },
	})
}

// ownedCeilings returns the ceiling gates by plugin.
func (e *Env) ownedCeilings() map[string][]plugins.Gate {
	m := e.ownedGates()
	for owner, gates := range m {
		m[owner] = slices.DeleteFunc(gates, func(g plugins.Gate) bool { _, ok := g.(plugins.CeilingGate); return !ok })
	}
	return m
}

// ceilingVerdict returns a ceiling gate's verdict on a tool of a delegate.
func ceilingVerdict(gate plugins.Gate, toolID string) plugins.Verdict {
	if ceiling, ok := gate.(plugins.CeilingDiffGate); ok {
		return askVerdict(func() plugins.Verdict { return ceiling.CeilingVerdict(toolID) })
	}
	return staticVerdict(gate, toolID)
}

// compareCeilings compares the limits for delegates of two gates of one plugin.
func compareCeilings(was, is plugins.Gate, toolID string, settingsChanged bool) (w plugins.Widening) {
	ceiling, ok := is.(plugins.CeilingDiffGate)
	if !ok {
		return compareGates(was, is, toolID, settingsChanged)
	}
	defer panics.Handle(func(p *panics.Error) { w = incomparableGates(p) })
	return ceiling.CeilingWidening(was, toolID)
}

// comparer compares gates of one tool.
type comparer struct {
	// verdict returns a gate's decision without a call.
	verdict func(plugins.Gate) plugins.Verdict
	// compare compares two gates of one plugin.
	compare func(was, is plugins.Gate) plugins.Widening
}

// compareOwned compares the gates of two environments, plugin by plugin. The gates of a plugin that
// only one environment has are compared by their verdicts.
func compareOwned(old, now map[string][]plugins.Gate, by comparer) (all plugins.Widening) {
	note := func(w plugins.Widening) {
		if w.Reason != "" && (all.Reason == "" || w.Widened && !all.Widened) {
			all.Reason = w.Reason
		}
		all.Widened, all.Narrowed = all.Widened || w.Widened, all.Narrowed || w.Narrowed
	}
	for _, owner := range slices.Sorted(maps.Keys(old)) {
		for i, was := range old[owner] {
			if i < len(now[owner]) {
				note(by.compare(was, now[owner][i]))
			} else if v := by.verdict(was); v.Access != plugins.AccessAllow {
				note(plugins.Widening{Widened: true, Reason: fmt.Sprintf("plugin %s, which decided by %s, is gone", owner, cmp.Or(v.Rule, v.Access.String()))})
			}
		}
	}
	for _, owner := range slices.Sorted(maps.Keys(now)) {
		for _, is := range now[owner][min(len(now[owner]), len(old[owner])):] {
			if v := by.verdict(is); v.Access != plugins.AccessAllow {
				note(plugins.Widening{Narrowed: true, Reason: fmt.Sprintf("plugin %s decides by %s", owner, cmp.Or(v.Rule, v.Access.String()))})
			}
		}
	}
	return all
}
