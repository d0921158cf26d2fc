// Package nearest finds the name that was probably meant by a mistyped one.
package nearest

import (
	"math/bits"
	"unicode"
	"unicode/utf8"
)

const (
	// maxEdits is the maximum number of edits between two names, however long.
	maxEdits = 3
	// maxExact limits the work on case differences: candidates with more differences are not ranked
	// by them.
	maxExact = 16
)

// Of returns the candidate nearest to name; ok is false if none is near enough to be a likely
// match.
//
// Nearness is the number of edits (a character inserted, deleted or replaced, or two neighbors
// swapped) between the two names ignoring case, so that a pure case difference always counts as
// near. Up to a third of the characters of name may be edited, at least one and at most three, and
// two names must share at least one character. Among equally near candidates, the one with fewer
// case differences wins, then the first.
func Of(name string, candidates []string) (nearest string, ok bool) {
	if name == "" {
		return "", false
	}
	s := newSearch(name)
	for _, candidate := range candidates {
		s.considerCandidate(candidate)
		if s.limit < 0 {
			break // best is name itself
		}
	}
	return s.best, s.found
}

// search is the state of one call of Of. Its slices are reused for each candidate.
type search struct {
	name   []rune // as written
	folded []rune // without case
	mask   uint64 // the letters of folded
	table  table

	other, otherFolded []rune

	found bool
	best  string
	edits int // between name and best, ignoring case
	exact int // between name and best as written, at most maxExact+1
	limit int // maximum edits for a candidate to beat best
}

func newSearch(name string) *search {
	s := &search{limit: min(max(utf8.RuneCountInString(name)/3, 1), maxEdits)}
	s.name, s.folded, s.mask = decodeName(name, nil, nil)
	return s
}

// considerCandidate makes candidate the best one if it is nearer than the current best.
func (s *search) considerCandidate(candidate string) {
	if n := utf8.RuneCountInString(candidate); abs(n-len(s.name)) > s.limit {
		return
	}
	var mask uint64
	s.other, s.otherFolded, mask = decodeName(candidate, s.other[:0], s.otherFolded[:0])
	// Each letter that only one name has costs an edit.
	if max(bits.OnesCount64(s.mask&^mask), bits.OnesCount64(mask&^s.mask)) > s.limit {
		return
	}
	edits, ok := s.table.distance(s.folded, s.otherFolded, s.limit)
	if !ok || edits >= max(len(s.folded), len(s.otherFolded)) {
		return
	}
	tie := s.found && edits == s.edits
	bound := maxExact
	if tie {
		bound = min(bound, s.exact-1)
	}
	exact, ok := s.table.distance(s.name, s.other, bound)
	switch {
	case ok:
		s.acceptCandidate(candidate, edits, exact)
	case !tie:
		s.acceptCandidate(candidate, edits, maxExact+1)
	}
}

// acceptCandidate records a new best candidate and lowers the limit to what can still beat it:
// fewer edits or, if it differs in case, as many.
func (s *search) acceptCandidate(candidate string, edits, exact int) {
	s.found, s.best, s.edits, s.exact = true, candidate, edits, exact
	s.limit = edits
	if exact == edits {
		s.limit--
	}
}

// decodeName appends the characters of name to written and their caseless forms to folded, and
// returns both with the set of the latter. The set has 64 bits, so different letters may share one.
func decodeName(name string, written, folded []rune) (w, f []rune, mask uint64) {
	for _, r := range name {
		written = append(written, r)
		r = foldRune(r)
		folded = append(folded, r)
		mask |= 1 << (uint32(r) % 64) //nolint:gosec // runes of a string are never negative
	}
	return written, folded, mask
}

func foldRune(r rune) rune {
	switch {
	case 'A' <= r && r <= 'Z':
		return r + 'a' - 'A'
	case r < utf8.RuneSelf:
		return r
	default:
		// Upper case first: it unifies letters that have two lower-case forms.
		return unicode.ToLower(unicode.ToUpper(r))
	}
}

func abs(n int) int { return max(n, -n) }
