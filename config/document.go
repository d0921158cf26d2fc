package config

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/config/internal/decode"
	"github.com/agentruntime/agentruntime/config/internal/document"
	"github.com/agentruntime/agentruntime/config/internal/expand"
	"github.com/agentruntime/agentruntime/config/internal/keys"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/rawjson"
	"github.com/agentruntime/agentruntime/internal/yamltree"
)

// PlainSecretError reports fields that may hold secrets, such as env, headers and keys, whose
// values are not references. They are not stored.
type PlainSecretError struct {
	// Paths are the places of the secrets.
	Paths []string
}

// Error names the first of the places.
func (e *PlainSecretError) Error() string {
	text := e.Paths[0]
	if n := len(e.Paths) - 1; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text + " is written in plain text, and env, headers, keys and parameters of URLs are stored only as references: " + referenceHint
}

const referenceHint = "write ${NAME} and set the variable, ${file:path}, or in tools of a tenant ${tenant.NAME}"

// Findings returns a diagnostic for each of the places.
func (e *PlainSecretError) Findings() diag.List {
	list := make(diag.List, len(e.Paths))
	for i, path := range e.Paths {
		list[i] = diag.New(diag.PlainSecret, path, "the value is in plain text, and env, headers, keys and parameters of URLs are stored only as references").WithHint("%s", referenceHint)
		list[i].Severity = diag.Error
	}
	return list
}

// Document returns the declarations, without settings, as one document of canonical JSON for
// Parse. Patches of a single file stay patches; several files are merged. Variables and files
// that may hold secrets stay references, other files are inlined. Relative paths start at
// BaseDir, or at the directory in an entry's $dir. The error is a *PlainSecretError if a secret
// field is not a reference.
func (f *File) Document() ([]byte, error) {
	text, plain, err := f.writeDocument()
	if len(plain) > 0 {
		slices.Sort(plain)
		return nil, &PlainSecretError{Paths: slices.Compact(plain)}
	}
	return text, err
}

// writeDocument returns Document's result and the paths of plain-text secrets. With such paths it
// must be neither stored nor shown.
func (f *File) writeDocument() (text []byte, plain []string, err error) {
	if f.isEdited() {
		return f.edited.Text, nil, nil
	}
	written := f
	if bare := f.withoutPatches(); bare != nil {
		written = bare
	}
	w := &documentWriter{file: written, base: written.BaseDir()}
	w.WriteString(`{"version":1`)
	for _, name := range keys.Declared {
		if _, section := written.declared.FindField(name); section != nil && len(section.Children) > 0 {
			w.WriteName(name)
			if err := w.writeSection(name, section); err != nil {
				return nil, nil, err
			}
		}
	}
	if written != f {
		w.file = f
		if err := w.writePatches(); err != nil {
			return nil, nil, err
		}
	}
	w.WriteByte('}')
	return w.Bytes(), w.plain, nil
}

// withoutPatches returns the file without its patches. It returns nil for a file without patches,
// and if its patches cannot stay patches: patches of several files are applied in order, and
// entries that are invalid without them would not be read completely.
func (f *File) withoutPatches() *File {
	if len(f.tree.Documents) != 1 || len(f.patched) == 0 {
		return nil
	}
	opts := f.options
	opts.RequireVariables = false
	doc := f.tree.Documents[0]
	bare, found := parseBare(Source{Name: doc.Name, Data: doc.Data}, opts, f.included)
	if found.HasErrors() {
		return nil
	}
	return bare
}

// BaseDir returns the base directory of Document's relative paths: the first file's directory.
func (f *File) BaseDir() string {
	if len(f.tree.Documents) == 0 {
		return ""
	}
	return f.tree.Documents[0].Dir
}

// DocumentHash returns the document's hash, and whether there is a document.
func (f *File) DocumentHash() (string, bool) {
	document, err := f.Document()
	if err != nil && len(f.tree.Documents) == 1 && f.tree.Documents[0].Stored {
		document, err = f.tree.Documents[0].Data, nil
	}
	return HashDocument(document), err == nil
}

// HashDocument returns the hash that names a document.
func HashDocument(document []byte) string {
	sum := sha256.Sum256(document)
	return hex.EncodeToString(sum[:])
}

// ComparedParts returns the documents of two files without the entries equal in both, which takes
// far less time than reading both. They may contain secrets, and must be neither stored nor shown.
func ComparedParts(before, after *File) (old, fresh []byte, err error) {
	was, now := before.asEdited(), after.asEdited()
	if was != nil && now != nil {
		if bytes.Equal(was.Text, now.Text) {
			return nil, nil, nil
		}
		old, fresh = document.DifferingParts(was.Layout, now.Layout)
		if !bytes.Equal(old, fresh) {
			return old, fresh, nil
		}
	} // the order of entries differs, or the documents have to be written
	if old, _, err = before.writeDocument(); err != nil {
		return nil, nil, err
	}
	fresh, _, err = after.writeDocument()
	return old, fresh, err
}

