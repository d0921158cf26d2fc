package registry

import (
	"errors"
	"fmt"
	"strings"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/panics"
	"github.com/agentruntime/agentruntime/tools"
)

// AddTool adds a tool, or, for a tools.Bundle, all its members. A *DuplicateError reports that an
// id is taken; members with other ids are still added.
func (s *Set) AddTool(id string, tool tools.Tool) error {
	bundle, ok := tool.(tools.Bundle)
	if !ok {
		return s.Tools.Add(id, tool)
	}
	if err := s.Bundles.Add(id, &Bundle{Source: bundle}); err != nil {
		return err
	}
	return s.RefreshBundle(id)
}

// RefreshBundle replaces a bundle's members with its current ones. A *DuplicateError reports that
// an id is taken by another owner's tool, which stays.
func (s *Set) RefreshBundle(id string) error {
	known, ok := s.Bundles.Get(id)
	if !ok {
		return fmt.Errorf("unknown bundle %q", id)
	}
	members, found := membersOf(known.Source)
	s.Bundles.Put(id, &Bundle{Source: known.Source, Found: found})
	return replaceMembers(s.Tools, id, members)
}

// Expected reports whether a tool reference, which may be a pattern, can refer to a member of a
// bundle whose members are unknown, so that it may not be a mistake.
func (s *Set) Expected(reference string) bool {
	fixed := reference
	if i := strings.IndexAny(reference, `*?[{\`); i >= 0 {
		fixed = reference[:i]
	}
	for id, bundle := range s.Bundles.All() {
		prefix := bundle.Source.Prefix()
		possible := strings.HasPrefix(fixed, prefix) || fixed != reference && strings.HasPrefix(prefix, fixed)
		if possible && len(s.Tools.listOwned(id)) == 0 {
			return true
		}
	}
	return false
}

// membersOf returns a bundle's members. A panic is an error at the bundle.
func membersOf(bundle tools.Bundle) (members []tools.Member, found diag.List) {
	defer panics.Handle(func(p *panics.Error) {
		members, found = nil, diag.List{diag.New(diag.InvalidValue, "", "listing the tools of the bundle panicked: %v", p.Value)}
	})
	return bundle.Members()
}

// replaceMembers replaces the tools of an owner with members, or appends them if it has none.
func replaceMembers(r *Registry[tools.Tool], owner string, members []tools.Member) error {
	ids, entries := make([]string, len(members)), make([]tools.Tool, len(members))
	for i, m := range members {
		ids[i], entries[i] = m.ID, m.Tool
	}
	var errs []error
	for _, id := range r.replaceOwned(owner, ids, entries) {
		errs = append(errs, &DuplicateError{Kind: r.kind, ID: id, path: diag.Key(r.section, owner)})
	}
	return errors.Join(errs...)
}
