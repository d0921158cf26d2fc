package resolve

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/plugins/core"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/spec"
)

// Check dry-runs a revision: it validates every record, resolves every agent,
// and looks at the whole. It returns all that it finds, and the errors among it
// joined, each of its own type. It fits registry.NewStore.
func Check(ctx context.Context, rev *registry.Revision) (diag.List, error) {
	c := &check{index: indexOf(rev)}
	c.checkRecords()
	c.failAll(c.found)
	c.checkBundles()
	c.checkSources()
	templates, err := c.resolveAll(ctx)
	if err != nil {
		return nil, err
	}
	for _, t := range templates {
		c.errs = append(c.errs, t.errs...)
		c.rest = append(c.rest, t.warnings...)
	}
	c.warnPools()
	c.unclaimedDefaults(templates)
	c.warnCycles()
	c.noteUnusedAll(templates)
	c.errs = oneAmbiguity(c.errs)
	list := append(toDiagnostics(c.errs), c.rest...)
	return list.Dedup(), errors.Join(dropRepeated(c.errs)...)
}

// check collects what a dry run finds.
type check struct {
	*index
	errs []error
	rest diag.List
}

func (c *check) addError(err error) { c.errs = append(c.errs, err) }

func (c *check) failAll(list diag.List) {
	for _, d := range list {
		c.addError(d)
	}
}

// oneAmbiguity leaves out that an id is a model and a pool at all references to it
// but the first: the cause is the same.
func oneAmbiguity(errs []error) []error {
	seen := make(map[string]bool)
	return slices.DeleteFunc(errs, func(err error) bool {
		e, ok := err.(*AmbiguousModelError) //nolint:errorlint // the errors of a check are not wrapped
		if !ok || !seen[e.ID] {
			if ok {
				seen[e.ID] = true
			}
			return false
		}
		return true
	})
}

// dropRepeated leaves out repetitions: many agents may suffer from one cause.
func dropRepeated(errs []error) []error {
	type key struct {
		code          diag.Code
		path, message string
	}
	seen := make(map[key]bool, len(errs))
	return slices.DeleteFunc(errs, func(err error) bool {
		d, ok := err.(diag.Diagnoser) //nolint:errorlint // the errors of a check are not wrapped
		if !ok {
			return false
		}
		found := d.Diagnostic()
		k := key{found.Code, found.Path, found.Message}
		if seen[k] {
			return true
		}
		seen[k] = true
		return false
	})
}

// checkRecords validates what can be validated without resolving.
func (c *check) checkRecords() {
	checkIDs(c, c.set.Providers, "provider")
	checkIDs(c, c.set.Models, "model")
	checkIDs(c, c.set.Pools, "model pool")
	checkIDs(c, c.set.Plugins, "plugin")
	checkIDs(c, c.set.Backends, "backend")
	checkIDs(c, c.set.Agents, "agent")
	for _, id := range c.set.Plugins.IDs() {
		if strings.HasPrefix(id, core.Prefix) {
			c.addError(diag.New(diag.InvalidID, c.set.Plugins.Path(id), "plugin id %q is reserved: %s begins the ids of the runtime's own plugins", id, core.Prefix))
		}
	}
	if _, ok := c.set.Agents.Get(spec.EphemeralAgent); ok {
		c.addError(diag.New(diag.InvalidID, c.set.Agents.Path(spec.EphemeralAgent), "agent id %q is reserved for agents that runs bring along", spec.EphemeralAgent))
	}
	for id, m := range c.set.Models.All() {
		c.failBelow(c.set.Models.Path(id), m.Validate())
		if _, ok := c.set.Providers.Get(m.ProviderID); !ok && m.ProviderID != "" {
			c.addError(c.providerNotFound(m, ""))
		}
	}
	for id, pool := range c.set.Pools.All() {
		c.failBelow(c.set.Pools.Path(id), pool.Validate())
		for i, member := range pool.Members {
			if _, ok := c.set.Models.Get(member.ModelID); !ok && member.ModelID != "" {
				c.addError(c.memberNotFound(pool, i, ""))
			}
		}
	}
}

func (c *check) failBelow(path string, list diag.List) {
	for _, d := range list {
		d.Path = diag.Join(path, d.Path)
		c.addError(d)
	}
}

func checkIDs[T any](c *check, r *registry.Registry[T], kind string) {
	for _, id := range r.IDs() {
		c.failAll(spec.CheckID(r.Path(id), kind, id))
	}
}

// checkBundles reports what the entries that stand for many tools say of them.
func (c *check) checkBundles() {
	for id, bundle := range c.set.Bundles.All() {
		for _, d := range bundle.Found {
			d.Path = diag.Join(c.set.Bundles.Path(id), d.Path)
			if d.Severity == diag.Error {
				c.addError(d)
			} else {
				c.rest = append(c.rest, d)
			}
		}
	}
}

// checkSources checks the peers whose agents are discovered.
func (c *check) checkSources() {
	for _, src := range c.set.Sources.All() {
		path, kind := src.Path(), src.Spec.Kind()
		c.failBelow(path, src.Spec.Validate())
		factory, known := c.set.Backends.Get(kind)
		if discoverer, ok := factory.(backend.Discoverer); ok {
			c.sourceOptions(path, discoverer, src.Spec.Endpoint())
		}
		if known {
			continue
		}
		if src.Spec.Backend != "" {
			path = diag.Join(path, "backend")
		}
		c.addError(&UnsupportedBackendError{Backend: kind, Path: path, Known: c.set.Backends.IDs()})
	}
}

