package config

import (
	"path/filepath"
	"slices"
)

// dirKey is a document entry's field with the base of its relative paths, as a path from the
// document's directory. Entries of files in other directories have it, because a component may use
// its directory for more than the fields known to be paths.
const dirKey = "$dir"

// placedSections are the top-level keys whose entries become components, which know their file's
// directory.
var placedSections = []string{"providers", "tools", "plugins", "agent_providers"}

// readDirs records the entries' directories and removes the fields that name them. A non-text
// directory stays and is an unknown field.
func (l *loader) readDirs() {
	for _, name := range placedSections {
		_, section := l.file.root.findField(name)
		for _, entry := range section.pairs {
			_, value := entry.findField(dirKey)
			if value == nil || value.kind != stringNode || value.text == "" {
				continue
			}
			dir := relativeTo(l.file.documents[value.document].dir, filepath.FromSlash(value.text))
			at := slices.Index(entry.children, value) - 1
			entry.children = slices.Delete(slices.Clone(entry.children), at, at+2)
			l.file.noted.placeNodes(entry, value.document, dir)
		}
	}
}

// placeNodes records the directory of a node and of its descendants from the same file.
func (t *notedTexts) placeNodes(n *node, document uint16, dir string) {
	if _, known := t.dirs[n]; known || n.document != document {
		return
	}
	if t.dirs == nil {
		t.dirs = make(map[*node]string)
	}
	t.dirs[n] = dir
	for _, child := range n.children {
		t.placeNodes(child, document, dir)
	}
}

// dirOf returns the base directory of a node's relative paths.
func (f *File) dirOf(n *node) string {
	if dir, ok := f.noted.dirs[n]; ok {
		return dir
	}
	return f.documents[n.document].dir
}

// writePlaced writes an entry that becomes a component. Its paths start at its own directory, which
// the entry then names.
func (w *documentWriter) writePlaced(entry *node) error {
	dir := w.file.dirOf(entry)
	if dir == w.base || entry.kind != mappingNode || len(entry.children) == 0 {
		return w.writeNode(entry)
	}
	named, err := w.rebase(dir, ".")
	if err != nil {
		return err
	}
	base := w.base
	w.base = dir
	defer func() { w.base = base }()
	w.out.WriteString(`{"` + dirKey + `":`)
	w.writeText(named)
	w.out.WriteByte(',')
	if err := w.writePairs(entry); err != nil {
		return err
	}
	w.out.WriteByte('}')
	return nil
}
