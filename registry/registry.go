// Package registry holds what a runtime knows: ordered registries of agents,
// models, pools, providers, tools, plugins and backends, the set of them, and
// the revisions in which a set is published.
package registry

import (
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/agentruntime/agentruntime/diag"
)

// Registry maps ids to entries and lists them in the order in which they were
// added. It is not safe for concurrent changes; the registries of a published
// revision are never changed.
type Registry[T any] struct {
	// kind names an entry, section the place of the registry in a
	// configuration, as in "tool" and "tools".
	kind, section string
	ids           []string
	entries       map[string]T
	// owners are the ids of the bundles that entries belong to.
	owners map[string]string
}

func newRegistry[T any](kind, section string) *Registry[T] {
	return &Registry[T]{kind: kind, section: section, entries: make(map[string]T), owners: make(map[string]string)}
}

// DuplicateError reports that an id is already taken.
type DuplicateError struct {
	// Kind is what the id names, as in "tool".
	Kind string
	ID   string
	// Other is the kind of the entry that has the id, when it differs.
	Other string
	path  string
}

// Error names the id and what has it.
func (e *DuplicateError) Error() string {
	if e.Other != "" {
		return fmt.Sprintf("%s %q has the id of a %s", e.Kind, e.ID, e.Other)
	}
	return fmt.Sprintf("%s %q is already registered", e.Kind, e.ID)
}

// Diagnostic returns the error as duplicate-id at the place of the entry.
func (e *DuplicateError) Diagnostic() diag.Diagnostic {
	return diag.New(diag.DuplicateID, e.path, "%s", e.Error())
}

// Add adds an entry. It returns a *DuplicateError, and changes nothing, when
// the id is taken.
func (r *Registry[T]) Add(id string, entry T) error {
	if _, taken := r.entries[id]; taken {
		return &DuplicateError{Kind: r.kind, ID: id, path: r.Path(id)}
	}
	r.Put(id, entry)
	return nil
}

// Put adds an entry or replaces the one that has the id, in its place.
func (r *Registry[T]) Put(id string, entry T) {
	if _, taken := r.entries[id]; !taken {
		r.ids = append(r.ids, id)
	}
	r.entries[id] = entry
}

// Remove removes an entry and reports whether there was one. It may be called
// while the entries are listed.
func (r *Registry[T]) Remove(id string) bool {
	if _, ok := r.entries[id]; !ok {
		return false
	}
	delete(r.entries, id)
	delete(r.owners, id)
	i := slices.Index(r.ids, id)
	r.ids = slices.Concat(r.ids[:i], r.ids[i+1:]) // a new list: the old one may be listed just now
	return true
}

// Get returns the entry with an id.
func (r *Registry[T]) Get(id string) (T, bool) {
	entry, ok := r.entries[id]
	return entry, ok
}

// Len returns how many entries there are.
func (r *Registry[T]) Len() int { return len(r.ids) }

// IDs returns the ids in the order in which they were added. The slice is
// read-only.
func (r *Registry[T]) IDs() []string { return r.ids }

// All returns the entries in the order in which they were added.
func (r *Registry[T]) All() iter.Seq2[string, T] {
	return func(yield func(string, T) bool) {
		for _, id := range r.ids {
			if entry, ok := r.entries[id]; ok && !yield(id, entry) {
				return
			}
		}
	}
}

// Kind returns what an entry is called, as in "tool".
func (r *Registry[T]) Kind() string { return r.kind }

// Owner returns the id under which an entry stands in a configuration: its own,
// or that of the bundle that it belongs to.
func (r *Registry[T]) Owner(id string) string {
	if owner, ok := r.owners[id]; ok {
		return owner
	}
	return id
}

// Path returns the place of an entry in a configuration, as in tools.weather.
func (r *Registry[T]) Path(id string) string { return diag.Key(r.section, r.Owner(id)) }

// listOwned returns the ids of the entries that belong to a bundle.
func (r *Registry[T]) listOwned(owner string) []string {
	var ids []string
	for _, id := range r.ids {
		if own, ok := r.owners[id]; ok && own == owner {
			ids = append(ids, id)
		}
	}
	return ids
}

func (r *Registry[T]) clone() *Registry[T] {
	c := newRegistry[T](r.kind, r.section)
	c.ids = slices.Clone(r.ids)
	c.owners = maps.Clone(r.owners)
	for id, entry := range r.entries {
		c.entries[id] = entry
	}
	return c
}
