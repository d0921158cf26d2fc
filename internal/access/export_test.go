package access

import (
	"slices"
	"strings"
)

// Covers reports whether the table classifies a field.
func Covers(path string) bool {
	return slices.ContainsFunc(fields, func(f Field) bool {
		return f.Path == path || f.whole && strings.HasPrefix(path, f.Path+".")
	})
}

// Compared reports whether Widened compares the field.
func (f *Field) Compared() bool { return f.widens != nil }
