package diag

import (
	"strconv"
	"strings"
)

// Report is the outcome of checking a configuration, ready to be rendered. Rendering does not
// modify it and keeps the order of the diagnostics.
type Report struct {
	Diagnostics List
	// Suppressed are the diagnostics silenced by comments in the files. They do not count against
	// validity.
	Suppressed []Suppressed
	// Agents is the number of checked agents; 0 omits it from the summary.
	Agents int
	// Strict makes warnings count against validity. It does not change their
	// severity in any rendering.
	Strict bool
	// Version is the version of the program, named in SARIF; may be empty.
	Version string
	// Source returns the contents of a file named by a diagnostic, or nil if unavailable. The text
	// rendering quotes lines from it; a nil Source quotes nothing.
	Source func(file string) []byte
	// Color makes the text rendering use ANSI colors.
	Color bool
}

// Valid reports whether the configuration is usable: it has no errors and, if the report is strict,
// no warnings.
func (r *Report) Valid() bool {
	if r.Strict && r.Diagnostics.Count(Warning) > 0 {
		return false
	}
	return !r.Diagnostics.HasErrors()
}

// summaryLine summarizes the findings, as in "2 errors, 1 warning in 3 agents (1 info ignored)".
func (r *Report) summaryLine() string {
	found := countSeverities(r.Diagnostics)
	if found == "" {
		found = "no problems"
	}
	if r.Agents > 0 {
		found += " in " + countNoun(r.Agents, "agent")
	}
	suppressed := make(List, len(r.Suppressed))
	for i := range r.Suppressed {
		suppressed[i] = r.Suppressed[i].Diagnostic
	}
	if ignored := countSeverities(suppressed); ignored != "" {
		found += " (" + ignored + " ignored)"
	}
	return found
}

// countSeverities counts a list in words; it is empty for an empty list.
func countSeverities(list List) string {
	var parts []string
	for _, kind := range []struct {
		severity Severity
		noun     string
	}{{Error, "error"}, {Warning, "warning"}, {Note, "info"}} {
		if n := list.Count(kind.severity); n > 0 {
			parts = append(parts, countNoun(n, kind.noun))
		}
	}
	return strings.Join(parts, ", ")
}

func countNoun(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.Itoa(n) + " " + noun
}

// textWithHint returns the message followed by the hint, for renderings with a single text.
func (d *Diagnostic) textWithHint() string {
	if d.Hint == "" {
		return d.Message
	}
	return d.Message + " (" + d.Hint + ")"
}

// normalizedSpan returns the span in a form that renderings can rely on: unknown parts are zero. An
// end before the start counts as unknown, but the end of a known line is at least on that line.
func (s Span) normalizedSpan() Span {
	if s.File == "" || s.Line < 1 {
		return Span{File: s.File}
	}
	s.Column = max(s.Column, 0)
	if s.EndLine < s.Line {
		if s.EndLine > 0 {
			s.EndColumn = 0
		}
		s.EndLine = s.Line
	}
	if s.Column == 0 || s.EndColumn < 1 || s.EndLine == s.Line && s.EndColumn <= s.Column {
		s.EndColumn = 0
	}
	return s
}
