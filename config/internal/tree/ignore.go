package tree

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/yamltree"
)

// Ignore is a comment that silences diagnostics of one line, as in
//
//	# runtime: ignore no-tools, unused-definition the reason
type Ignore struct {
	// span is the place of the comment.
	span diag.Span
	// Line is the line whose diagnostics are suppressed, or 0.
	Line   int
	Codes  []diag.Code
	Reason string
	// Faults are the mistakes in the comment itself.
	Faults diag.List
}

// ignoreForm is the hint with the form of an ignore comment.
const ignoreForm = "write # runtime: ignore CODE reason"

// ignoreMark matches the start of an ignore comment; the group is the word that probes replace.
var ignoreMark = regexp.MustCompile(`#[ \t]*(runtime):[ \t]*ignore\b`)

// findIgnores returns a document's ignore comments.
func findIgnores(doc *yamltree.Document) (found []Ignore) {
	if doc.Root == nil || !bytes.Contains(doc.Data, []byte("runtime:")) {
		return nil
	}
	var marks [][]int
	for _, m := range ignoreMark.FindAllSubmatchIndex(doc.Data, -1) {
		if m[0] == 0 || strings.IndexByte(" \t\r\n", doc.Data[m[0]-1]) >= 0 {
			marks = append(marks, m)
		}
	}
	for i, isComment := range inComments(doc.Data, marks) {
		if isComment {
			end := len(doc.Data)
			if i+1 < len(marks) {
				end = marks[i+1][0]
			}
			found = append(found, newIgnore(doc, marks[i][0], marks[i][1], end))
		}
	}
	return found
}

// probeLength is the length of the word that replaces a mark, and prefixLength the length of the
// prefix that all probes of a document share.
const (
	probeLength  = len("runtime")
	prefixLength = 3
)

// inComments reports for each mark whether it is in a comment. It replaces a word of each mark with
// a unique one and parses the document: if the word is in a value, the mark is not in a comment. A
// separate scanner would have to handle the ends of all scalar styles.
func inComments(data []byte, marks [][]int) []bool {
	out := make([]bool, len(marks))
	prefix, ok := unusedPrefix(data)
	if len(marks) == 0 || !ok {
		return out
	}
	probed := bytes.Clone(data)
	for i, m := range marks {
		copy(probed[m[2]:m[3]], prefix+toLetters(i, probeLength-prefixLength))
		out[i] = true
	}
	readable := yamltree.VisitTexts(probed, func(text string) {
		for {
			_, rest, found := strings.Cut(text, prefix)
			if !found {
				return
			}
			if len(rest) >= probeLength-prefixLength {
				if i := fromLetters(rest[:probeLength-prefixLength]); i >= 0 && i < len(out) {
					out[i] = false
				}
			}
			text = rest
		}
	})
	if !readable {
		return make([]bool, len(marks))
	}
	return out
}

// unusedPrefix returns letters that do not occur in data.
func unusedPrefix(data []byte) (string, bool) {
	for i := range 26 * 26 * 26 {
		if prefix := strings.ToUpper(toLetters(i, prefixLength)); !bytes.Contains(data, []byte(prefix)) {
			return prefix, true
		}
	}
	return "", false
}

// toLetters writes a number as n lower-case letters.
func toLetters(i, n int) string {
	word := make([]byte, n)
	for at := n - 1; at >= 0; at-- {
		word[at] = byte('a' + i%26)
		i /= 26
	}
	return string(word)
}

// fromLetters is the reverse of toLetters; -1 for any other word.
func fromLetters(word string) int {
	i := 0
	for _, c := range []byte(word) {
		if c < 'a' || c > 'z' {
			return -1
		}
		i = i*26 + int(c-'a')
	}
	return i
}

// ignoreParts matches an ignore comment's codes and the reason after them.
var ignoreParts = regexp.MustCompile(`^[ \t]*([^\s,]+(?:[ \t]*,[ \t]*[^\s,]+)*)[ \t]*(.*)$`)

// newIgnore reads the comment at from, whose codes begin at rest, and which ends with its line, or
// before limit.
func newIgnore(doc *yamltree.Document, from, rest, limit int) Ignore {
	content := doc.Data[rest:limit]
	if end := bytes.IndexAny(content, "\r\n"); end >= 0 {
		content = content[:end]
	}
	content = bytes.TrimRight(content, " \t")
	c := Ignore{span: doc.SpanOf(from, rest+len(content)), Line: silencedLine(doc, from)}
	parts := ignoreParts.FindSubmatch(content)
	if parts == nil {
		c.AddFault("the comment names no code to ignore", ignoreForm)
		return c
	}
	c.Reason = string(parts[2])
	for name := range strings.SplitSeq(string(parts[1]), ",") {
		c.addCode(strings.TrimSpace(name))
	}
	if c.Reason == "" && len(c.Faults) == 0 {
		c.Codes = nil
		c.AddFault("the comment gives no reason", "add one after the code: # runtime: ignore CODE reason")
	}
	return c
}

// addCode adds a code to suppress, or a fault if the code is unknown.
func (c *Ignore) addCode(name string) {
	code := diag.Code(name)
	var names []string
	for _, info := range diag.Codes() {
		names = append(names, string(info.Code))
	}
	switch {
	case code == diag.InvalidIgnore:
		c.AddFault(name+" cannot be ignored", "fix or remove the comment")
	case !slices.Contains(names, name):
		c.AddFault(fmt.Sprintf("the comment names the unknown code %q", clip.Text(name)), ignoreForm)
		last := len(c.Faults) - 1
		c.Faults[last] = c.Faults[last].WithNearest(name, names)
	case !slices.Contains(c.Codes, code):
		c.Codes = append(c.Codes, code)
	}
}

// AddFault adds a fault of the comment.
func (c *Ignore) AddFault(message, hint string) {
	d := diag.New(diag.InvalidIgnore, "", "%s", message).WithHint("%s", hint)
	d.Span = c.span
	c.Faults = append(c.Faults, d)
}

// DescribeLine describes the line that the comment applies to.
func (c *Ignore) DescribeLine() string {
	switch c.Line {
	case c.span.Line:
		return "this line"
	case 0:
		return "the line after the comment"
	default:
		return fmt.Sprintf("line %d", c.Line)
	}
}

// silencedLine returns the line that a comment applies to: its own or, if it is on a
// line by itself, the next line that is not a comment. An empty line ends the search.
func silencedLine(doc *yamltree.Document, from int) int {
	starts := doc.LineStarts()
	line, _ := doc.LineAndColumn(from)
	if len(bytes.TrimSpace(doc.Data[starts[line-1]:from])) > 0 {
		return line
	}
	for at := line; at < len(starts); at++ {
		first, _, _ := bytes.Cut(doc.Data[starts[at]:], []byte("\n"))
		switch text := bytes.TrimSpace(first); {
		case len(text) == 0:
			return 0
		case text[0] != '#':
			return at + 1
		}
	}
	return 0
}
