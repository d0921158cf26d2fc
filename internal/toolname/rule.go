// Package toolname makes names of functions that vendors of models accept.
package toolname

import (
	"crypto/sha256"
	"encoding/hex"
)

const (
	// hashLength is how many characters tell names apart that would look alike.
	hashLength = 8
	// letter is put before a name that must begin with one.
	letter = "t_"
)

// Rule defines valid function names: letters, digits, '_' and '-', within a length.
type Rule struct {
	// Longest is the number of characters that are allowed.
	Longest int
	// LetterFirst requires a letter at the beginning.
	LetterFirst bool
}

// ID is the rule for the IDs of tools. All vendors allow as much, except for the first
// character.
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

// Fit returns a name that satisfies the rule: the name itself if it does. In others each
// character that is not allowed becomes '_', the whole is shortened, and a hash of the name
// is put at the end. The result depends on nothing else.
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
