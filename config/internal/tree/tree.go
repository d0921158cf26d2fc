// Package tree holds the merged YAML tree of a configuration: its files, the positions of values in
// them, and what decoding recorded about values.
package tree

import (
	"github.com/agentruntime/agentruntime/config/internal/overlay"
	"github.com/agentruntime/agentruntime/config/internal/secret"
	"github.com/agentruntime/agentruntime/internal/yamltree"
)

// Tree is the merged YAML tree of files. A node's Document is the index of its file.
type Tree struct {
	Documents []*SourceFile
	// Root is the merged tree.
	Root *yamltree.Node
	// Origins records the effect of patches and extends.
	Origins overlay.Origins
	// Redactor hides the secrets of the files.
	Redactor secret.Redactor
	// Noted is what decoding recorded about texts.
	Noted Notes
	// Meant are the paths of fields that seem to be present under a misspelled name, so that they
	// are not reported missing too.
	Meant map[string]bool
	// Referred are the files that these files refer to.
	Referred map[string]struct{}

	spellings map[string][]string // other spellings in files, by field name
	index     map[*yamltree.Node]map[string]int
}

// FileNames returns the names of the files in the given order.
func (t *Tree) FileNames() []string {
	names := make([]string, len(t.Documents))
	for i, doc := range t.Documents {
		names[i] = doc.Name
	}
	return names
}

// AddReferredFile notes that the configuration refers to a file.
func (t *Tree) AddReferredFile(name string) {
	if name == "" {
		return
	}
	if t.Referred == nil {
		t.Referred = map[string]struct{}{}
	}
	t.Referred[name] = struct{}{}
}

// DirOf returns the base directory of a node's relative paths.
func (t *Tree) DirOf(n *yamltree.Node) string {
	if dir, ok := t.Noted.dirs[n]; ok {
		return dir
	}
	return t.Documents[n.Document].Dir
}
