package document

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/config/internal/decode"
	"github.com/agentruntime/agentruntime/config/internal/expand"
	"github.com/agentruntime/agentruntime/config/internal/keys"
	"github.com/agentruntime/agentruntime/config/internal/tree"
	"github.com/agentruntime/agentruntime/internal/rawjson"
	"github.com/agentruntime/agentruntime/internal/yamltree"
)

// Writer writes a tree as JSON with its references.
type Writer struct {
	rawjson.Writer

	Tree *tree.Tree
	// Included are the files whose contents replace references to them.
	Included map[string]expand.Included
	// Base is the directory where the document's relative paths start.
	Base string
	// Plain are the paths of plain-text secrets.
	Plain []string
	// keepsPaths is set if relative paths start at the directory of the changed entry.
	keepsPaths bool
	// err is the first error.
	err error
	// extending is the agent being written if it extends another: null keeps a field that a patch
	// has cleared from being inherited.
	extending *yamltree.Node
}

// WriteSection writes the value of a top-level key.
func (w *Writer) WriteSection(name string, section *yamltree.Node) {
	if section.Kind != yamltree.Mapping {
		w.WriteNode(section)
		return
	}
	w.WriteByte('{')
	for id, entry := range section.Pairs {
		w.WriteName(id.Text)
		w.WriteEntry(name, entry)
	}
	w.WriteByte('}')
}

// WritePatches writes a file's patches unchanged.
func (w *Writer) WritePatches() {
	w.keepsPaths = true
	_, patches := w.Tree.Documents[0].Root.FindField(keys.Patches)
	w.WriteName(keys.Patches)
	w.WriteByte('{')
	for key, value := range patches.Pairs {
		if keys.IsExtension(key.Text) || value.Kind == yamltree.Null || value.Kind == yamltree.Mapping && len(value.Children) == 0 {
			continue
		}
		w.WriteName(key.Text)
		w.WriteNode(value)
	}
	w.WriteByte('}')
}

// WriteEntry writes an entry of a section.
func (w *Writer) WriteEntry(section string, entry *yamltree.Node) {
	if slices.Contains(keys.Placed, section) {
		w.writePlaced(entry)
		return
	}
	if _, extends := entry.FindField(keys.Extends); section == keys.Agents && extends != nil && extends.Kind == yamltree.String {
		w.extending = entry
		defer func() { w.extending = nil }()
	}
	w.WriteNode(entry)
}

// writePlaced writes an entry that becomes a component. Its paths start at its own directory, which
// the entry then names.
func (w *Writer) writePlaced(entry *yamltree.Node) {
	dir := w.Tree.DirOf(entry)
	if dir == w.Base || entry.Kind != yamltree.Mapping || len(entry.Children) == 0 {
		w.WriteNode(entry)
		return
	}
	named := w.rebase(dir, ".")
	base := w.Base
	w.Base = dir
	defer func() { w.Base = base }()
	w.WriteByte('{')
	w.WriteName(keys.Dir)
	w.WriteText(named)
	w.writePairs(entry)
	w.WriteByte('}')
}

// WriteNode writes a value.
func (w *Writer) WriteNode(n *yamltree.Node) {
	if known := w.Tree.Noted.Find(n); known.Plain != "" || known.PlainURL != "" {
		w.Plain = append(w.Plain, cmp.Or(known.Plain, known.PlainURL))
	}
	switch n.Kind {
	case yamltree.Mapping:
		if content, ok := w.promptOf(n); ok {
			w.WriteText(content)
			return
		}
		w.WriteByte('{')
		w.writePairs(n)
		w.WriteByte('}')
	case yamltree.Sequence:
		w.WriteByte('[')
		for i, child := range n.Children {
			if i > 0 {
				w.WriteByte(',')
			}
			w.WriteNode(child)
		}
		w.WriteByte(']')
	case yamltree.String:
		w.WriteText(w.textOf(n))
	case yamltree.Null:
		w.WriteString("null")
	case yamltree.Bool:
		w.WriteString(decode.LowerBool(n.Text))
	default:
		v, err := decode.ParseNumber(n.Text)
		w.noteError(err)
		w.WriteString(string(v))
	}
}

func (w *Writer) writePairs(n *yamltree.Node) {
	for key, value := range n.Pairs {
		w.WriteName(key.Text)
		w.WriteNode(value)
	}
	for _, name := range w.clearedFields(n) {
		w.WriteName(name)
		w.WriteString("null")
	}
}

// clearedFields returns the fields to write as null. An allow list is not one of them: null would
// allow no tools. It is inherited, unless the agent has another one.
func (w *Writer) clearedFields(n *yamltree.Node) (names []string) {
	if w.extending == nil {
		return nil
	}
	for name := range w.Tree.Origins.Cleared[n] {
		if n != w.extending || !keys.IsNamesField(name) || !strings.HasPrefix(name, "allowed_") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// promptOf returns the content of the file that a prompt names.
func (w *Writer) promptOf(n *yamltree.Node) (content string, ok bool) {
	_, name := n.FindField("file")
	if name == nil || len(n.Children) != 2 {
		return "", false
	}
	prompt := w.Tree.Noted.Find(name).Prompt
	if prompt == nil {
		return "", false
	}
	return *prompt, true
}

// textOf returns a file's text in its document form.
func (w *Writer) textOf(n *yamltree.Node) string {
	dir := w.Tree.DirOf(n)
	text, noted := n.Text, w.Tree.Noted.Find(n)
	if noted.IsPath && !strings.HasPrefix(text, "${") {
		return w.rebase(dir, text)
	}
	const mark = "${file:"
	var out strings.Builder
	for {
		at := expand.IndexReference(text, mark)
		if at < 0 {
			break
		}
		end := strings.IndexByte(text[at:], '}')
		if end < 0 {
			break
		}
		out.WriteString(text[:at])
		path := text[at+len(mark) : at+end]
		text = text[at+end+1:]
		if noted.IsSecret {
			out.WriteString(mark + w.rebase(dir, path) + "}")
			continue
		}
		read, ok := w.Included[expand.RelativeTo(dir, path)]
		if !ok || read.Err != nil {
			w.noteError(fmt.Errorf("the file %s was not read", path))
		}
		out.WriteString(expand.Escape(strings.TrimRight(read.Text, "\r\n")))
	}
	return out.String() + text
}

// rebase converts a path relative to a directory into one relative to the base.
func (w *Writer) rebase(dir, path string) string {
	if path == "" || dir == w.Base || w.keepsPaths || filepath.IsAbs(path) {
		return path
	}
	rebased, err := filepath.Rel(w.Base, filepath.Join(dir, path))
	w.noteError(err)
	return filepath.ToSlash(rebased)
}

func (w *Writer) noteError(err error) {
	if w.err == nil && err != nil {
		w.err = fmt.Errorf("write document: %w", err)
	}
}

// Err returns the first error; the text is then useless.
func (w *Writer) Err() error { return w.err }
