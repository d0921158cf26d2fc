package document

import (
	"bytes"
	"cmp"
	"slices"
	"unicode/utf8"

	"github.com/agentruntime/agentruntime/diag"
)

// Excerpt is a document with some of another document's entries, in order, and everything outside
// of registries.
type Excerpt struct {
	Text []byte
	// of is the other document, and pieces are the origins of the excerpt's parts.
	of     []byte
	pieces []piece
}

// piece is a part of an excerpt: its offset there and in the other document.
type piece struct{ at, from int }

// ExcerptOf returns the document with the wanted entries, by registry.
func (l *Layout) ExcerptOf(wanted map[string]map[string]bool) *Excerpt {
	var out bytes.Buffer
	x := &Excerpt{of: l.Text}
	add := func(from, to int) {
		x.pieces = append(x.pieces, piece{out.Len(), from})
		out.Write(l.Text[from:to])
	}
	done := 0
	for i := range l.Sections {
		s := &l.Sections[i]
		if s.Entries == nil {
			continue
		}
		add(done, int(s.At.Value)+1)
		first := true
		for _, m := range l.wantedOf(s, wanted[s.Name]) {
			if !first {
				out.WriteByte(',')
			}
			first = false
			add(int(m.Key), int(m.End))
		}
		done = int(s.At.End) - 1
	}
	add(done, len(l.Text))
	x.Text = out.Bytes()
	return x
}

// wantedOf returns the entries of a registry with some ids.
func (l *Layout) wantedOf(s *Section, ids map[string]bool) []Member {
	if len(ids) == 0 {
		return nil
	}
	keys := make(map[string]bool, len(ids))
	for id := range ids {
		keys[quoteKey(id)] = true
	}
	var list []Member
	for _, m := range s.Entries {
		if keys[string(l.keyOf(m))] {
			list = append(list, m)
		}
	}
	return list
}

// MoveSpans converts the spans of diagnostics from the excerpt to the other document. Both have one
// line.
func (x *Excerpt) MoveSpans(list diag.List, file string) {
	from, to := newColumns(x.Text), newColumns(x.of)
	move := func(column int) int { return to.column(x.origin(from.offset(column))) }
	moveSpan := func(s *diag.Span) {
		if s.File == file && s.Line == 1 && s.EndLine == 1 {
			s.Column = move(s.Column)
			if s.EndColumn > 1 {
				s.EndColumn = move(s.EndColumn-1) + 1 // its last character may end a piece
			}
		}
	}
	for i := range list {
		moveSpan(&list[i].Span)
		for j := range list[i].Related {
			moveSpan(&list[i].Related[j].Span)
		}
	}
}

// origin returns the offset in the other document of a byte of the excerpt.
func (x *Excerpt) origin(offset int) int {
	i, found := slices.BinarySearchFunc(x.pieces, offset, func(p piece, at int) int { return cmp.Compare(p.at, at) })
	if !found {
		i--
	}
	return x.pieces[i].from + offset - x.pieces[i].at
}

// columns converts offsets in a one-line text to columns and back.
type columns struct {
	// starts are the offsets of the characters; nil if each is one byte.
	starts []int32
}

func newColumns(text []byte) columns {
	if !slices.ContainsFunc(text, func(c byte) bool { return c >= utf8.RuneSelf }) {
		return columns{}
	}
	var c columns
	for i := range string(text) {
		c.starts = append(c.starts, int32(i)) //nolint:gosec // a document is not that large
	}
	return c
}

func (c columns) offset(column int) int {
	if c.starts == nil || column > len(c.starts) {
		return column - 1
	}
	return int(c.starts[column-1])
}

func (c columns) column(offset int) int {
	if c.starts == nil {
		return offset + 1
	}
	at, _ := slices.BinarySearch(c.starts, int32(offset)) //nolint:gosec // as above
	return at + 1
}
