package registry

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"sync"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/panics"
)

// Revision is one published set: immutable, numbered from 1, and named by the
// hash of what it contains. Turns resolve in the revision they began with.
type Revision struct {
	number uint64
	set    *Set
	// diagnostics is what the dry run found, warnings and notes included.
	diagnostics diag.List
	hash        func() string
	derived     sync.Map
	generation  *generation
}

func newRevision(number uint64, set *Set, own *generation) *Revision {
	rev := &Revision{number: number, set: set, generation: own}
	rev.hash = sync.OnceValue(func() string { return contentHash(set) })
	return rev
}

// Number returns the revision's number.
func (r *Revision) Number() uint64 { return r.number }

// Set returns the registries. They are read-only.
func (r *Revision) Set() *Set { return r.set }

// Diagnostics returns what the dry run of the revision found: warnings and
// notes, and for an unchecked revision nothing.
func (r *Revision) Diagnostics() diag.List { return r.diagnostics }

// Hash returns the hash of the revision's content, in hexadecimal. Two
// revisions with the same declarations in the same order have the same hash.
// Secrets do not enter it.
func (r *Revision) Hash() string { return r.hash() }

// Derive returns what a higher layer computed from the revision under a key,
// computing it at the first call. Concurrent first calls may compute it twice;
// all get the same value.
func (r *Revision) Derive(key any, compute func() any) any {
	if v, ok := r.derived.Load(key); ok {
		return v
	}
	v, _ := r.derived.LoadOrStore(key, compute())
	return v
}

// contentHash hashes all declarations. Live components, of which only the
// declaration can be hashed, enter by their id and what they declare.
func contentHash(s *Set) string {
	h := sha256.New()
	for id, agent := range s.Agents.All() {
		hashEntry(h, "agent", id, agent)
	}
	for id, m := range s.Models.All() {
		hashEntry(h, "model", id, m)
	}
	for id, pool := range s.Pools.All() {
		hashEntry(h, "pool", id, pool)
	}
	for _, id := range s.Providers.IDs() {
		hashEntry(h, "provider", id, nil)
	}
	for id, tool := range s.Tools.All() {
		hashEntry(h, "tool", id, describeComponent(func() any { return tool.Descriptor() }))
	}
	for id, plugin := range s.Plugins.All() {
		hashEntry(h, "plugin", id, describeComponent(func() any {
			d := plugin.Descriptor()
			keys := make([]string, len(d.Sections))
			schemas := make([]string, len(d.Sections))
			for i, section := range d.Sections {
				keys[i], schemas[i] = section.Key, string(section.Schema)
			}
			return []any{d.Summary, keys, schemas}
		}))
	}
	for _, kind := range s.Backends.IDs() {
		hashEntry(h, "backend", kind, nil)
	}
	for name, src := range s.Sources.All() {
		hashEntry(h, "source", name, []any{src.Spec, src.Agents})
	}
	hashEntry(h, "defaults", "", s.Defaults)
	hashEntry(h, "definitions", "", s.Definitions)
	return hex.EncodeToString(h.Sum(nil))
}

// describeComponent calls what a component says of itself; one that panics is described
// by its panic.
func describeComponent(call func() any) (v any) {
	defer panics.Handle(func(p *panics.Error) {
		v = fmt.Sprint(p.Value)
	})
	return call()
}

func hashEntry(h hash.Hash, kind, id string, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		data = []byte(err.Error())
	}
	fmt.Fprintf(h, "%s\x1f%s\x1f%d\x1f", kind, id, len(data))
	h.Write(data)
}
