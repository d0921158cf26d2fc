package config

import (
	"fmt"

	"github.com/agentruntime/agentruntime/config/internal/secret"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/yamltree"
)

// sourceFile is one file of a configuration.
type sourceFile struct {
	yamltree.Document

	dir string
	// stored is set for a stored document, as with Source.Stored.
	stored bool
	// secrets are the values to hide when showing the text.
	secrets []*yamltree.Node
	// findings and errors count the file's diagnostics; omitted is the first unreported one.
	findings, errors int
	omitted          *diag.Diagnostic

	// ignores are the comments that silence diagnostics; they are read on first use.
	ignores      []ignore
	ignoresKnown bool
}

// countFinding counts a diagnostic and reports whether it is kept.
func (doc *sourceFile) countFinding(severity diag.Severity) bool {
	doc.findings++
	if severity == diag.Error {
		doc.errors++
	}
	return doc.findings <= yamltree.MaxFindings
}

// hasTooManyErrors reports whether a file has too many errors to read on.
func (doc *sourceFile) hasTooManyErrors() bool { return doc.errors > yamltree.MaxFindings }

// omittedFindings returns a diagnostic that replaces the omitted ones.
func (doc *sourceFile) omittedFindings() diag.List {
	if doc.omitted == nil {
		return nil
	}
	d := diag.Diagnostic{Code: doc.omitted.Code, Severity: diag.Warning, Span: doc.omitted.Span}
	d.Message = fmt.Sprintf("the file has more than %d problems; those from here on are not shown", yamltree.MaxFindings)
	if doc.errors > 0 {
		d.Severity = diag.Error
	}
	return diag.List{d}
}

func (doc *sourceFile) redactedText() []byte {
	var ranges [][2]int
	if doc.Root == nil {
		ranges = secret.FindNamed(doc.Data)
	}
	ranges = append(append(ranges, secret.FindCredentials(doc.Data)...), secret.FindURLParts(doc.Data)...)
	for _, n := range doc.secrets {
		from, to := doc.NodeRange(n)
		ranges = append(ranges, [2]int{from, to})
	}
	return secret.MaskRanges(doc.Data, ranges)
}
