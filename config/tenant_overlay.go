package config

import (
	"encoding/json"
	"slices"

	"github.com/agentruntime/agentruntime/config/internal/keys"
	"github.com/agentruntime/agentruntime/config/internal/tenant"
	"github.com/agentruntime/agentruntime/config/internal/tree"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/yamltree"
)

// TenantOverlay is a tenant's overlay on top of a configuration. It does not include unchanged
// entries.
type TenantOverlay struct {
	// Document is the overlay as canonical JSON.
	Document []byte
	// File has the entries that the overlay changes or adds, merged with the configuration's, and
	// possibly the agents that they extend.
	File *File
	// Agents, Tools and Workflows differ from the configuration's. OwnTools and OwnWorkflows do
	// not exist in the configuration. Removed are ids by registry.
	Agents, Tools, OwnTools, Workflows, OwnWorkflows []string

	Removed map[string][]string
}

// HasWorkflows reports whether the overlay adds or changes workflows.
func (o *TenantOverlay) HasWorkflows() bool {
	return len(o.Workflows)+len(o.Removed[keys.Workflows]) > 0
}

// ParseTenantOverlay reads a tenant's overlay on top of a configuration. An overlay has patches of
// agents, of workflows and of tool descriptions, plus agents, workflows, and tools of the kinds
// that the configuration allows. It does not report findings of resolving: whether agents may use
// more than the configuration permits.
func ParseTenantOverlay(base *TenantBase, source Source) (*TenantOverlay, diag.List) {
	c, found := tenant.NewChecker(base.base).Check(tree.NewSourceFile(source.Name, source.Data))
	o := &TenantOverlay{Agents: c.Agents, Tools: c.Tools, OwnTools: c.OwnTools, Workflows: c.Workflows, OwnWorkflows: c.OwnWorkflows, Removed: c.Removed}
	if found != nil {
		return o, found
	}
	excerpt, err := base.base.Excerpt(c)
	if err != nil {
		return o, diag.List{diag.New(diag.InvalidValue, "", "the overlay cannot be read: %v", err)}
	}
	o.File, found = Parse([]Source{{Name: base.name, Data: excerpt}, source}, base.options)
	found = slices.DeleteFunc(found, func(f diag.Diagnostic) bool {
		return f.File == base.name && f.Severity != diag.Error
	})
	for i := range found {
		if found[i].Code == diag.UnmatchedPatch {
			found[i] = base.base.HintUnmatched(found[i])
		}
	}
	if found.HasErrors() {
		return o, found
	}
	if source.Stored {
		o.Document = source.Data
	} else if o.Document, err = o.File.overlayDocument(); err != nil {
		return o, append(found, plainSecretFindings(err)...)
	}
	return o, found
}

// EncodeTenantOverlay returns the overlay in a file as JSON for a server, which checks it against
// its own configuration; references in texts stay. The diagnostics concern the file alone.
func EncodeTenantOverlay(source Source) (json.RawMessage, diag.List) {
	d := tenant.NewChecker(nil)
	root := d.Read(tree.NewSourceFile(source.Name, source.Data))
	if root == nil || d.Found.HasErrors() {
		return nil, d.Found
	}
	return d.EncodeAsWritten(root), d.Found
}

// plainSecretFindings returns the diagnostics in an error of Document.
func plainSecretFindings(err error) diag.List {
	if e, ok := err.(*PlainSecretError); ok { //nolint:errorlint // it is not wrapped
		return e.Findings()
	}
	return diag.List{diag.New(diag.InvalidValue, "", "%v", err)}
}

// overlayDocument returns the second of two documents as canonical JSON. The error is a
// *PlainSecretError.
func (f *File) overlayDocument() ([]byte, error) {
	w := f.newDocumentWriter(f.tree.Documents[1].Dir)
	w.WriteString(`{"version":1`)
	for _, name := range tenant.Sections {
		_, section := f.tree.Documents[1].Root.FindField(name)
		if section == nil || len(section.Children) == 0 {
			continue
		}
		w.WriteName(name)
		w.WriteNode(section)
	}
	w.WriteByte('}')
	if err := w.Err(); err != nil {
		return nil, err
	}
	if plain := slices.Concat(w.Plain, f.tree.Noted.PlainTexts()); len(plain) > 0 {
		slices.Sort(plain)
		return nil, &PlainSecretError{slices.Compact(plain)}
	}
	return w.Bytes(), nil
}

// PathOf returns the path of the first of the fields that the overlay sets for an agent, or else
// the path of the agent's part of the overlay.
func (o *TenantOverlay) PathOf(agent string, fields []string) string {
	root := o.File.tree.Documents[1].Root
	_, own := root.FindField(keys.Agents)
	path, entry := diag.Key(keys.Agents, agent), (*yamltree.Node)(nil)
	if _, entry = own.FindField(agent); entry == nil {
		_, patches := root.FindField(keys.Patches)
		_, patched := patches.FindField(keys.Agents)
		if _, entry = patched.FindField(agent); entry != nil {
			path = diag.Join(keys.Patches, path)
		}
	}
	for _, name := range fields {
		if key, _ := entry.FindField(name); key != nil {
			return diag.Key(path, name)
		}
	}
	return path
}

// Place maps the places of diagnostics about the resulting configuration to places in the overlay,
// and hides secrets in them. It drops no diagnostics.
func (o *TenantOverlay) Place(list diag.List) diag.List {
	placed := slices.Clone(list)
	for i := range placed {
		o.File.tree.FillSpans(&placed[i])
	}
	o.File.tree.NameCharacters(placed)
	o.File.tree.Redactor.RedactDiagnostics(placed)
	return placed
}

// DecidedPaths gives the diagnostics in list the paths that decided, in the overlay or the
// configuration. It modifies list.
func (o *TenantOverlay) DecidedPaths(list diag.List) diag.List {
	if o.File == nil { // not yet read
		return list
	}
	for i := range list {
		list[i].Path = o.File.DecidedPath(list[i].Path)
	}
	return list
}
