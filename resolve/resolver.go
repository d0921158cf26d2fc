package resolve

import (
	"github.com/agentruntime/agentruntime/diag"
)

// resolver runs the stages for an agent in a revision and fills its template. Later revisions may
// share the template, so it refers to neither the index nor the trace.
type resolver struct {
	*template
	index *index
	trace *Trace
}

// failAll reports diagnostics with paths below the agent.
func (r *resolver) failAll(list diag.List) {
	for _, d := range list {
		d.Path = r.pathOf(d.Path)
		r.addError(d.ForAgent(r.agent.ID))
	}
}

// failBelow reports the errors of a record that the agent uses. Check reports them for
// the record itself; in an unchecked revision nothing else does.
func (r *resolver) failBelow(path string, list diag.List) {
	for _, d := range list {
		d.Path = diag.Join(path, d.Path)
		r.addError(d.ForAgent(r.agent.ID))
	}
}

// warnIneffective warns about a part of the agent, except parts from the defaults.
func (r *resolver) warnIneffective(rel, format string, args ...any) {
	r.warnIneffectiveHint("", rel, format, args...)
}

func (r *resolver) warnIneffectiveHint(hint, rel, format string, args ...any) {
	if path := r.pathOf(rel); r.origin == nil || path == diag.Join(r.base, rel) {
		r.addWarning(diag.New(diag.NoEffect, path, format, args...).WithHint("%s", hint))
	}
}
