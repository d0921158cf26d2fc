package execution

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/agentruntime/agentruntime/internal/panics"
	"github.com/agentruntime/agentruntime/plugins"
)

// Widening compares the gates' decisions on a tool with an earlier environment; settingsChanged
// is set if sections differ. Gates that cannot compare themselves are compared by their verdicts.
func (e *Env) Widening(before *Env, toolID string, settingsChanged bool) plugins.Widening {
	return compareOwned(before.ownedGates(), e.ownedGates(), comparer{
		verdict: func(g plugins.Gate) plugins.Verdict { return staticVerdict(g, toolID) },
		compare: func(was, is plugins.Gate) plugins.Widening { return compareGates(was, is, toolID, settingsChanged) },
	})
}

// ownedGates returns the gates by plugin.
func (e *Env) ownedGates() map[string][]plugins.Gate {
	m := make(map[string][]plugins.Gate)
	if e == nil {
		return m
	}
	for i := range e.gates {
		m[e.gates[i].owner] = append(m[e.gates[i].owner], e.gates[i].gate)
	}
	return m
}

// compareGates compares two gates of one plugin.
func compareGates(was, is plugins.Gate, toolID string, settingsChanged bool) (w plugins.Widening) {
	defer panics.Handle(func(p *panics.Error) { w = incomparableGates(p) })
	if gate, ok := is.(plugins.DiffGate); ok {
		return gate.Widening(was, toolID)
	}
	before, after := staticVerdict(was, toolID), staticVerdict(is, toolID)
	unclear := settingsChanged && after.Access == plugins.AccessDepends
	w.Widened, w.Narrowed = after.Access < before.Access || unclear, after.Access > before.Access || unclear
	if w.Widened || w.Narrowed {
		w.Reason = fmt.Sprintf("%s, before %s", cmp.Or(after.Rule, after.Access.String()), cmp.Or(before.Rule, before.Access.String()))
	}
	return w
}

// incomparableGates returns the comparison after a gate panicked: unknown.
func incomparableGates(p *panics.Error) plugins.Widening {
	return plugins.Widening{Widened: true, Narrowed: true, Reason: fmt.Sprintf("the gate panics: %v", p.Value)}
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
