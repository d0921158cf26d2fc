package config

import (
	"regexp"

	"github.com/agentruntime/agentruntime/internal/yamltree"
)

// HasValue reports whether the files have a value at a path.
func (f *File) HasValue(path string) bool {
	at, ok := f.tree.FindPath(path)
	return ok && at.Exact && at.Value != nil
}

// References returns the variable and file references in the value at a path, nested ones included,
// as written in the files: ${NAME}, ${file:path}.
func (f *File) References(path string) []string {
	at, ok := f.tree.FindPath(path)
	if !ok || !at.Exact || at.Value == nil {
		return nil
	}
	return referencesIn(at.Value)
}

func referencesIn(n *yamltree.Node) []string {
	found := writtenReference.FindAllString(n.Text, -1)
	for _, child := range n.Children {
		found = append(found, referencesIn(child)...)
	}
	return found
}

var writtenReference = regexp.MustCompile(`\$\{[^}]*\}`)

// Place returns the location of the value at a path as file:line:column, or "" if the files lack
// the path.
func (f *File) Place(path string) string {
	if at, ok := f.tree.FindPath(path); !ok || !at.Exact {
		return ""
	}
	span, _ := f.tree.LocateSpan("", path)
	return span.Place()
}
