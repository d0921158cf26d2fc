package diag

import (
	"cmp"
	"io"
	"strconv"
	"strings"
)

// gutter is the minimum width of the line number column; it aligns the places of all diagnostics of
// an ordinary file.
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
		t.writeDiagnostic(&r.Diagnostics[i])
		t.WriteByte('\n')
	}
	t.WriteString(r.summaryLine() + "\n")
	_, err := io.WriteString(w, t.String())
	return err
}

// writeDiagnostic writes a diagnostic with its place, the quoted line, the hint, and the related
// places.
func (t *text) writeDiagnostic(d *Diagnostic) {
	t.writeHeader(d)
	at := d.normalizedSpan()
	line, quoted := t.sources.lineText(at.File, at.Line)
	width := gutter
	if quoted {
		width = max(width, len(strconv.Itoa(at.Line)))
	}
	if place := describePlace(d.Span, d.Path); place != "" {
		t.writeNote(width, "-->", place)
	}
	if quoted {
		t.quoteLine(width, at, line, d)
	}
	for i := range d.Related {
		related := &d.Related[i]
		t.writeNote(width, ":::", strings.TrimPrefix(describePlace(related.Span, related.Path)+" "+related.Message, " "))
	}
	if !quoted && d.Hint != "" {
		t.writeNote(width+1, "=", "hint: "+d.Hint)
	}
}

// writeHeader writes the severity, the code and the message.
func (t *text) writeHeader(d *Diagnostic) {
	label := string(d.Severity)
	if d.Code != "" {
		label += "[" + string(d.Code) + "]"
	}
	indent := strings.Repeat(" ", len(label)+2)
	for i, line := range printableLines(d.Message) {
		if i == 0 {
			t.applyStyle(severityStyle(d.Severity), label)
			t.applyStyle(bold, ": "+line)
		} else {
			t.applyStyle(bold, indent+line)
		}
		t.WriteByte('\n')
	}
}

// writeNote writes a mark in the margin and its text.
func (t *text) writeNote(width int, mark, content string) {
	margin := strings.Repeat(" ", width)
	for i, line := range printableLines(content) {
		t.WriteString(margin)
		if i == 0 {
			t.applyStyle(gutterStyle, mark)
		} else {
			t.WriteString(strings.Repeat(" ", len(mark)))
		}
		t.WriteString(" " + line + "\n")
	}
}

// quoteLine writes the line of the file, with the span underlined and the hint after it.
func (t *text) quoteLine(width int, at Span, line string, d *Diagnostic) {
	margin := strings.Repeat(" ", width+1)
	number := strconv.Itoa(at.Line)
	number = strings.Repeat(" ", width-len(number)) + number
	from, to := markedRunes(at, line)
	cut := excerptOf(line, from, to)
	t.applyStyle(gutterStyle, margin+"|")
	t.WriteByte('\n')
	t.applyStyle(gutterStyle, number+" |")
	if cut.text != "" {
		t.WriteString(" " + cut.text)
	}
	t.WriteByte('\n')
	style := severityStyle(d.Severity)
	for i, hint := range printableLines(d.Hint) {
		t.applyStyle(gutterStyle, margin+"|")
		t.WriteString(strings.Repeat(" ", 1+cut.indent))
		if i == 0 {
			hint = strings.TrimRight(strings.Repeat("^", cut.width)+" "+hint, " ")
		} else {
			hint = strings.Repeat(" ", cut.width+1) + hint
		}
		t.applyStyle(style, hint)
		t.WriteByte('\n')
	}
}

// describePlace formats a place as editors do, as in config.yaml:14:15, or returns its path if no
// line is known.
func describePlace(span Span, path string) string {
	at := span.normalizedSpan()
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

// An ansiStyle is the parameter of the escape sequence that enables it.
type ansiStyle string

const (
	bold        ansiStyle = "1"
	boldRed     ansiStyle = "1;31"
	boldYellow  ansiStyle = "1;33"
	boldCyan    ansiStyle = "1;36"
	gutterStyle ansiStyle = "1;34"
)

func severityStyle(s Severity) ansiStyle {
	return cmp.Or(map[Severity]ansiStyle{Warning: boldYellow, Note: boldCyan}[s], boldRed)
}

// applyStyle writes s, styled if colors are enabled.
func (t *text) applyStyle(style ansiStyle, s string) {
	if t.color {
		s = "\x1b[" + string(style) + "m" + s + "\x1b[0m"
	}
	t.WriteString(s)
}
