package diag

import (
	"cmp"
	"io"
	"path/filepath"
	"strconv"
	"strings"
)

// renderGitHub writes one workflow command per diagnostic. GitHub reads them from the log of a step
// and shows them as annotations.
func (r *Report) renderGitHub(w io.Writer) error {
	var b strings.Builder
	for i := range r.Diagnostics {
		writeCommand(&b, &r.Diagnostics[i])
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func writeCommand(b *strings.Builder, d *Diagnostic) {
	b.WriteString("::" + githubCommand(d.Severity) + " ")
	at := d.normalizedSpan()
	property := func(name, value string) {
		b.WriteString(name + "=" + githubProperty.Replace(value) + ",")
	}
	number := func(name string, n int) {
		if n > 0 {
			property(name, strconv.Itoa(n))
		}
	}
	if at.File != "" {
		property("file", filepath.ToSlash(at.File))
	}
	number("line", at.Line)
	number("endLine", at.EndLine)
	if at.Line == at.EndLine { // GitHub drops columns that span two lines
		number("col", at.Column)
		number("endColumn", at.EndColumn)
	}
	b.WriteString("title=" + githubProperty.Replace(string(d.Code)) + "::")
	if at.File == "" && d.Path != "" {
		b.WriteString(githubMessage.Replace(d.Path + ": ")) // no other field has the place
	}
	b.WriteString(githubMessage.Replace(d.textWithHint()) + "\n")
}

func githubCommand(s Severity) string {
	return cmp.Or(map[Severity]string{Warning: "warning", Note: "notice"}[s], "error")
}

// A newline ends a command, and a colon or comma ends a property's value, so these characters are
// encoded in the form that GitHub decodes.
var (
	githubMessage  = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	githubProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)
