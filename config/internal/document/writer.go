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
	// extending is the agent being written if it extends another: null keeps a field that a patch
	// has cleared from being inherited.
	extending *yamltree.Node
}

// WriteSection writes the value of a top-level key.
func (w *Writer) WriteSection(name string, section *yamltree.Node) error {
	if section.Kind != yamltree.Mapping {
		return w.WriteNode(section)
	}
	w.WriteByte('{')
	for id, entry := range section.Pairs {
		w.WriteName(id.Text)
		if err := w.WriteEntry(name, entry); err != nil {
			return err
		}
	}
	w.WriteByte('}')
	return nil
}

// WritePatches writes a file's patches unchanged.
func (w *Writer) WritePatches() error {
	w.keepsPaths = true
	_, patches := w.Tree.Documents[0].Root.FindField(keys.Patches)
	w.WriteName(keys.Patches)
	w.WriteByte('{')
	for key, value := range patches.Pairs {
		if keys.IsExtension(key.Text) || value.Kind == yamltree.Null || value.Kind == yamltree.Mapping && len(value.Children) == 0 {
			continue
		}
		w.WriteName(key.Text)
		if err := w.WriteNode(value); err != nil {
			return err
		}
	}
	w.WriteByte('}')
	return nil
}

// WriteEntry writes an entry of a section.
func (w *Writer) WriteEntry(section string, entry *yamltree.Node) error {
	if slices.Contains(keys.Placed, section) {
		return w.writePlaced(entry)
	}
	if _, extends := entry.FindField(keys.Extends); section == keys.Agents && extends != nil && extends.Kind == yamltree.String {
		w.extending = entry
		defer func() { w.extending = nil }()
	}
	return w.WriteNode(entry)
}

// writePlaced writes an entry that becomes a component. Its paths start at its own directory, which
// the entry then names.
func (w *Writer) writePlaced(entry *yamltree.Node) error {
	dir := w.Tree.DirOf(entry)
	if dir == w.Base || entry.Kind != yamltree.Mapping || len(entry.Children) == 0 {
		return w.WriteNode(entry)
	}
	named, err := w.rebase(dir, ".")
	if err != nil {
		return err
	}
	base := w.Base
	w.Base = dir
	defer func() { w.Base = base }()
	w.WriteByte('{')
	w.WriteName(keys.Dir)
	w.WriteText(named)
	if err := w.writePairs(entry); err != nil {
		return err
	}
	w.WriteByte('}')
	return nil
}

// WriteNode writes a value.
func (w *Writer) WriteNode(n *yamltree.Node) error {
	if known := w.Tree.Noted.Find(n); known.Plain != "" || known.PlainURL != "" {
		w.Plain = append(w.Plain, cmp.Or(known.Plain, known.PlainURL))
	}
	switch n.Kind {
	case yamltree.Mapping:
		if content, ok := w.promptOf(n); ok {
			w.WriteText(content)
			return nil
		}
		return w.writeFields(n)
	case yamltree.Sequence:
		w.WriteByte('[')
		for i, child := range n.Children {
			if i > 0 {
				w.WriteByte(',')
			}
			if err := w.WriteNode(child); err != nil {
				return err
			}
		}
		w.WriteByte(']')
	case yamltree.String:
		text, err := w.textOf(n)
		if err != nil {
			return err
		}
		w.WriteText(text)
	case yamltree.Null:
		w.WriteString("null")
	case yamltree.Bool:
		w.WriteString(decode.LowerBool(n.Text))
	default:
		v, err := decode.ParseNumber(n.Text)
		if err != nil {
			return fmt.Errorf("write document: %w", err)
		}
		w.WriteString(string(v))
	}
	return nil
}

func (w *Writer) writeFields(n *yamltree.Node) error {
	w.WriteByte('{')
	if err := w.writePairs(n); err != nil {
		return err
	}
	w.WriteByte('}')
	return nil
}

func (w *Writer) writePairs(n *yamltree.Node) error {
	for key, value := range n.Pairs {
		w.WriteName(key.Text)
		if err := w.WriteNode(value); err != nil {
			return err
		}
	}
	for _, name := range w.clearedFields(n) {
		w.WriteName(name)
		w.WriteString("null")
	}
	return nil
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
func (w *Writer) textOf(n *yamltree.Node) (string, error) {
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
			rebased, err := w.rebase(dir, path)
			if err != nil {
				return "", err
			}
			out.WriteString(mark + rebased + "}")
			continue
		}
		read, ok := w.Included[expand.RelativeTo(dir, path)]
		if !ok || read.Err != nil {
			return "", fmt.Errorf("write document: the file %s was not read", path)
		}
		out.WriteString(expand.Escape(strings.TrimRight(read.Text, "\r\n")))
	}
	return out.String() + text, nil
}

// rebase converts a path relative to a directory into one relative to the base.
func (w *Writer) rebase(dir, path string) (string, error) {
	if path == "" || dir == w.Base || w.keepsPaths || filepath.IsAbs(path) {
		return path, nil
	}
	rebased, err := filepath.Rel(w.Base, filepath.Join(dir, path))
	if err != nil {
		return "", fmt.Errorf("write document: %w", err)
	}
	return filepath.ToSlash(rebased), nil
}
