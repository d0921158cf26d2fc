package registry

import (
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/spec"
)

// sound returns what nothing can be resolved with: entries that are nil, and
// records that stand under another id than their own. Such a draft is never
// published, not even unchecked.
func (s *Set) sound() diag.List {
	if s == nil {
		return diag.List{diag.New(diag.InvalidValue, "", "the draft has no set")}
	}
	var list diag.List
	records(&list, s.Agents, func(a *spec.Agent) string { return a.ID })
	records(&list, s.Models, func(m *spec.Model) string { return m.ID })
	records(&list, s.Pools, func(p *spec.Pool) string { return p.ID })
	records(&list, s.Sources, func(r *Source) string { return r.Spec.Name })
	components(&list, s.Providers)
	components(&list, s.Tools)
	components(&list, s.Bundles)
	components(&list, s.Plugins)
	components(&list, s.Backends)
	return list
}

func records[T any](list *diag.List, r *Registry[*T], own func(*T) string) {
	if missing(list, r) {
		return
	}
	for id, entry := range r.All() {
		if entry == nil {
			*list = append(*list, diag.New(diag.InvalidValue, r.Path(id), "%s %q is nil", r.kind, id))
		} else if name := own(entry); name != id {
			*list = append(*list, diag.New(diag.InvalidID, r.Path(id), "%s %q stands under the id %q", r.kind, name, id))
		}
	}
}

func components[T any](list *diag.List, r *Registry[T]) {
	if missing(list, r) {
		return
	}
	for id, entry := range r.All() {
		if any(entry) == nil {
			*list = append(*list, diag.New(diag.InvalidValue, r.Path(id), "%s %q is nil", r.kind, id))
		}
	}
}

// missing reports whether there is no registry, and lists that.
func missing[T any](list *diag.List, r *Registry[T]) bool {
	if r == nil {
		*list = append(*list, diag.New(diag.InvalidValue, "", "the draft's set has no %T", r))
	}
	return r == nil
}
