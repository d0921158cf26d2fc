package yamltree

import (
	"bytes"
	"sort"
	"strings"

	"github.com/agentruntime/agentruntime/diag"
)

// maxScan limits, in bytes, the search for the end of a value. A longer value is treated as ending
// with its first line.
const maxScan = 64 << 10

// Document is the text of a file and its tree. Positions are computed only when there is
// something to report.
type Document struct {
	// Name is the name of the file in diagnostics.
	Name string
	// Data is the text without a byte order mark; nil if it is too large.
	Data []byte
	// Root is the tree; nil if the document is empty or could not be read.
	Root *Node

	index *lineIndex
}

// checkpoint is the distance, in bytes, between offsets with a recorded character count.
const checkpoint = 512

// lineIndex finds positions in a text. Unlike editors and renderers, the YAML parser also ends
// lines at a lone carriage return and at three Unicode characters, so the index keeps both line
// counts.
type lineIndex struct {
	data []byte
	// parser and shown are the offsets at which lines begin.
	parser, shown []int32
	// runes holds the number of characters before each checkpoint.
	runes []int32
	// ascii is set if each character is one byte.
	ascii bool
}

func (doc *Document) lines() *lineIndex {
	if doc.index == nil {
		doc.index = newLineIndex(doc.Data)
	}
	return doc.index
}

func newLineIndex(data []byte) *lineIndex {
	lines := bytes.Count(data, []byte("\n")) + 1
	x := &lineIndex{
		data:   data,
		parser: append(make([]int32, 0, lines), 0),
		shown:  append(make([]int32, 0, lines), 0),
	}
	for i, c := range data {
		switch {
		case c == '\n':
			x.shown = append(x.shown, int32(i+1))
			x.parser = append(x.parser, int32(i+1))
		case c == '\r' && (i+1 >= len(data) || data[i+1] != '\n'):
			x.parser = append(x.parser, int32(i+1))
		case c == 0xC2 && bytes.HasPrefix(data[i:], []byte("\u0085")):
			x.parser = append(x.parser, int32(i+2))
		case c == 0xE2 && (bytes.HasPrefix(data[i:], []byte("\u2028")) || bytes.HasPrefix(data[i:], []byte("\u2029"))):
			x.parser = append(x.parser, int32(i+3))
		}
	}
	n := 0
	for i := 0; i < len(data); i += checkpoint {
		x.runes = append(x.runes, int32(n))
		n += countRunes(data[i:min(i+checkpoint, len(data))])
	}
	x.ascii = n == len(data)
	return x
}

// countRunes counts the characters that start in data.
func countRunes(data []byte) int {
	n := 0
	for _, c := range data {
		if c&0xC0 != 0x80 {
			n++
		}
	}
	return n
}

// countRunesBefore returns the number of characters before an offset.
func (x *lineIndex) countRunesBefore(offset int) int {
	if x.ascii || len(x.runes) == 0 {
		return offset
	}
	at := min(offset/checkpoint, len(x.runes)-1)
	return int(x.runes[at]) + countRunes(x.data[at*checkpoint:offset])
}

// offset returns the offset of a position as counted by the parser.
func (x *lineIndex) offset(line, column int) int {
	if line < 1 {
		return 0
	}
	if line > len(x.parser) {
		return len(x.data)
	}
	start := int(x.parser[line-1])
	if x.ascii {
		return min(start+max(column-1, 0), len(x.data))
	}
	want := x.countRunesBefore(start) + max(column-1, 0)
	at := sort.Search(len(x.runes), func(i int) bool { return int(x.runes[i]) > want }) - 1
	at = max(at, start/checkpoint)
	offset, have := at*checkpoint, int(x.runes[at])
	if offset < start {
		offset, have = start, x.countRunesBefore(start)
	}
	for ; offset < len(x.data); offset++ {
		if x.data[offset]&0xC0 == 0x80 {
			continue
		}
		if have == want {
			break
		}
		have++
	}
	return offset
}

// LineAndColumn returns the line and column to show for an offset.
func (x *lineIndex) lineAndColumn(offset int) (line, column int) {
	offset = min(max(offset, 0), len(x.data))
	line = sort.Search(len(x.shown), func(i int) bool { return int(x.shown[i]) > offset })
	return line, x.countRunesBefore(offset) - x.countRunesBefore(int(x.shown[line-1])) + 1
}

// LineStarts returns the offsets at which the lines begin, as editors count them.
func (doc *Document) LineStarts() []int32 { return doc.lines().shown }

// LineAndColumn returns the line and column to show for an offset.
func (doc *Document) LineAndColumn(offset int) (line, column int) {
	return doc.lines().lineAndColumn(offset)
}

// SpanOf returns the span of a range of bytes.
func (doc *Document) SpanOf(from, to int) diag.Span {
	x := doc.lines()
	s := diag.Span{File: doc.Name}
	s.Line, s.Column = x.lineAndColumn(from)
	s.EndLine, s.EndColumn = x.lineAndColumn(max(from, to))
	return s
}

