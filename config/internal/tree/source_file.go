package tree

import (
	"fmt"
	"path/filepath"

	"github.com/agentruntime/agentruntime/config/internal/secret"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/yamltree"
)

// SourceFile is one file of a configuration.
type SourceFile struct {
	yamltree.Document

	// Dir is the file's directory, where its relative paths start.
	Dir string
	// Stored is set for a stored document, as with config.Source.Stored.
	Stored bool
	// Secrets are the values to hide when showing the text.
	Secrets []*yamltree.Node
	// Findings and Errors count the file's diagnostics; Omitted is the first unreported one.
	Findings, Errors int
	Omitted          *diag.Diagnostic

	// ignores are the comments that silence diagnostics; they are read on first use.
	ignores      []Ignore
	ignoresKnown bool
}

// NewSourceFile returns the file with a name and an unparsed text.
func NewSourceFile(name string, data []byte) *SourceFile {
	return &SourceFile{Document: yamltree.Document{Name: name, Data: data}, Dir: filepath.Dir(name)}
}

// CountFinding counts a diagnostic and reports whether it is kept.
func (doc *SourceFile) CountFinding(severity diag.Severity) bool {
	doc.Findings++
	if severity == diag.Error {
		doc.Errors++
	}
	return doc.Findings <= yamltree.MaxFindings
}

// HasTooManyErrors reports whether a file has too many errors to read on.
func (doc *SourceFile) HasTooManyErrors() bool { return doc.Errors > yamltree.MaxFindings }

// OmittedFindings returns a diagnostic that replaces the omitted ones.
func (doc *SourceFile) OmittedFindings() diag.List {
	if doc.Omitted == nil {
		return nil
	}
	d := diag.Diagnostic{Code: doc.Omitted.Code, Severity: diag.Warning, Span: doc.Omitted.Span}
	d.Message = fmt.Sprintf("the file has more than %d problems; those from here on are not shown", yamltree.MaxFindings)
	if doc.Errors > 0 {
		d.Severity = diag.Error
	}
	return diag.List{d}
}

// RedactedText returns the text of the file with its secrets replaced by asterisks.
func (doc *SourceFile) RedactedText() []byte {
	var ranges [][2]int
	if doc.Root == nil {
		ranges = secret.FindNamed(doc.Data)
	}
	ranges = append(append(ranges, secret.FindCredentials(doc.Data)...), secret.FindURLParts(doc.Data)...)
	for _, n := range doc.Secrets {
		from, to := doc.NodeRange(n)
		ranges = append(ranges, [2]int{from, to})
	}
	return secret.MaskRanges(doc.Data, ranges)
}

// Ignores returns the file's ignore comments.
func (doc *SourceFile) Ignores() []Ignore {
	if !doc.ignoresKnown {
		doc.ignores, doc.ignoresKnown = findIgnores(&doc.Document), true
	}
	return doc.ignores
}
