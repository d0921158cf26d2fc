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

// Check dry-runs a revision: it validates every record, resolves every agent, and checks the
// revision as a whole. It returns all diagnostics and the errors joined, each with its own type.
// Pass it to registry.NewStore.
//
// For a draft based on a revision in which Check found no errors, it resolves only the agents that
// depend on a change. If that finds an error, it starts over with everything, so that nothing is
// missed.
func Check(ctx context.Context, rev *registry.Revision) (diag.List, error) {
	if list, ok, err := checkChanges(ctx, rev); ok || err != nil {
		return list, err
	}
	c := &check{index: indexOf(rev)}
	c.checkRecords()
	c.failAll(c.found)
	c.checkTenantVariables()
	c.checkBundles()
	c.checkSources()
	ids := c.set.AgentIDs()
	made, err := c.resolveAll(ctx, ids)
	if err != nil {
		return nil, err
	}
	all := newResolvedAgents()
	for i, t := range made {
		c.errs = append(c.errs, t.errs...)
		all.put(ids[i], t)
	}
	c.checkWhole(all, nil)
	c.checkWorkflows()
	if len(c.errs) == 0 {
		c.prove(all)
	}
	c.errs = oneAmbiguity(c.errs)
	list := append(toDiagnostics(c.errs), c.rest...)
	return list.Dedup(), errors.Join(dropRepeated(c.errs)...)
}

// checkChanges checks only the changes of a draft to the revision it is based on, and reuses the
// earlier results for the rest. ok is false if that is impossible or if there are errors.
func checkChanges(ctx context.Context, rev *registry.Revision) (list diag.List, ok bool, err error) {
	base := provenBase(rev)
	if base == nil {
		return nil, false, nil
	}
	changed := compareSets(rev.Set(), base.set)
	if changed == nil {
		return nil, false, nil
	}
	before := base.proven.Load()
	c := &check{index: base.nextIndex(rev, changed)}
	c.checkChangedRecords(changed)
	c.failAll(c.found)
	if changed.has(partTools) {
		c.checkTenantVariables()
	}
	c.checkBundles()
	if changed.has(partSources) {
		c.checkSources()
	}
	ids, gone := changed.agentsToResolve(before)
	if len(c.errs) > 0 || 2*len(ids) > c.set.Agents.Len()+smallCheck {
		return nil, false, nil
	}
	made, err := c.resolveAll(ctx, ids)
	if err != nil {
		return nil, false, err
	}
	all := before.clone()
	for _, id := range gone {
		all.remove(id)
	}
	for i, t := range made {
		if len(t.errs) > 0 {
			return nil, false, nil
		}
		all.put(ids[i], t)
	}
	if !changed.sameCircles(before, ids, gone, made) {
		before = nil
	}
	c.checkWhole(all, before)
	c.prove(all)
	if c.checkWorkflows(); len(c.errs) > 0 {
		return nil, false, nil
	}
	rev.Derive(indexKey{}, func() any { return c.index })
	return c.rest.Dedup(), true, nil
}

// smallCheck is the number of agents that may be resolved again, however many there are, before
// starting over with everything is as fast.
const smallCheck = 32

// provenBase returns the index of the draft's base revision, if a dry run found no errors in it.
func provenBase(rev *registry.Revision) *index {
	if rev.Base() == nil {
		return nil
	}
	known, _ := rev.Base().Derived(indexKey{})
	if x, ok := known.(*index); ok && x.proven.Load() != nil {
		return x
	}
	return nil
}

// prove stores the resolved agents for turns and the next revision.
func (x *index) prove(all *resolvedAgents) {
	x.toolboxes.keepOnly(all.boxes)
	x.proven.Store(all)
}

