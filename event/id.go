package event

import "strings"

// IDMark separates an id from a mark of its owner, if someone else owns the plain id. It never
// occurs in ids chosen by callers.
const IDMark = "@"

// ShownID returns an id without the mark.
func ShownID(id string) string {
	shown, _, _ := strings.Cut(id, IDMark)
	return shown
}