// documentWriter writes a tree as JSON with its references.
type documentWriter struct {
	rawjson.Writer

	file  *File
	base  string
	plain []string
	// keepsPaths is set if relative paths start at the directory of the changed entry.
	keepsPaths bool
	// extending is the agent being written if it extends another: null keeps a field that a patch
	// has cleared from being inherited.
	extending *yamltree.Node
}

func (w *documentWriter) writeSection(name string, section *yamltree.Node) error {
	if section.Kind != yamltree.Mapping {
		return w.writeNode(section)
	}
	w.WriteByte('{')
	for id, entry := range section.Pairs {
		w.WriteName(id.Text)
		if err := w.writeEntry(name, entry); err != nil {
			return err
		}
	}
	w.WriteByte('}')
	return nil
}

// writePatches writes a file's patches unchanged.
func (w *documentWriter) writePatches() error {
	w.keepsPaths = true
	_, patches := w.file.tree.Documents[0].Root.FindField(keys.Patches)
	w.WriteName(keys.Patches)
	w.WriteByte('{')
	for key, value := range patches.Pairs {
		if keys.IsExtension(key.Text) || value.Kind == yamltree.Null || value.Kind == yamltree.Mapping && len(value.Children) == 0 {
			continue
		}
		w.WriteName(key.Text)
		if err := w.writeNode(value); err != nil {
			return err
		}
	}
	w.WriteByte('}')
	return nil
}

// writeEntry writes an entry of a section.
func (w *documentWriter) writeEntry(section string, entry *yamltree.Node) error {
	if slices.Contains(placedSections, section) {
		return w.writePlaced(entry)
	}
	if _, extends := entry.FindField(keys.Extends); section == keys.Agents && extends != nil && extends.Kind == yamltree.String {
		w.extending = entry
		defer func() { w.extending = nil }()
	}
	return w.writeNode(entry)
}

func (w *documentWriter) writeNode(n *yamltree.Node) error {
	if known := w.file.tree.Noted.Find(n); known.Plain != "" || known.PlainURL != "" {
		w.plain = append(w.plain, cmp.Or(known.Plain, known.PlainURL))
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
			if err := w.writeNode(child); err != nil {
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
		w.WriteString(v.JSON)
	}
	return nil
}

func (w *documentWriter) writeFields(n *yamltree.Node) error {
	w.WriteByte('{')
	if err := w.writePairs(n); err != nil {
		return err
	}
	w.WriteByte('}')
	return nil
}

func (w *documentWriter) writePairs(n *yamltree.Node) error {
	for key, value := range n.Pairs {
		w.WriteName(key.Text)
		if err := w.writeNode(value); err != nil {
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
func (w *documentWriter) clearedFields(n *yamltree.Node) (names []string) {
	if w.extending == nil {
		return nil
	}
	for name := range w.file.tree.Origins.Cleared[n] {
		if n != w.extending || !isNamesField(name) || !strings.HasPrefix(name, "allowed_") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// promptOf returns the content of the file that a prompt names.
func (w *documentWriter) promptOf(n *yamltree.Node) (content string, ok bool) {
	_, name := n.FindField("file")
	if name == nil || len(n.Children) != 2 {
		return "", false
	}
	prompt := w.file.tree.Noted.Find(name).Prompt
	if prompt == nil {
		return "", false
	}
	return *prompt, true
}

// textOf returns a file's text in its document form.
func (w *documentWriter) textOf(n *yamltree.Node) (string, error) {
	dir := w.file.tree.DirOf(n)
	text, noted := n.Text, w.file.tree.Noted.Find(n)
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
		read, ok := w.file.included[expand.RelativeTo(dir, path)]
		if !ok || read.Err != nil {
			return "", fmt.Errorf("write document: the file %s was not read", path)
		}
		out.WriteString(expand.Escape(strings.TrimRight(read.Text, "\r\n")))
	}
	return out.String() + text, nil
}

// rebase converts a path relative to a directory into one relative to the base.
func (w *documentWriter) rebase(dir, path string) (string, error) {
	if path == "" || dir == w.base || w.keepsPaths || filepath.IsAbs(path) {
		return path, nil
	}
	rebased, err := filepath.Rel(w.base, filepath.Join(dir, path))
	if err != nil {
		return "", fmt.Errorf("write document: %w", err)
	}
	return filepath.ToSlash(rebased), nil
}
