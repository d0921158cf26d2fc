// Package registry holds the declarations of a runtime: ordered registries of agents, models,
// pools, providers, tools, plugins and backends, sets that combine them, and published revisions
// of a set.
package registry

import (
	"crypto/sha256"
	"fmt"
	"iter"
	"slices"
	"sync/atomic"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/persist"
)

// Registry maps ids to entries and lists them in insertion order. A copy shares unchanged parts
// with the original, which makes drafts cheap. A registry is not safe for concurrent changes;
// registries of published revisions never change.
type Registry[T any] struct {
	// kind names an entry, and section the registry in a configuration, as in "tool" and "tools".
	kind, section string
	ids           []string
	slots         *persist.Map[string, *slot[T]]
}

// slot is an entry. It is never changed, so registries with the same slot have the same entry.
type slot[T any] struct {
	entry T
	// owner is the id of the entry's bundle, if any.
	owner string
	// digest is the hash of the entry's content, computed on first use.
	digest atomic.Pointer[digest]
}

// digest is the hash of one entry.
type digest [sha256.Size]byte

func newRegistry[T any](kind, section string) *Registry[T] {
	return &Registry[T]{kind: kind, section: section, slots: new(persist.Map[string, *slot[T]])}
}

// DuplicateError reports that an id is already taken.
type DuplicateError struct {
	// Kind is the kind of the entry with the id, such as "tool".
	Kind string
	ID   string
	// Other is the kind of the existing entry, if it differs.
	Other string
	path  string
}

// Error names the id and its owner.
func (e *DuplicateError) Error() string {
	if e.Other != "" {
		return fmt.Sprintf("%s %q has the id of a %s", e.Kind, e.ID, e.Other)
	}
	return fmt.Sprintf("%s %q is already registered", e.Kind, e.ID)
}

// Diagnostic returns the error as duplicate-id at the entry's path.
func (e *DuplicateError) Diagnostic() diag.Diagnostic {
	return diag.New(diag.DuplicateID, e.path, "%s", e.Error())
}

// Add adds an entry. If the id is taken, it returns a *DuplicateError and changes nothing.
func (r *Registry[T]) Add(id string, entry T) error {
	if r.has(id) {
		return &DuplicateError{Kind: r.kind, ID: id, path: r.Path(id)}
	}
	r.Put(id, entry)
	return nil
}

// Put adds an entry, or replaces the entry with the same id and keeps its position.
func (r *Registry[T]) Put(id string, entry T) {
	s := &slot[T]{entry: entry}
	if known, ok := r.slots.Get(id); ok {
		s.owner = known.owner
	}
	r.putSlot(id, s)
}

// putSlot adds a slot at the end, or replaces the slot with the same id.
func (r *Registry[T]) putSlot(id string, s *slot[T]) {
	if !r.has(id) {
		r.ids = append(r.ids, id)
	}
	r.slots.Set(id, s)
}

// Remove removes an entry and reports whether it existed. It may be called while the entries are
// iterated.
func (r *Registry[T]) Remove(id string) bool {
	if !r.has(id) {
		return false
	}
	i := slices.Index(r.ids, id)
	r.ids = slices.Concat(r.ids[:i], r.ids[i+1:]) // copied: the old list may be in use
	return r.slots.Delete(id)
}

func (r *Registry[T]) has(id string) bool {
	_, ok := r.slots.Get(id)
	return ok
}

// Get returns the entry with an id.
func (r *Registry[T]) Get(id string) (entry T, ok bool) {
	if p, ok := r.slots.Get(id); ok {
		return p.entry, true
	}
	return entry, false
}

// Len returns the number of entries.
func (r *Registry[T]) Len() int { return len(r.ids) }

// IDs returns the ids in insertion order. The slice is read-only.
func (r *Registry[T]) IDs() []string { return r.ids }

// All returns the entries in insertion order.
func (r *Registry[T]) All() iter.Seq2[string, T] {
	return func(yield func(string, T) bool) {
		for _, id := range r.ids {
			if entry, ok := r.Get(id); ok && !yield(id, entry) {
				return
			}
		}
	}
}

// Kind returns the kind of the entries, such as "tool".
func (r *Registry[T]) Kind() string { return r.kind }

// Owner returns the id of an entry in the configuration: the entry's id, or the id of its bundle.
func (r *Registry[T]) Owner(id string) string {
	if p, ok := r.slots.Get(id); ok && p.owner != "" {
		return p.owner
	}
	return id
}

// Path returns the configuration path of an entry, as in tools.weather.
func (r *Registry[T]) Path(id string) string { return diag.Key(r.section, r.Owner(id)) }

// listOwned returns the ids of a bundle's entries.
func (r *Registry[T]) listOwned(owner string) []string {
	var ids []string
	for _, id := range r.ids {
		if p, _ := r.slots.Get(id); p.owner == owner {
			ids = append(ids, id)
		}
	}
	return ids
}

// replaceOwned replaces a bundle's entries, or appends the new ones if it has none. It omits and
// returns entries whose id is taken by another entry.
func (r *Registry[T]) replaceOwned(owner string, ids []string, entries []T) (taken []string) {
	old := r.listOwned(owner)
	at := len(r.ids)
	if len(old) > 0 {
		at = slices.Index(r.ids, old[0])
	}
	for _, id := range old {
		r.Remove(id)
	}
	after := slices.Clone(r.ids[at:])
	r.ids = slices.Clip(r.ids[:at])
	for i, id := range ids {
		if r.has(id) {
			taken = append(taken, id)
			continue
		}
		r.putSlot(id, &slot[T]{entry: entries[i], owner: owner})
	}
	r.ids = append(r.ids, after...)
	return taken
}

func (r *Registry[T]) clone() *Registry[T] {
	return &Registry[T]{kind: r.kind, section: r.section, ids: slices.Clip(r.ids), slots: r.slots.Clone()}
}

// Changed returns the sorted ids of all entries that were added, replaced or removed since
// another registry. Its cost grows with the difference.
func (r *Registry[T]) Changed(since *Registry[T]) []string {
	var ids []string
	same := func(a, b *slot[T]) bool { return a == b }
	persist.Diff(since.slots, r.slots, same, func(id string) { ids = append(ids, id) })
	slices.Sort(ids)
	return ids
}

// SameOrder reports whether both registries have the same ids in the same order.
func (r *Registry[T]) SameOrder(other *Registry[T]) bool {
	a, b := r.ids, other.ids
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0] || slices.Equal(a, b))
}
