package diag

import (
	"io"
	"strconv"
	"strings"
)

// gutter is the least width of the column of line numbers; with it the places
// of all diagnostics of an ordinary file stand below each other.
const gutter = 2

// text writes the rendering for people.
type text struct {
	strings.Builder
	color   bool
	sources sources
}

func (r *Report) renderText(w io.Writer) error {
	t := &text{color: r.Color, sources: sources{read: r.Source}}
	for i := range r.Diagnostics {
		t.diagnostic(&r.Diagnostics[i])
		t.WriteByte('\n')
	}
	t.WriteString(r.summary() + "\n")
	_, err := io.WriteString(w, t.String())
	return err
}

// diagnostic writes a diagnostic with its place, the line it speaks of, the
// hint, and the related places.
func (t *text) diagnostic(d *Diagnostic) {
	t.header(d)
	at := d.region()
	line, quoted := t.sources.line(at.File, at.Line)
	width := gutter
	if quoted {
		width = max(width, len(strconv.Itoa(at.Line)))
	}
	if place := describePlace(d.Span, d.Path); place != "" {
		t.note(width, "-->", place)
	}
	if quoted {
		t.quote(width, at, line, d)
	}
	for i := range d.Related {
		related := &d.Related[i]
		t.note(width, ":::", strings.TrimPrefix(describePlace(related.Span, related.Path)+" "+related.Message, " "))
	}
	if !quoted && d.Hint != "" {
		t.note(width+1, "=", "hint: "+d.Hint)
	}
}

// header writes the severity, the code and the message.
func (t *text) header(d *Diagnostic) {
	label := string(d.Severity)
	if d.Code != "" {
		label += "[" + string(d.Code) + "]"
	}
	indent := strings.Repeat(" ", len(label)+2)
	for i, line := range printableLines(d.Message) {
		if i == 0 {
			t.paint(severityStyle(d.Severity), label)
			t.paint(bold, ": "+line)
		} else {
			t.paint(bold, indent+line)
		}
		t.WriteByte('\n')
	}
}

// note writes a mark in the margin and what it stands for.
func (t *text) note(width int, mark, content string) {
	margin := strings.Repeat(" ", width)
	for i, line := range printableLines(content) {
		t.WriteString(margin)
		if i == 0 {
			t.paint(gutterStyle, mark)
		} else {
			t.WriteString(strings.Repeat(" ", len(mark)))
		}
		t.WriteString(" " + line + "\n")
	}
}

// quote writes the line of the file, with the span underlined and the hint
// behind that.
func (t *text) quote(width int, at Span, line string, d *Diagnostic) {
	margin := strings.Repeat(" ", width+1)
	number := strconv.Itoa(at.Line)
	number = strings.Repeat(" ", width-len(number)) + number
	from, to := markedRunes(at, line)
	cut := excerptOf(line, from, to)
	t.paint(gutterStyle, margin+"|")
	t.WriteByte('\n')
	t.paint(gutterStyle, number+" |")
	if cut.text != "" {
		t.WriteString(" " + cut.text)
	}
	t.WriteByte('\n')
	style := severityStyle(d.Severity)
	for i, hint := range printableLines(d.Hint) {
		t.paint(gutterStyle, margin+"|")
		t.WriteString(strings.Repeat(" ", 1+cut.indent))
		if i == 0 {
			hint = strings.TrimRight(strings.Repeat("^", cut.width)+" "+hint, " ")
		} else {
			hint = strings.Repeat(" ", cut.width+1) + hint
		}
		t.paint(style, hint)
		t.WriteByte('\n')
	}
}

// describePlace names a place as people and their editors do, as in
// config.yaml:14:15, or by its path when no line is known.
func describePlace(span Span, path string) string {
	at := span.region()
	switch {
	case at.File == "":
		return path
	case at.Line > 0 && at.Column > 0:
		return at.File + ":" + strconv.Itoa(at.Line) + ":" + strconv.Itoa(at.Column)
	case at.Line > 0:
		return at.File + ":" + strconv.Itoa(at.Line)
	case path != "":
		return at.File + ": " + path
	default:
		return at.File
	}
}

// An ansiStyle is the parameter of the escape sequence that turns it on.
type ansiStyle string

const (
	bold        ansiStyle = "1"
	boldRed     ansiStyle = "1;31"
	boldYellow  ansiStyle = "1;33"
	boldCyan    ansiStyle = "1;36"
	gutterStyle ansiStyle = "1;34"
)

func severityStyle(s Severity) ansiStyle {
	switch s {
	case Warning:
		return boldYellow
	case Note:
		return boldCyan
	default:
		return boldRed
	}
}

// paint writes s, in style when colours are wanted.
func (t *text) paint(style ansiStyle, s string) {
	if t.color {
		s = "\x1b[" + string(style) + "m" + s + "\x1b[0m"
	}
	t.WriteString(s)
}
