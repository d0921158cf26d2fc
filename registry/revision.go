package registry

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"slices"
	"sync"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/panics"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/spec/workflow"
	"github.com/agentruntime/agentruntime/tools"
)

// Revision is a published set. It is immutable, numbered from 1, and identified by a hash of its
// content. A turn resolves in the revision it started with.
type Revision struct {
	number uint64
	set    *Set
	// diagnostics are the findings of the dry run, including warnings and notes.
	diagnostics diag.List
	hash        func() string
	derived     sync.Map
	generation  *generation
	// base is the revision that a draft is based on, while it is checked.
	base *Revision
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

// Diagnostics returns the warnings and notes of the dry run; none for an unchecked revision.
func (r *Revision) Diagnostics() diag.List { return r.diagnostics }

// Hash returns the hash of the revision's content, in hexadecimal. Two revisions with the same
// declarations in the same order have the same hash. Secrets are not included.
func (r *Revision) Hash() string { return r.hash() }

// Base returns the revision that a draft is based on. It is known while the draft is checked, and
// nil afterwards.
func (r *Revision) Base() *Revision { return r.base }

// Derived returns the value that Derive cached under a key, if any.
func (r *Revision) Derived(key any) (any, bool) { return r.derived.Load(key) }

// Derive returns the value that compute derives from the revision, and caches it under the key.
// Concurrent first calls may compute it twice, but all get the same value.
func (r *Revision) Derive(key any, compute func() any) any {
	if v, ok := r.derived.Load(key); ok {
		return v
	}
	v, _ := r.derived.LoadOrStore(key, compute())
	return v
}

// Retain acquires a revision that is current or already acquired by the caller. It returns false
// if the components were closed because the revision was replaced and its last user released it.
func (r *Revision) Retain() bool { return r.generation.addAnotherUser() }

// Release ends the use of the revision's components that began with Acquire or Retain. Call it once
// for each; it does not wait.
func (r *Revision) Release() { r.generation.removeUser() }

// EndAfterUsers stops anyone else from acquiring a revision that was never replaced, and calls end
// once, when all users have released it: possibly immediately.
func (r *Revision) EndAfterUsers(end func()) { r.generation.endAfterUsers(end) }

// DeclaredHash returns the hash of everything that a configuration can declare: agents, models,
// pools, defaults, and the declarations of components. It excludes data discovered from servers
// and peers.
func (s *Set) DeclaredHash() string {
	h := sha256.New()
	hashEntries(h, s.Agents, func(a *spec.Agent) any { return a })
	hashEntries(h, s.Models, func(m *spec.Model) any { return m })
	hashEntries(h, s.Pools, func(p *spec.Pool) any { return p })
	hashWorkflows(h, s)
	hashRest(h, s)
	return hex.EncodeToString(h.Sum(nil))
}

// contentHash hashes the digests of all declarations in order. Entries keep their digests, so
// only new entries are encoded. Live components contribute only their id and declaration.
func contentHash(s *Set) string {
	h := sha256.New()
	if s.Tenant != "" { // sets without any keep their hash
		fmt.Fprintf(h, "tenant\x1f%s\x1f", s.Tenant)
	}
	hashEntries(h, s.Agents, func(a *spec.Agent) any { return a })
	hashEntries(h, s.Models, func(m *spec.Model) any { return m })
	hashEntries(h, s.Pools, func(p *spec.Pool) any { return p })
	hashEntries(h, s.Providers, func(model.Executor) any { return nil })
	hashEntries(h, s.Tools, func(t tools.Tool) any {
		return describeComponent(func() any { return t.Descriptor() })
	})
	hashEntries(h, s.Plugins, func(p plugins.Plugin) any {
		return describeComponent(func() any {
			d := p.Descriptor()
			keys := make([]string, len(d.Sections))
			schemas := make([]string, len(d.Sections))
			for i, section := range d.Sections {
				keys[i], schemas[i] = section.Key, string(section.Schema)
			}
			return []any{d.Summary, keys, schemas}
		})
	})
	hashEntries(h, s.Backends, func(backend.Factory) any { return nil })
	if s.AgentProviders.Len() > 0 { // sets without any keep their hash
		hashEntries(h, s.AgentProviders, func(backend.AgentProvider) any { return nil })
	}
	hashEntries(h, s.Sources, func(src *Source) any { return []any{src.Spec, src.Agents} })
	hashWorkflows(h, s)
	hashRest(h, s)
	return hex.EncodeToString(h.Sum(nil))
}

// hashEntries hashes the digests of a registry.
func hashEntries[T any](h hash.Hash, r *Registry[T], describe func(T) any) {
	fmt.Fprintf(h, "%s\x1f%d\x1f", r.section, len(r.ids))
	for _, id := range r.ids {
		p, _ := r.slots.Get(id)
		known := p.digest.Load()
		if known == nil {
			d := digestOf(id, describe(p.entry))
			known = &d
			p.digest.Store(known)
		}
		h.Write(known[:])
	}
}

// hashWorkflows hashes the workflows, if any: a set without workflows has the same hash as before
// workflows existed. Webhook secrets are not included.
func hashWorkflows(h hash.Hash, s *Set) {
	if s.Workflows.Len() == 0 {
		return
	}
	hashEntries(h, s.Workflows, func(w *workflow.Workflow) any {
		own := *w
		own.Webhooks = slices.Clone(w.Webhooks)
		for i := range own.Webhooks {
			own.Webhooks[i].Secret, own.Webhooks[i].Previous = "", ""
		}
		return &own
	})
}

// hashRest hashes everything outside the registries. The hash of a set without tenants is the
// same as before tenants existed.
func hashRest(h hash.Hash, s *Set) {
	rest := []any{s.Defaults, s.Definitions}
	if s.Tenants != nil {
		rest = append(rest, s.Tenants)
	}
	for _, v := range rest {
		d := digestOf("", v)
		h.Write(d[:])
	}
}

// digestOf hashes one declaration.
func digestOf(id string, v any) digest {
	data, err := json.Marshal(v)
	if err != nil {
		data = []byte(err.Error())
	}
	return sha256.Sum256(fmt.Appendf(nil, "%s\x1f%s", id, data))
}

// describeComponent calls a component's description method. A panic becomes the description.
func describeComponent(call func() any) (v any) {
	defer panics.Handle(func(p *panics.Error) {
		v = fmt.Sprint(p.Value)
	})
	return call()
}
