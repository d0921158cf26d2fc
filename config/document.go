package config

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/agentruntime/agentruntime/config/internal/document"
	"github.com/agentruntime/agentruntime/config/internal/keys"
	"github.com/agentruntime/agentruntime/diag"
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
		list[i] = diag.New(diag.PlainSecret, path, "the value is in plain text, and env, headers, keys and parameters of URLs are stored only as references").
			WithSeverity(diag.Error).WithHint("%s", referenceHint)
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
	w := written.newDocumentWriter(written.BaseDir())
	w.WriteString(`{"version":1`)
	for _, name := range keys.Declared {
		if _, section := written.declared.FindField(name); section != nil && len(section.Children) > 0 {
			w.WriteName(name)
			w.WriteSection(name, section)
		}
	}
	if written != f {
		w.Tree, w.Included = &f.tree, f.included
		w.WritePatches()
	}
	w.WriteByte('}')
	if err := w.Err(); err != nil {
		return nil, nil, err
	}
	return w.Bytes(), w.Plain, nil
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

// newDocumentWriter returns a writer of the file's tree. Relative paths start at base.
func (f *File) newDocumentWriter(base string) *document.Writer {
	return &document.Writer{Tree: &f.tree, Included: f.included, Base: base}
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
