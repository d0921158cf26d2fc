// Package diag defines diagnostics, which are findings about a configuration with a code, a place
// and a hint. It renders them for people (text), programs (JSON) and code hosts (SARIF, GitHub).
package diag

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/agentruntime/agentruntime/internal/nearest"
)

// Span is a range of characters in a file. Lines and columns count from 1, in Unicode code points;
// EndColumn is the first column after the range. The zero Span means that the place is unknown, as
// for records built in Go.
type Span struct {
	File      string `json:"file,omitempty"`
	Line      int    `json:"line,omitempty"`
	Column    int    `json:"column,omitempty"`
	EndLine   int    `json:"endLine,omitempty"`
	EndColumn int    `json:"endColumn,omitempty"`
}

// Diagnostic is one finding. Path is also set for records built in Go; Span only for files.
type Diagnostic struct {
	Code     Code     `json:"code"`
	Severity Severity `json:"severity"`
	Message  string   `json:"message"`
	// Hint suggests a fix, if one is known.
	Hint string `json:"hint,omitempty"`
	// Agent is the id of the agent concerned, if any.
	Agent string `json:"agent,omitempty"`
	// Path is the place in the configuration, such as agents.assistant.allowed_tools[0]; see Path.
	Path string `json:"path,omitempty"`
	Span
	// OfKey is set if the diagnostic concerns the key at its path although its code concerns
	// values; see Code.MarksKey.
	OfKey bool `json:"-"`
	// Related names further places that explain the finding, such as the
	// first definition of a duplicate.
	Related []Related `json:"related,omitempty"`
}

// Related is a second place that a diagnostic refers to.
type Related struct {
	Message string `json:"message"`
	Path    string `json:"path,omitempty"`
	Span
}

// Suppressed is a diagnostic that a comment in the file silences.
type Suppressed struct {
	Diagnostic
	// Reason is the reason given in the comment.
	Reason string `json:"reason"`
}

// New returns a diagnostic of code with that code's own severity.
func New(code Code, path, format string, args ...any) Diagnostic {
	return Diagnostic{
		Code:     code,
		Severity: code.Info().Severity,
		Message:  fmt.Sprintf(format, args...),
		Path:     path,
	}
}

// WithHint returns d with its hint set.
func (d Diagnostic) WithHint(format string, args ...any) Diagnostic {
	d.Hint = fmt.Sprintf(format, args...)
	return d
}

// WithNearest returns d with a hint that suggests the candidate nearest to name. If no candidate is
// near, it returns d unchanged, hint included.
func (d Diagnostic) WithNearest(name string, candidates []string) Diagnostic {
	if near, ok := nearest.Of(name, candidates); ok {
		return d.WithHint("did you mean %q?", near)
	}
	return d
}

// WithSeverity returns d with a severity other than its code's.
func (d Diagnostic) WithSeverity(s Severity) Diagnostic {
	d.Severity = s
	return d
}

// Identity identifies a finding independently of its place in the file.
type Identity struct {
	Code          Code
	Path, Message string
}

// Identity returns d's identity among findings. It stays the same when lines are added above.
func (d Diagnostic) Identity() Identity { return Identity{d.Code, d.Path, d.Message} }

// Place returns d's place as file:line:column, or "" if unknown.
func (s Span) Place() string {
	if s.Line == 0 {
		return s.File
	}
	return fmt.Sprintf("%s:%d:%d", s.File, s.Line, s.Column)
}

// AtKey returns d as a diagnostic about the key at its path.
func (d Diagnostic) AtKey() Diagnostic {
	d.OfKey = true
	return d
}

// ForAgent returns d with the id of the agent concerned.
func (d Diagnostic) ForAgent(id string) Diagnostic {
	d.Agent = id
	return d
}

// Error formats a diagnostic as an error: the code, path and message, plus the hint if any.
func (d Diagnostic) Error() string {
	text := string(d.Code) + ": "
	if d.Path != "" {
		text += d.Path + ": "
	}
	text += d.Message
	if d.Hint != "" {
		text += " (" + d.Hint + ")"
	}
	return text
}

// Diagnostic returns d itself, so that a Diagnostic is a Diagnoser.
func (d Diagnostic) Diagnostic() Diagnostic { return d }