// sourceOptions lets a backend check how a source is reached.
func (c *check) sourceOptions(path string, factory backend.Discoverer, endpoint *spec.Endpoint) {
	var found diag.List
	if err := callGuarded("Validate", func() { found = factory.Validate(endpoint) }); err != nil {
		found = diag.List{diag.New(diag.InvalidEndpoint, "", "backend %q: %v", endpoint.Kind(), err)}
	}
	c.failBelow(path, found)
}

// resolveAll makes the templates of all agents, on all processors, in the order of
// the agents.
func (x *index) resolveAll(ctx context.Context) ([]*template, error) {
	ids := x.set.AgentIDs()
	templates := make([]*template, len(ids))
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(ids)) {
		workers.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(ids) || ctx.Err() != nil {
					return
				}
				templates[i] = x.templateOf(ids[i])
			}
		})
	}
	workers.Wait()
	return templates, ctx.Err()
}

// unclaimedDefaults warns of sections of the defaults that no agent's plugins
// claim. One that some agent claims is no mistake for the others, unless it
// guards: then each agent without its plugin has reported it.
func (c *check) unclaimedDefaults(templates []*template) {
	if c.set.Defaults == nil {
		return
	}
	claimed := make(map[string]bool)
	for _, t := range templates {
		for _, key := range t.claimed {
			claimed[key] = true
		}
	}
	for _, t := range templates {
		for _, key := range t.unclaimed {
			rel := diag.Key("sections", key)
			if t.origin[rel] && !claimed[key] {
				claimed[key] = true
				c.rest = append(c.rest, t.readerOf(key).hint(
					diag.New(diag.UnclaimedSection, t.pathOf(rel), "no plugin of any agent claims section %q", key)))
			}
		}
	}
}

// noteUnusedAll notes definitions that nothing uses.
func (c *check) noteUnusedAll(templates []*template) {
	u := usage{models: used{ids: map[string]bool{}}, providers: used{ids: map[string]bool{}}, plugins: used{ids: map[string]bool{}}, tools: used{ids: map[string]bool{}}}
	for _, pool := range c.set.Pools.All() {
		for i := range pool.Members {
			u.models.ids[pool.Members[i].ModelID] = true
		}
	}
	for _, m := range c.set.Models.All() {
		u.providers.ids[m.ProviderID] = true
	}
	counted := make(map[*toolbox]bool)
	for _, t := range templates {
		u.models.ids[t.agent.ModelID] = true
		if p := t.agent.ContextPolicy; p != nil {
			u.models.ids[p.SummaryModelID] = true
		}
		for _, id := range slices.Concat(t.agent.PluginIDs, t.agent.ActiveHookFilter) {
			u.plugins.ids[id] = true // what the filter alone names is warned of there
		}
		for _, id := range t.wanted {
			u.tools.ids[id] = true
		}
		u.tools.any = u.tools.any || t.unreadable || t.toolless
		u.models.any = u.models.any || t.agent.Local() && t.agent.ModelID == ""
		if t.seen == nil || counted[t.seen] {
			continue
		}
		counted[t.seen] = true
		for _, entry := range t.seen.entries {
			u.tools.ids[entry.ID] = true
		}
	}
	u.addMeant(c.errs)
	for _, id := range c.toolIDs {
		if c.global[id] == nil {
			u.tools.ids[id] = true // it is broken, which is what to say of it
		}
	}
	for id := range c.set.Available {
		u.plugins.ids[id] = true
	}
	u.noteKinds(c)
}

// usage is what the agents of a revision use. A reference that is missing or
// leads nowhere may mean any definition of its kind.
type usage struct {
	models, providers, plugins, tools used
}

// used are the definitions of a kind that are used; with any, all may be.
type used struct {
	ids map[string]bool
	any bool
}

// noteKinds notes what is not used.
func (u *usage) noteKinds(c *check) {
	if !u.providers.any {
		noteUnused(c, c.set.Providers, u.providers.ids)
	}
	if !u.models.any {
		noteUnused(c, c.set.Models, u.models.ids)
		noteUnused(c, c.set.Pools, u.models.ids)
	}
	if !u.tools.any {
		noteUnused(c, c.set.Tools, u.tools.ids)
	}
	if !u.plugins.any {
		noteUnused(c, c.set.Plugins, u.plugins.ids)
	}
}

// addMeant counts what misspelt references probably mean as used: the mistake is
// in the reference alone.
func (u *usage) addMeant(errs []error) {
	for _, err := range errs {
		switch e := err.(type) { //nolint:errorlint // the errors of a check are not wrapped
		case *ModelNotFoundError:
			u.models.ids[e.Nearest] = true
			u.models.any = u.models.any || e.Nearest == ""
		case *ProviderNotFoundError:
			u.providers.ids[e.Nearest] = true
			u.providers.any = u.providers.any || e.Nearest == ""
		case *PluginNotFoundError:
			u.plugins.ids[e.Nearest] = true
			u.plugins.any = u.plugins.any || e.Nearest == ""
		}
	}
}

// noteUnused notes what stands in a configuration and is not used. A bundle is
// used when any of its members is.
func noteUnused[T any](c *check, r *registry.Registry[T], used map[string]bool) {
	told := make(map[string]bool)
	for _, id := range r.IDs() {
		if used[id] {
			told[r.Owner(id)] = true
		}
	}
	for _, id := range r.IDs() {
		if owner := r.Owner(id); !told[owner] {
			told[owner] = true
			c.rest = append(c.rest, diag.New(diag.UnusedDefinition, r.Path(id), "%s %q is not used", r.Kind(), owner))
		}
	}
}
