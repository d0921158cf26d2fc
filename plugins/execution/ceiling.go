package execution

import (
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
