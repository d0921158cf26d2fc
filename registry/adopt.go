package registry

import (
	"context"
	"io"
	"reflect"
	"slices"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

// Adopt replaces entries with identically declared entries of an earlier set, so that a check looks
// only at the others. A component without a Declaration is adopted only if it is identical. Adopt
// returns the components that are no longer needed.
func (s *Set) Adopt(from *Set) (spare []io.Closer) {
	before := s.Clone()
	s.Agents = adoptEntries(s.Agents, from.Agents, sameRecord[*spec.Agent])
	s.Models = adoptEntries(s.Models, from.Models, sameRecord[*spec.Model])
	s.Pools = adoptEntries(s.Pools, from.Pools, sameRecord[*spec.Pool])
	s.Sources = adoptEntries(s.Sources, from.Sources, sameRecord[*Source])
	s.Providers = adoptEntries(s.Providers, from.Providers, func(id string, now, before model.Executor) bool {
		return s.declaresAlike(from, s.Providers.Path(id), now, before)
	})
	s.Tools = adoptEntries(s.Tools, from.Tools, func(id string, now, before tools.Tool) bool {
		return s.declaresAlike(from, s.Tools.Path(id), now, before)
	})
	s.Plugins = adoptEntries(s.Plugins, from.Plugins, func(id string, now, before plugins.Plugin) bool {
		return s.declaresAlike(from, s.Plugins.Path(id), now, before)
	})
	s.Backends = adoptEntries(s.Backends, from.Backends, func(_ string, now, before backend.Factory) bool {
		f, ok := now.(backend.Interchangeable)
		return isSame(now, before) || ok && f.Equal(before)
	})
	if reflect.DeepEqual(s.Defaults, from.Defaults) {
		s.Defaults = from.Defaults
	}
	if reflect.DeepEqual(s.Tenants, from.Tenants) {
		s.Tenants = from.Tenants
	}
	return before.closers(s)
}

// CloseOwn closes the components like Close, except components of another set.
func (s *Set) CloseOwn(other *Set) error { return closeAll(s.closers(other)) }

// CloseComponents closes components concurrently, and returns when all are closed.
func CloseComponents(list []io.Closer) error { return closeAll(list) }

// declaresAlike reports whether a component of the set, at a configuration path, can be replaced by
// that of another set.
func (s *Set) declaresAlike(from *Set, path string, now, before any) bool {
	declared, ok := s.Declarations[path]
	known, was := from.Declarations[path]
	if ok != was {
		return false
	}
	return ok && reflect.DeepEqual(declared, known) || isSame(now, before)
}

// isSame reports whether two components are identical.
func isSame(a, b any) bool {
	return reflect.TypeOf(a) == reflect.TypeOf(b) && reflect.ValueOf(a).Comparable() && reflect.ValueOf(b).Comparable() && a == b
}

func sameRecord[T any](_ string, now, before T) bool { return reflect.DeepEqual(now, before) }

// adoptEntries returns a registry with the ids of r, in order, and with the slots of an earlier
// registry for entries that are the same.
func adoptEntries[T any](r, from *Registry[T], same func(id string, now, before T) bool) *Registry[T] {
	merged := from.clone()
	if !r.SameOrder(from) {
		for _, id := range from.ids {
			if !r.has(id) {
				merged.slots.Delete(id)
			}
		}
		merged.ids = slices.Clip(r.ids)
	}
	for _, id := range r.ids {
		now, _ := r.slots.Get(id)
		if before, ok := from.slots.Get(id); !ok || before.owner != now.owner || !same(id, now.entry, before.entry) {
			merged.slots.Set(id, now)
		}
	}
	return merged
}

// Try checks a set as the revision that would follow base, without publishing it.
func Try(ctx context.Context, base *Revision, set *Set, check Check) (*Revision, diag.List, error) {
	if found := set.checkSound(base.set); found != nil {
		return nil, found, found.Err()
	}
	rev := newRevision(base.number+1, set, new(generation))
	rev.base = base
	found, err := check(ctx, rev)
	rev.base = nil // revisions must not keep one another alive
	return rev, found, err
}
