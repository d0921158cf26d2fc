package event

import "strings"

// IDMark separates an id from a mark of its owner, where the plain id belongs to somebody else.
// It never occurs in ids that callers choose.
const IDMark = "@"

// ShownID returns an id without the mark.
func ShownID(id string) string {
	shown, _, _ := strings.Cut(id, IDMark)
	return shown
}
