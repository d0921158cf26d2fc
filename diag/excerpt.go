package diag

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

const (
	// maxColumns is the maximum width of a quoted line before it is cut.
	maxColumns = 120
	// minContext is the minimum number of columns shown before a span in a cut line.
	minContext = 20
	// reach is the number of characters examined on either side of a span's start, to limit the
	// work for files of one huge line.
	reach = 10 * maxColumns
	// tabColumns is the width of a tab. After the gutter, a terminal would place tabs differently
	// than an editor does at the start of a line.
	tabColumns = 4
)

// excerpt is the shown part of a line: printable text, and the marked span in terminal columns.
type excerpt struct {
	text          string
	indent, width int
}

// cell is one character as a terminal shows it.
type cell struct {
	text  string
	width int
}

// markedRunes returns the range of characters of a line, counted from 0, that the span at that line
// covers: its whole text if no column is known, and the rest of it if the span ends on a later
// line.
func markedRunes(at Span, line string) (from, to int) {
	n := utf8.RuneCountInString(line)
	textEnd := utf8.RuneCountInString(strings.TrimRight(line, " \t"))
	if at.Column == 0 {
		return min(n-utf8.RuneCountInString(strings.TrimLeft(line, " \t")), textEnd), textEnd
	}
	from = min(at.Column-1, n)
	switch {
	case at.EndLine > at.Line:
		to = textEnd
	case at.EndColumn > 0:
		to = min(at.EndColumn-1, n)
	}
	return from, max(to, from)
}

// excerptOf returns the part of a line around the characters in [from, to).
func excerptOf(line string, from, to int) excerpt {
	line, skipped := skipRunes(line, from-reach)
	line, rest := cutRunes(line, from-skipped+reach)
	from, to = from-skipped, to-skipped
	cells := cellsOf(line)
	to = min(to, len(cells))
	first, last := visibleWindow(cells, from, to)

	var b strings.Builder
	e := excerpt{indent: countColumns(cells[first:from]), width: max(countColumns(cells[from:min(to, last)]), 1)}
	if first > 0 || skipped > 0 {
		b.WriteString("…")
		e.indent++
	}
	for _, c := range cells[first:last] {
		b.WriteString(c.text)
	}
	if last < len(cells) || rest {
		b.WriteString("…")
	}
	e.text = strings.TrimRight(b.String(), " ")
	return e
}

// visibleWindow chooses the visible cells of a line: all if they fit, otherwise those around the
// marked ones. The first marked cell is always visible.
func visibleWindow(cells []cell, from, to int) (first, last int) {
	if countColumns(cells) <= maxColumns {
		return 0, len(cells)
	}
	first = from
	if countColumns(cells[:to]) <= maxColumns {
		first = 0
	} else {
		context := max((maxColumns-countColumns(cells[from:to]))/2, minContext)
		for first > 0 && context >= cells[first-1].width {
			first--
			context -= cells[first].width
		}
		for first < from && cells[first].width == 0 {
			first++ // a combining character needs the one before it
		}
	}
	last = first
	for room := maxColumns; last < len(cells) && room >= cells[last].width; last++ {
		room -= cells[last].width
	}
	return first, last
}

func countColumns(cells []cell) int {
	n := 0
	for _, c := range cells {
		n += c.width
	}
	return n
}

// skipRunes drops up to n characters from the start of s.
func skipRunes(s string, n int) (rest string, skipped int) {
	for skipped < n && s != "" {
		_, size := utf8.DecodeRuneInString(s)
		s = s[size:]
		skipped++
	}
	return s, skipped
}

// cutRunes keeps up to n characters of s and reports whether there are more.
func cutRunes(s string, n int) (kept string, more bool) {
	rest, _ := skipRunes(s, n)
	return s[:len(s)-len(rest)], rest != ""
}

func cellsOf(line string) []cell {
	cells := make([]cell, 0, len(line))
	for line != "" {
		r, size := utf8.DecodeRuneInString(line)
		cells = append(cells, cellOf(r))
		line = line[size:]
	}
	return cells
}

// cellOf makes a character safe for a terminal: ASCII control characters become Unicode's control
// pictures, and other non-graphic characters become U+FFFD. These include direction marks, which
// can make one line look like another.
func cellOf(r rune) cell {
	switch {
	case ' ' <= r && r <= '~':
		return cell{string(r), 1}
	case r == '\t':
		return cell{strings.Repeat(" ", tabColumns), tabColumns}
	case r < ' ':
		return cell{string('␀' + r), 1}
	case r == 0x7F:
		return cell{"␡", 1}
	case r == zeroWidthNonJoiner, r == zeroWidthJoiner:
		return cell{string(r), 0} // scripts and emoji need them
	case !unicode.IsGraphic(r):
		return cell{string(utf8.RuneError), 1}
	case unicode.In(r, unicode.Mn, unicode.Me), hangulVowel <= r && r <= hangulLast:
		return cell{string(r), 0}
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return cell{string(r), 2}
	default:
		return cell{string(r), 1}
	}
}

const (
	zeroWidthNonJoiner = '\u200c'
	zeroWidthJoiner    = '\u200d'
	// The vowels and final consonants that join the preceding syllable.
	hangulVowel = '\u1160'
	hangulLast  = '\u11ff'
)

// printableLines splits a text into lines that are safe to print.
func printableLines(s string) []string {
	lines := strings.Split(strings.ReplaceAll(s, "\r\n", "\n"), "\n")
	for i, line := range lines {
		var b strings.Builder
		for _, c := range cellsOf(line) {
			b.WriteString(c.text)
		}
		lines[i] = b.String()
	}
	return lines
}
