package diag

import (
	"fmt"
	"io"
)

// Format names one of the renderings of a Report.
type Format string

// The formats.
const (
	// FormatText is for people: it shows the line of the file with the place marked, and the hint.
	FormatText Format = "text"
	// FormatJSON is for programs: one JSON object.
	FormatJSON Format = "json"
	// FormatSARIF is for code hosts and editors: a SARIF 2.1.0 log.
	FormatSARIF Format = "sarif"
	// FormatGitHub is for GitHub Actions: one workflow command per diagnostic, shown as an
	// annotation of the file.
	FormatGitHub Format = "github"
)

// ParseFormat returns the format with the given name.
func ParseFormat(name string) (Format, error) {
	if renderers[Format(name)] == nil {
		return "", fmt.Errorf("unknown format %q; choose text, json, sarif or github", name)
	}
	return Format(name), nil
}

// renderers are the renderings by format.
var renderers = map[Format]func(r *Report, w io.Writer) error{
	FormatText: (*Report).renderText, FormatJSON: (*Report).renderJSON, FormatSARIF: (*Report).renderSARIF, FormatGitHub: (*Report).renderGitHub,
}

// Render writes the report to w in format f.
func (r *Report) Render(w io.Writer, f Format) error {
	if render := renderers[f]; render != nil {
		return render(r, w)
	}
	return fmt.Errorf("unknown format %q", f)
}