// SpanOfNode returns the span of a node.
func (doc *Document) SpanOfNode(n *Node) diag.Span {
	from, to := doc.NodeRange(n)
	return doc.SpanOf(from, to)
}

// NodeRange returns the byte range of a node, without its anchor and tag.
func (doc *Document) NodeRange(n *Node) (from, to int) {
	from = doc.lines().offset(int(n.Line), int(n.Column))
	rest := doc.Data[from:]
	if n.Style != blockCollection {
		skipped := skipProperties(rest)
		from, rest = from+skipped, rest[skipped:]
	}
	if len(rest) > maxScan {
		rest = rest[:maxScan]
	}
	length, ok := 0, true
	switch n.Style {
	case plainStyle:
		length, ok = plainLength(rest, n.Text)
	case singleQuoted:
		length, ok = quotedLength(rest, '\'')
	case doubleQuoted:
		length, ok = quotedLength(rest, '"')
	case literalBlock, foldedBlock:
		length, ok = blockLength(rest, n)
	case flowCollection:
		length, ok = flowLength(rest)
	case blockCollection:
		return from, max(from, doc.lastEnd(n))
	}
	if !ok {
		length = len(bytes.TrimRight(firstLine(rest), " \t\r"))
	}
	return from, from + length
}

// lastEnd returns the end of the last value in a collection. It ignores values from elsewhere,
// brought in by aliases and merge keys.
func (doc *Document) lastEnd(n *Node) int {
	for i := len(n.Children) - 1; i >= 0; i-- {
		if child := n.Children[i]; child.Line >= n.Line && child.Document == n.Document {
			_, end := doc.NodeRange(child)
			return end
		}
	}
	return 0
}

// skipProperties returns the length of the anchor and tag at the start of text. No plain scalar can
// start with either.
func skipProperties(text []byte) int {
	i := 0
	for i < len(text) && (text[i] == '&' || text[i] == '!') {
		word := bytes.IndexAny(text[i:], " \t\r\n")
		if word < 0 {
			return i
		}
		i += word
		for i < len(text) && strings.IndexByte(" \t\r\n", text[i]) >= 0 {
			i++
		}
	}
	return i
}

// plainLength returns the length of a plain scalar in the text, which differs from its value only
// in white space.
func plainLength(text []byte, value string) (int, bool) {
	if len(value) <= len(text) && string(text[:len(value)]) == value {
		return len(value), true
	}
	i := 0
	for _, word := range strings.Fields(value) {
		for i < len(text) && strings.IndexByte(" \t\r\n", text[i]) >= 0 {
			i++
		}
		if !bytes.HasPrefix(text[i:], []byte(word)) {
			return 0, false
		}
		i += len(word)
	}
	return i, true
}

func quotedLength(text []byte, quote byte) (int, bool) {
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == '\\' && quote == '"':
			i++
		case text[i] != quote:
		case quote == '\'' && i+1 < len(text) && text[i+1] == quote:
			i++
		default:
			return i + 1, true
		}
	}
	return 0, false
}

// blockLength returns the length of a block scalar, header included. A literal one has as many
// lines as its value; a folded one ends before the first line that is indented less than its first
// line.
func blockLength(text []byte, n *Node) (int, bool) {
	header := len(firstLine(text))
	end := len(bytes.TrimRight(text[:header], " \t\r"))
	indent, left := -1, strings.Count(strings.TrimRight(n.Text, "\n"), "\n")+1
	if strings.Trim(n.Text, "\n") == "" {
		return end, true
	}
	for at := header + 1; at <= len(text) && left > 0; {
		line := firstLine(text[at:])
		content := bytes.TrimRight(line, " \t\r")
		if len(content) > 0 {
			depth := len(line) - len(bytes.TrimLeft(line, " "))
			if indent < 0 {
				indent = depth
			}
			if depth < indent && n.Style == foldedBlock {
				break
			}
			end = at + len(content)
		}
		at += len(line) + 1
		if n.Style == literalBlock {
			left--
		}
	}
	return end, end < maxScan
}

// flowLength returns the length of a flow collection.
func flowLength(text []byte) (int, bool) {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '[', '{':
			depth++
		case ']', '}':
			if depth--; depth == 0 {
				return i + 1, true
			}
		case '"', '\'':
			if !startsToken(text, i) {
				continue
			}
			length, ok := quotedLength(text[i:], c)
			if !ok {
				return 0, false
			}
			i += length - 1
		case '#':
			if startsToken(text, i) {
				i += len(firstLine(text[i:]))
			}
		}
	}
	return 0, false
}

// startsToken reports whether a quote or hash at i starts a token, outside any plain scalar.
func startsToken(text []byte, i int) bool {
	return i == 0 || strings.IndexByte(" \t\r\n,[]{}:", text[i-1]) >= 0
}

func firstLine(text []byte) []byte {
	if end := bytes.IndexByte(text, '\n'); end >= 0 {
		return text[:end]
	}
	return text
}