// Diagnoser is an error that can be shown as a diagnostic. All errors from resolving and building
// implement it.
type Diagnoser interface {
	error
	Diagnostic() Diagnostic
}

// FromError collects the diagnostics of err: its own if it is a Diagnoser, or those in its joined
// errors. It skips errors without diagnostics.
func FromError(err error) List {
	var list List
	collectDiagnostics(err, &list)
	return list
}

func collectDiagnostics(err error, list *List) {
	if err == nil {
		return
	}
	if d, ok := err.(Diagnoser); ok { //nolint:errorlint // each level is visited by hand
		*list = append(*list, d.Diagnostic())
		return
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, part := range joined.Unwrap() {
			collectDiagnostics(part, list)
		}
		return
	}
	collectDiagnostics(errors.Unwrap(err), list)
}

// List is a collection of diagnostics in display order.
type List []Diagnostic

// Count returns the number of diagnostics with severity s.
func (l List) Count(s Severity) int {
	n := 0
	for i := range l {
		if l[i].Severity == s {
			n++
		}
	}
	return n
}

// HasErrors reports whether the list has a diagnostic of severity Error.
func (l List) HasErrors() bool {
	return slices.ContainsFunc(l, func(d Diagnostic) bool { return d.Severity == Error })
}

// Errors returns the diagnostics of severity Error.
func (l List) Errors() List {
	var errs List
	for _, d := range l {
		if d.Severity == Error {
			errs = append(errs, d)
		}
	}
	return errs
}

// Err returns the list's errors joined, each a Diagnostic, or nil if it has none.
func (l List) Err() error {
	var errs []error
	for _, d := range l.Errors() {
		errs = append(errs, d)
	}
	return errors.Join(errs...)
}

// Sort orders the list by file, in the order of files, then by line and column. Other files follow
// by name, and diagnostics without a file come last in their original order.
func (l List) Sort(files []string) {
	rank := make(map[string]int, len(files))
	for i, file := range files {
		rank[file] = i
	}
	order := func(d *Diagnostic) int {
		if d.File == "" {
			return len(files) + 1
		}
		if r, ok := rank[d.File]; ok {
			return r
		}
		return len(files)
	}
	slices.SortStableFunc(l, func(a, b Diagnostic) int {
		return cmp.Or(
			cmp.Compare(order(&a), order(&b)),
			cmp.Compare(a.File, b.File),
			cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Column, b.Column),
		)
	})
}

// Dedup returns the list without diagnostics that repeat the code, place, path and message of an
// earlier one. If the agents differ, the kept one names none, because the cause is shared.
func (l List) Dedup() List {
	type key struct {
		code          Code
		file          string
		line, column  int
		path, message string
	}
	seen := make(map[key]int, len(l))
	out := l[:0:0]
	for _, d := range l {
		k := key{d.Code, d.File, d.Line, d.Column, d.Path, d.Message}
		if i, ok := seen[k]; ok {
			if out[i].Agent != d.Agent {
				out[i].Agent = ""
			}
			continue
		}
		seen[k] = len(out)
		out = append(out, d)
	}
	return out
}

// MaxAlike is the maximum number of listed diagnostics of a kind that many agents may cause.
const MaxAlike = 10

// CountMore adds to the message that n more diagnostics of the kind are not listed.
func (d *Diagnostic) CountMore(n int) {
	if n == 1 {
		d.Message += "; and one more is not listed"
		return
	}
	d.Message += fmt.Sprintf("; and %d more are not listed", n)
}

// LimitAlike returns the list with only the first MaxAlike diagnostics of a code, at most one for
// each path. The last of them counts the rest.
func (l List) LimitAlike(code Code) List {
	seen, last := make(map[string]bool), 0
	out := l[:0:0]
	for _, d := range l {
		if d.Code == code {
			if seen[d.Path] {
				continue
			}
			seen[d.Path] = true
			if len(seen) > MaxAlike {
				continue
			}
			last = len(out)
		}
		out = append(out, d)
	}
	if more := len(seen) - MaxAlike; more > 0 {
		out[last].CountMore(more)
	}
	return out
}
