// Package toolname creates function names that model vendors accept.
package toolname

import (
	"crypto/sha256"
	"encoding/hex"
)

const (
	// hashLength is the length of the hash that distinguishes names that would look alike.
	hashLength = 8
	// letter is the prefix for a name that must begin with a letter.
	letter = "t_"
)

// Rule defines valid function names: letters, digits, '_' and '-', within a length.
type Rule struct {
	// Longest is the maximum number of characters.
	Longest int
	// LetterFirst requires a letter at the beginning.
	LetterFirst bool
}

// ID is the rule for tool IDs. All vendors allow as much, except for the first character.
var ID = Rule{Longest: 64}

// Allows reports whether a name satisfies the rule.
func (r Rule) Allows(name string) bool {
	if len(name) == 0 || len(name) > r.Longest || r.LetterFirst && !isLetter(name[0]) {
		return false
	}
	for i := range len(name) {
		if !isAllowed(rune(name[i])) {
			return false
		}
	}
	return true
}

// Fit returns a name that satisfies the rule: the name itself if it does. Otherwise it replaces
// each disallowed character with '_', shortens the name, and appends a hash of the original. The
// result depends on nothing else.
func (r Rule) Fit(name string) string {
	if r.Allows(name) {
		return name
	}
	fit := make([]byte, 0, len(name)+len(letter))
	for _, c := range name {
		if isAllowed(c) {
			fit = append(fit, byte(c)) //nolint:gosec // what is allowed is ASCII
		} else {
			fit = append(fit, '_')
		}
	}
	if r.LetterFirst && (len(fit) == 0 || !isLetter(fit[0])) {
		fit = append([]byte(letter), fit...)
	}
	sum := sha256.Sum256([]byte(name))
	fit = fit[:min(len(fit), r.Longest-hashLength-1)]
	return string(fit) + "_" + hex.EncodeToString(sum[:])[:hashLength]
}

func isAllowed(c rune) bool {
	return '0' <= c && c <= '9' || c == '_' || c == '-' || c < 128 && isLetter(byte(c))
}

func isLetter(c byte) bool { return 'a' <= c|' ' && c|' ' <= 'z' }
