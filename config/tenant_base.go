package config

import (
	"encoding/json"
	"errors"

	"github.com/agentruntime/agentruntime/config/internal/keys"
	"github.com/agentruntime/agentruntime/config/internal/tenant"
	"github.com/agentruntime/agentruntime/spec"
)

// TenantBase is a configuration as a base for tenant overlays. It is safe for concurrent use.
type TenantBase struct {
	// Rights limits what overlays may do.
	Rights spec.TenantRights

	options Options
	// name is the document's name; relative paths start at its directory.
	name string
	base *tenant.Base
}

// ErrNoTenants reports a configuration that allows no tenant overlays.
var ErrNoTenants = errors.New("the configuration has no tenants.may, so tenants have no overlays: add tenants: {may: {}}")

// NewTenantBase reads a document returned by File.Document as a base for overlays. It returns
// ErrNoTenants if the configuration allows none.
func NewTenantBase(file *File, name string, document json.RawMessage) (*TenantBase, error) {
	if !file.TenantRules.HasOverlays() {
		return nil, ErrNoTenants
	}
	b := &TenantBase{Rights: *file.TenantRules.May, options: file.options, name: name}
	known := make(map[string]tenant.Entries)
	for _, registry := range []string{keys.Agents, keys.Tools, keys.Workflows} {
		list, err := file.patchedEntries(document, registry)
		if err != nil {
			return nil, err
		}
		known[registry] = make(tenant.Entries, len(list))
		for _, e := range list {
			known[registry][e.ID] = e.Value
		}
	}
	b.base = tenant.NewBase(&b.Rights, known)
	return b, nil
}

// SeenWith returns the configuration that a tenant with the given workflows sees.
func (b *TenantBase) SeenWith(workflows []string) *TenantBase {
	base := b.base.SeenWith(workflows)
	if base == b.base {
		return b
	}
	return &TenantBase{Rights: b.Rights, options: b.options, name: b.name, base: base}
}

// patchedEntries returns the entries of a registry of the file's document, with patches applied.
func (f *File) patchedEntries(document json.RawMessage, registry string) ([]DocumentEntry, error) {
	if len(f.patched) == 0 {
		return DocumentEntries(document, registry)
	}
	_, section := f.declared.FindField(registry)
	if section == nil {
		return nil, nil
	}
	var list []DocumentEntry
	for id, entry := range section.Pairs {
		w := f.newDocumentWriter(f.BaseDir())
		w.WriteEntry(registry, entry)
		if err := w.Err(); err != nil {
			return nil, err
		}
		list = append(list, DocumentEntry{ID: id.Text, Value: w.Bytes()})
	}
	return list, nil
}
