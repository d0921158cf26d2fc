package registry

import (
	"iter"
	"slices"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/spec"
)

// checkSound reports entries that make resolving impossible: nil entries, and records whose id
// differs from their key. Such a draft is never published, not even unchecked. Entries shared
// with a published set are not checked again.
func (s *Set) checkSound(published *Set) diag.List {
	if s == nil {
		return diag.List{diag.New(diag.InvalidValue, "", "the draft has no set")}
	}
	var list diag.List
	checkRecords(&list, s.Agents, published.Agents, func(a *spec.Agent) string { return a.ID })
	checkRecords(&list, s.Models, published.Models, func(m *spec.Model) string { return m.ID })
	checkRecords(&list, s.Pools, published.Pools, func(p *spec.Pool) string { return p.ID })
	checkRecords(&list, s.Sources, published.Sources, func(r *Source) string { return r.Spec.Name })
	checkComponents(&list, s.Providers, published.Providers)
	checkComponents(&list, s.Tools, published.Tools)
	checkComponents(&list, s.Bundles, published.Bundles)
	checkComponents(&list, s.Plugins, published.Plugins)
	checkComponents(&list, s.Backends, published.Backends)
	checkComponents(&list, s.AgentProviders, published.AgentProviders)
	return list
}

func checkRecords[T any](list *diag.List, r, published *Registry[*T], own func(*T) string) {
	for id, entry := range changedEntries(list, r, published) {
		if entry == nil {
			*list = append(*list, diag.New(diag.InvalidValue, r.Path(id), "%s %q is nil", r.kind, id))
		} else if name := own(entry); name != id {
			*list = append(*list, diag.New(diag.InvalidID, r.Path(id), "%s %q is registered under the id %q", r.kind, name, id))
		}
	}
}

func checkComponents[T any](list *diag.List, r, published *Registry[T]) {
	for id, entry := range changedEntries(list, r, published) {
		if any(entry) == nil {
			*list = append(*list, diag.New(diag.InvalidValue, r.Path(id), "%s %q is nil", r.kind, id))
		}
	}
}

// changedEntries returns, in order, the entries that a published registry does not have. It
// reports a nil registry.
func changedEntries[T any](list *diag.List, r, published *Registry[T]) iter.Seq2[string, T] {
	return func(yield func(string, T) bool) {
		if r == nil {
			*list = append(*list, diag.New(diag.InvalidValue, "", "the draft's set has no %T", r))
			return
		}
		changed := r.Changed(published)
		for _, id := range r.ids {
			if _, ok := slices.BinarySearch(changed, id); !ok {
				continue
			}
			if entry, _ := r.Get(id); !yield(id, entry) {
				return
			}
		}
	}
}
