package registry

import (
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/spec"
)

// checkSound returns what nothing can be resolved with: entries that are nil, and
// records that stand under another id than their own. Such a draft is never
// published, not even unchecked.
func (s *Set) checkSound() diag.List {
	if s == nil {
		return diag.List{diag.New(diag.InvalidValue, "", "the draft has no set")}
	}
	var list diag.List
	checkRecords(&list, s.Agents, func(a *spec.Agent) string { return a.ID })
	checkRecords(&list, s.Models, func(m *spec.Model) string { return m.ID })
	checkRecords(&list, s.Pools, func(p *spec.Pool) string { return p.ID })
	checkRecords(&list, s.Sources, func(r *Source) string { return r.Spec.Name })
	checkComponents(&list, s.Providers)
	checkComponents(&list, s.Tools)
	checkComponents(&list, s.Bundles)
	checkComponents(&list, s.Plugins)
	checkComponents(&list, s.Backends)
	return list
}

func checkRecords[T any](list *diag.List, r *Registry[*T], own func(*T) string) {
	if reportMissing(list, r) {
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

func checkComponents[T any](list *diag.List, r *Registry[T]) {
	if reportMissing(list, r) {
		return
	}
	for id, entry := range r.All() {
		if any(entry) == nil {
			*list = append(*list, diag.New(diag.InvalidValue, r.Path(id), "%s %q is nil", r.kind, id))
		}
	}
}

// reportMissing reports whether there is no registry, and lists that.
func reportMissing[T any](list *diag.List, r *Registry[T]) bool {
	if r == nil {
		*list = append(*list, diag.New(diag.InvalidValue, "", "the draft's set has no %T", r))
	}
	return r == nil
}