// checkWhole checks all agents together. before, if not nil, has the same circles.
func (c *check) checkWhole(all, before *resolvedAgents) {
	warning := inOrder(c.set, all.warning)
	for _, t := range warning {
		c.rest = append(c.rest, t.warnings...)
	}
	c.rest = c.rest.LimitAlike(diag.NoDescription)
	c.noteAdapted(warning)
	c.warnPools()
	c.unclaimedDefaults(warning, all.claimed)
	if before == nil {
		c.warnCycles(all)
	} else {
		all.cycles = before.cycles
	}
	c.rest = append(c.rest, all.cycles...)
	c.noteUnusedAll(all)
}

// check collects the findings of a dry run.
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

// oneAmbiguity drops all but the first error about an id that is both a model and a pool: the cause
// is the same.
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

// dropRepeated drops repetitions: one cause may affect many agents.
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

// checkRecords validates what does not require resolving.
func (c *check) checkRecords() {
	checkIDs(c, c.set.Providers, "provider", c.set.Providers.IDs())
	checkIDs(c, c.set.Models, "model", c.set.Models.IDs())
	checkIDs(c, c.set.Pools, "model pool", c.set.Pools.IDs())
	checkIDs(c, c.set.Plugins, "plugin", c.set.Plugins.IDs())
	checkIDs(c, c.set.Backends, "backend", c.set.Backends.IDs())
	checkIDs(c, c.set.Agents, "agent", c.set.Agents.IDs())
	checkIDs(c, c.set.Workflows, "workflow", c.set.Workflows.IDs())
	for _, id := range c.set.Plugins.IDs() {
		if strings.HasPrefix(id, core.Prefix) {
			c.addError(diag.New(diag.InvalidID, c.set.Plugins.Path(id), "plugin id %q is reserved: %s begins the ids of the runtime's own plugins", id, core.Prefix))
		}
	}
	if _, ok := c.set.Agents.Get(spec.EphemeralAgent); ok {
		c.addError(diag.New(diag.InvalidID, c.set.Agents.Path(spec.EphemeralAgent), "agent id %q is reserved for agents that runs bring along", spec.EphemeralAgent))
	}
	c.checkModels()
	c.checkPools()
}

// checkChangedRecords is checkRecords for changed records and their dependents. Errors are found,
// but not in order.
func (c *check) checkChangedRecords(changed *changes) {
	if changed.has(partPlugins | partModels) {
		c.checkRecords()
		return
	}
	checkIDs(c, c.set.Agents, "agent", changed.agents)
	if slices.Contains(changed.agents, spec.EphemeralAgent) {
		c.checkRecords()
	}
}

func (c *check) checkModels() {
	for id, m := range c.set.Models.All() {
		c.failBelow(c.set.Models.Path(id), m.Validate())
		if _, ok := c.set.Providers.Get(m.ProviderID); !ok && m.ProviderID != "" {
			c.addError(c.providerNotFound(m, ""))
		}
	}
}

func (c *check) checkPools() {
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
	for _, d := range list.Errors() {
		d.Path = diag.Join(path, d.Path)
		c.addError(d)
	}
}

func checkIDs[T any](c *check, r *registry.Registry[T], kind string, ids []string) {
	for _, id := range ids {
		c.failAll(spec.CheckID(r.Path(id), kind, id))
	}
}

// checkBundles reports the diagnostics of the tool bundles.
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

// resolveAll creates the agents' templates, on all processors.
func (x *index) resolveAll(ctx context.Context, ids []string) ([]*template, error) {
	made := make([]*template, len(ids))
	var next atomic.Int64
	work := func() {
		for {
			i := int(next.Add(1)) - 1
			if i >= len(ids) || ctx.Err() != nil {
				return
			}
			made[i] = x.resolveAgent(ids[i], nil)
		}
	}
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(ids)) - 1 {
		workers.Go(work)
	}
	work()
	workers.Wait()
	return made, ctx.Err()
}

