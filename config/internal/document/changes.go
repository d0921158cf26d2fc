package document

import (
	"bytes"
	"slices"

	"github.com/agentruntime/agentruntime/config/internal/keys"
)

// maxChanges is the number of differing entries above which reading the whole document is as fast.
const maxChanges = 256

// Changes are the entries that differ between two documents.
type Changes struct {
	// Next is the second document.
	Next *Layout
	// Changed are its changed and new entries, by registry.
	Changed map[string][]Member
	// Removed are the ids of entries that it lacks, by registry.
	Removed map[string][]string
	before  *Layout
}

// Compare finds the entries of registries that differ. ok is false if too many do, if anything else
// differs, or if there are patches.
func Compare(before, next *Layout, registries []string) (c *Changes, ok bool) {
	c = &Changes{Next: next, Changed: map[string][]Member{}, Removed: map[string][]string{}, before: before}
	old := before.Sections
	if len(old) != len(next.Sections) {
		return nil, false
	}
	left := maxChanges
	for i := range old {
		was, now := &old[i], &next.Sections[i]
		switch {
		case was.Name != now.Name, was.Name == keys.Patches:
			return nil, false
		case bytes.Equal(before.ValueOf(was.At), next.ValueOf(now.At)):
		case !slices.Contains(registries, was.Name) || !c.compareEntries(was, now):
			return nil, false
		}
		if left -= len(c.Changed[was.Name]) + len(c.Removed[was.Name]); left < 0 {
			return nil, false
		}
	}
	return c, true
}

// compareEntries compares the entries of a registry. ok is false if the remaining entries are in
// another order or a new one is not at the end.
func (c *Changes) compareEntries(was, now *Section) bool {
	var changed []Member
	n := 0
	for _, old := range was.Entries {
		if n == len(now.Entries) || !bytes.Equal(c.before.keyOf(old), c.Next.keyOf(now.Entries[n])) {
			c.Removed[was.Name] = append(c.Removed[was.Name], c.before.IDOf(old))
			if len(c.Removed[was.Name]) > maxChanges {
				return false
			}
			continue
		}
		if !bytes.Equal(c.before.ValueOf(old), c.Next.ValueOf(now.Entries[n])) {
			changed = append(changed, now.Entries[n])
		}
		n++
	}
	added := now.Entries[n:]
	if len(changed)+len(added) > maxChanges {
		return false
	}
	for i, m := range added {
		taken := func(other Member, in *Layout) bool {
			return bytes.Equal(in.keyOf(other), c.Next.keyOf(m))
		}
		if slices.ContainsFunc(was.Entries, func(other Member) bool { return taken(other, c.before) }) ||
			slices.ContainsFunc(added[:i], func(other Member) bool { return taken(other, c.Next) }) {
			return false
		}
	}
	c.Changed[was.Name] = append(changed, added...)
	return true
}

// Has reports whether an entry is changed or new.
func (c *Changes) Has(registry, id string) bool {
	return slices.ContainsFunc(c.Changed[registry], func(m Member) bool { return c.Next.IDOf(m) == id })
}
