package config

import (
	"path/filepath"
	"slices"

	"github.com/agentruntime/agentruntime/config/internal/expand"
	"github.com/agentruntime/agentruntime/config/internal/keys"
	"github.com/agentruntime/agentruntime/internal/yamltree"
)

// placedSections are the top-level keys whose entries become components, which know their file's
// directory.
var placedSections = []string{"providers", "tools", "plugins", "agent_providers"}

// readDirs records the entries' directories and removes the fields that name them. A non-text
// directory stays and is an unknown field.
func (l *loader) readDirs() {
	for _, name := range placedSections {
		_, section := l.Tree.Root.FindField(name)
		for _, entry := range section.Pairs {
			_, value := entry.FindField(keys.Dir)
			if value == nil || value.Kind != yamltree.String || value.Text == "" {
				continue
			}
			dir := expand.RelativeTo(l.Tree.Documents[value.Document].Dir, filepath.FromSlash(value.Text))
			at := slices.Index(entry.Children, value) - 1
			entry.Children = slices.Delete(slices.Clone(entry.Children), at, at+2)
			l.Tree.Noted.PlaceNodes(entry, value.Document, dir)
		}
	}
}

// writePlaced writes an entry that becomes a component. Its paths start at its own directory, which
// the entry then names.
func (w *documentWriter) writePlaced(entry *yamltree.Node) error {
	dir := w.file.tree.DirOf(entry)
	if dir == w.base || entry.Kind != yamltree.Mapping || len(entry.Children) == 0 {
		return w.writeNode(entry)
	}
	named, err := w.rebase(dir, ".")
	if err != nil {
		return err
	}
	base := w.base
	w.base = dir
	defer func() { w.base = base }()
	w.WriteByte('{')
	w.WriteName(keys.Dir)
	w.WriteText(named)
	if err := w.writePairs(entry); err != nil {
		return err
	}
	w.WriteByte('}')
	return nil
}
