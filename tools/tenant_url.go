package tools

import (
	"net/url"
	"strings"
)

// hostCharacters are the characters that a variable may add to a host's name.
const hostCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-."

// IsHostPart reports whether the value of a variable can be part of the name of a host.
func IsHostPart(value string) bool {
	return value != "" && strings.Trim(value, hostCharacters) == "" && !strings.Contains(value, "..")
}

// LeavesPath reports whether an escaped path segment contains "." or ".." after unescaping,
// including after a slash or before path parameters.
func LeavesPath(segment string) bool {
	if !strings.ContainsAny(segment, ".%") {
		return false
	}
	plain, err := url.PathUnescape(segment)
	if err != nil {
		return true
	}
	for piece := range strings.FieldsFuncSeq(plain, func(r rune) bool { return r == '/' || r == '\\' }) {
		piece, _, _ = strings.Cut(piece, ";")
		if piece == "." || piece == ".." {
			return true
		}
	}
	return false
}
