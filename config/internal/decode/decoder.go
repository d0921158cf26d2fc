// Package decode decodes the values of a YAML tree into records and reports each mistake at its
// place.
package decode

import (
	"reflect"
	"strings"

	"github.com/agentruntime/agentruntime/config/internal/expand"
	"github.com/agentruntime/agentruntime/config/internal/record"
	"github.com/agentruntime/agentruntime/config/internal/tree"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/yamltree"
)

// Decoder decodes trees into records. It reports errors as diagnostics and continues with the
// next value.
type Decoder struct {
	// Tree is the tree of the values. Decoding adds notes, secrets and spellings to it.
	Tree     *tree.Tree
	Expander expand.Expander
	// Strict makes an unset variable an error.
	Strict bool
	// Found are the diagnostics so far.
	Found diag.List
	// Partial is set if a top-level value cannot be used, so that definitions may be missing.
	Partial bool
	// RecordOf describes the record of an entry or of settings, and Surfaces are the protocols that
	// the program was built with.
	RecordOf func(reflect.Type) *record.Type
	Surfaces []string
}

// AddDiagnostic adds a diagnostic about the value n, or about the key of the place p if the code
// marks keys.
func (d *Decoder) AddDiagnostic(code diag.Code, p *tree.Place, n *yamltree.Node, format string, args ...any) Reported {
	if p != nil && p.Node != nil && (code.MarksKey() || n.Kind == yamltree.Null && n.Text == "") {
		n = p.Node // the key, also for an omitted value
	}
	if doc := d.Tree.Documents[n.Document]; doc.Findings > yamltree.MaxFindings {
		doc.CountFinding(code.Info().Severity) // not worth a text
		return Reported{}
	}
	return d.AddFinding(diag.New(code, p.Path(), format, args...), n)
}

// AddFinding adds a diagnostic about n. The number of diagnostics per file is limited.
func (d *Decoder) AddFinding(found diag.Diagnostic, n *yamltree.Node) Reported {
	doc := d.Tree.Documents[n.Document]
	if !doc.CountFinding(found.Severity) {
		if doc.Omitted == nil {
			found.Span = doc.SpanOfNode(d.Tree.Origins.AsWritten(n))
			doc.Omitted = &found
		}
		return Reported{}
	}
	found.Span = doc.SpanOfNode(d.Tree.Origins.AsWritten(n))
	d.Found = append(d.Found, found)
	return Reported{&d.Found[len(d.Found)-1]}
}

// AddAll adds diagnostics of a document that already have positions.
func (d *Decoder) AddAll(doc *tree.SourceFile, found diag.List) {
	for _, one := range found {
		if doc.CountFinding(one.Severity) {
			d.Found = append(d.Found, one)
		} else if doc.Omitted == nil {
			doc.Omitted = &one
		}
	}
}

// Reported is a diagnostic that was just added, for adding details; it is empty if the diagnostic
// was dropped.
type Reported struct{ diagnostic *diag.Diagnostic }

// SetHint sets the hint of the diagnostic.
func (r Reported) SetHint(text string) {
	if r.diagnostic != nil {
		r.diagnostic.Hint = text
	}
}

// CountErrors returns the number of errors so far, including unreported ones.
func (d *Decoder) CountErrors() int {
	n := 0
	for _, doc := range d.Tree.Documents {
		n += doc.Errors
	}
	return n
}

// listAllowed lists a record's names if they are few.
func listAllowed(names []string) string {
	const few = 12
	switch {
	case len(names) == 0:
		return "no field is allowed here"
	case len(names) > few:
		return ""
	}
	return "allowed are " + record.Alternatives(names)
}

func didYouMean(name string) string { return "did you mean \"" + name + "\"?" }

// ListLinked lists the choices built into this program.
func ListLinked(names []string) string {
	if len(names) == 0 {
		return "it has none"
	}
	return "it has " + strings.Join(names, ", ")
}