// unclaimedDefaults warns about default sections that no agent's plugins claim. A section that at
// least one agent claims is fine, unless it guards: then each agent without the plugin has
// already reported it.
func (c *check) unclaimedDefaults(agents []*template, claimed *counts) {
	if c.set.Defaults == nil {
		return
	}
	told := make(map[string]bool)
	for _, t := range agents {
		for _, key := range t.unclaimed {
			rel := diag.Key("sections", key)
			if _, ok := claimed.Get(key); !ok && t.origin[rel] && !told[key] {
				told[key] = true
				c.rest = append(c.rest, (&resolver{template: t, index: c.index}).readerOf(key).hint(
					diag.New(diag.UnclaimedSection, t.pathOf(rel), "no plugin of any agent claims section %q", key)))
			}
		}
	}
}

// noteUnusedAll reports unused definitions.
func (c *check) noteUnusedAll(all *resolvedAgents) {
	u := usage{
		models: newUsed(all.models, all.anyModel), providers: newUsed(new(counts), 0),
		plugins: newUsed(all.plugins, 0), tools: newUsed(all.tools, all.anyTool), hosts: newUsed(new(counts), 0),
	}
	for _, pool := range c.set.Pools.All() {
		for i := range pool.Members {
			u.models.also[pool.Members[i].ModelID] = true
		}
	}
	for _, m := range c.set.Models.All() {
		u.providers.also[m.ProviderID] = true
	}
	for _, agent := range c.set.Agents.All() {
		if agent.Hosted() {
			u.hosts.also[agent.Endpoint.Target] = true
		}
	}
	u.addMeant(c.errs)
	u.addWorkflows(c.set)
	for _, id := range c.toolIDs {
		if c.global[id] == nil {
			u.tools.also[id] = true // its errors are reported instead
		}
	}
	for id := range c.set.Available {
		u.plugins.also[id] = true
	}
	u.noteKinds(c)
}

// usage records what the agents of a revision use. A missing or dangling reference may mean any
// definition of its kind.
type usage struct {
	models, providers, plugins, tools, hosts used
}

// used are the used definitions of a kind: by agents, and also by others. With any, all may be
// used.
type used struct {
	counted *counts
	also    map[string]bool
	any     bool
}

func newUsed(counted *counts, whichever int) used {
	return used{counted: counted, also: make(map[string]bool), any: whichever > 0}
}

func (u *used) has(id string) bool {
	_, counted := u.counted.Get(id)
	return counted || u.also[id]
}

// noteKinds adds a note for each unused definition.
func (u *usage) noteKinds(c *check) {
	if !u.providers.any {
		noteUnused(c, c.set.Providers, &u.providers)
	}
	if !u.hosts.any {
		noteUnused(c, c.set.AgentProviders, &u.hosts)
	}
	if !u.models.any {
		noteUnused(c, c.set.Models, &u.models)
		noteUnused(c, c.set.Pools, &u.models)
	}
	if !u.tools.any {
		noteUnused(c, c.set.Tools, &u.tools)
	}
	if !u.plugins.any {
		noteUnused(c, c.set.Plugins, &u.plugins)
	}
}

// addMeant counts the probable targets of misspelled references as used: only the reference is
// wrong.
func (u *usage) addMeant(errs []error) {
	for _, err := range errs {
		switch e := err.(type) { //nolint:errorlint // the errors of a check are not wrapped
		case *ModelNotFoundError:
			u.models.also[e.Nearest] = true
			u.models.any = u.models.any || e.Nearest == ""
		case *AgentProviderNotFoundError:
			u.hosts.also[e.Nearest] = true
			u.hosts.any = u.hosts.any || e.Nearest == ""
		case *ProviderNotFoundError:
			u.providers.also[e.Nearest] = true
			u.providers.any = u.providers.any || e.Nearest == ""
		case *PluginNotFoundError:
			u.plugins.also[e.Nearest] = true
			u.plugins.any = u.plugins.any || e.Nearest == ""
		}
	}
}

// noteUnused adds a note for each unused configured entry. A bundle is used if any of its members
// is.
func noteUnused[T any](c *check, r *registry.Registry[T], used *used) {
	told := make(map[string]bool)
	for _, id := range r.IDs() {
		if used.has(id) {
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
