package tree

import (
	"slices"

	"github.com/agentruntime/agentruntime/diag"
)

// LocateSpan returns the span for a diagnostic's code and path.
func (t *Tree) LocateSpan(code diag.Code, path string) (diag.Span, bool) {
	n, ok := t.FindTarget(code, path)
	if !ok || int(n.Document) >= len(t.Documents) {
		return diag.Span{}, false
	}
	return t.Documents[n.Document].SpanOfNode(t.Origins.AsWritten(n)), true
}

// PlaceCode returns the code that locates a diagnostic. For a diagnostic about a key it is a code
// that marks keys.
func PlaceCode(d *diag.Diagnostic) diag.Code {
	if d.OfKey {
		return diag.UnknownField
	}
	return d.Code
}

// FillSpans fills in a diagnostic's missing positions.
func (t *Tree) FillSpans(d *diag.Diagnostic) {
	if d.Line == 0 && d.Path != "" {
		if span, ok := t.LocateSpan(PlaceCode(d), d.Path); ok {
			d.Span = span
		}
	}
	d.Related = slices.Clone(d.Related) // the caller keeps its own
	t.RelateOverlay(d)
	for i := range d.Related {
		r := &d.Related[i]
		if r.Line != 0 || r.Path == "" {
			continue
		}
		if span, ok := t.LocateSpan("", r.Path); ok {
			r.Span = span
		}
	}
}
