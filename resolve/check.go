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
// depend on a change.
func Check(ctx context.Context, rev *registry.Revision) (diag.List, error) {
	c := newCheck(rev)
	c.checkRecords()
	c.failAll(c.found)
	c.checkTenantVariables()
	c.checkBundles()
	c.checkSources()
	agents, all, err := c.resolveAll(ctx)
	if err != nil {
		return nil, err
	}
	for _, t := range agents {
		c.errs = append(c.errs, t.errs...)
	}
	c.checkWhole(agents, all)
	c.checkWorkflows()
	if len(c.errs) == 0 {
		c.toolboxes.keepOnly(agents)
		c.proven.Store(all)
	}
	c.errs = oneAmbiguity(c.errs)
	list := append(toDiagnostics(c.errs), c.rest...)
	return list.Dedup(), errors.Join(dropRepeated(c.errs)...)
}

// checkWhole checks all agents together.
func (c *check) checkWhole(agents []*template, all *templates) {
	for _, t := range agents {
		c.rest = append(c.rest, t.warnings...)
	}
	c.rest = c.rest.LimitAlike(diag.NoDescription)
	c.noteAdapted(agents)
	c.warnPools()
	u := c.usageOf(agents)
	c.unclaimedDefaults(agents, u.sections)
	c.warnCycles(agents, all)
	u.noteKinds(c)
}

// check collects the findings of a dry run.
type check struct {
	*index
	// changes are the differences to the base of a draft, and before are its agents. Without them,
	// everything is resolved.
	changes *changes
	before  *templates
	errs    []error
	rest    diag.List
}

// newCheck returns a check of a revision. It reuses data of the draft's base if a dry run found no
// errors in it.
func newCheck(rev *registry.Revision) *check {
	if base := rev.Base(); base != nil {
		if before := provenAgents(base); before != nil {
			if changed := compareSets(rev.Set(), base.Set()); changed != nil {
				x := rev.Derive(indexKey{}, func() any { return indexOf(base).nextIndex(rev, changed) })
				return &check{index: x.(*index), changes: changed, before: before} //nolint:forcetypeassert // as in indexOf
			}
		}
	}
	return &check{index: indexOf(rev), before: new(templates)}
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
	checkIDs(c, c.set.Agents, "agent", c.changedAgents())
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

// changedAgents returns the declared agents whose records the base does not have.
func (c *check) changedAgents() (ids []string) {
	for _, id := range c.set.Agents.IDs() {
		if c.changes == nil || c.changes.ids[onRecord][id] {
			ids = append(ids, id)
		}
	}
	return ids
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

// resolveAll returns the templates of all agents, in order and by id. It carries over those that
// the changes do not affect, and creates the others on all processors.
func (c *check) resolveAll(ctx context.Context) (agents []*template, all *templates, err error) {
	ids := c.set.AgentIDs()
	agents = make([]*template, len(ids))
	var missing []int
	for i, id := range ids {
		if t, ok := c.before.Get(id); ok && !c.changes.affect(id, t) {
			agents[i] = t
		} else {
			missing = append(missing, i)
		}
	}
	var next atomic.Int64
	work := func() {
		for {
			n := int(next.Add(1)) - 1
			if n >= len(missing) || ctx.Err() != nil {
				return
			}
			i := missing[n]
			agents[i] = c.resolveAgent(ids[i], nil)
		}
	}
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(missing)) - 1 {
		workers.Go(work)
	}
	work()
	workers.Wait()
	all = c.before.Clone()
	if c.changes != nil {
		for _, id := range slices.Concat(c.changes.agents, remoteIDs(c.changes.old)) {
			if !hasAgent(c.set, id) {
				all.Delete(id)
			}
		}
	}
	for _, i := range missing {
		all.Set(ids[i], agents[i])
	}
	return agents, all, ctx.Err()
}

// unclaimedDefaults warns about default sections that no agent's plugins claim. A section that at
// least one agent claims is fine, unless it guards: then each agent without the plugin has
// already reported it.
func (c *check) unclaimedDefaults(agents []*template, claimed map[string]bool) {
	if c.set.Defaults == nil {
		return
	}
	told := make(map[string]bool)
	for _, t := range agents {
		for _, key := range t.unclaimed {
			rel := diag.Key("sections", key)
			if !claimed[key] && t.origin[rel] && !told[key] {
				told[key] = true
				c.rest = append(c.rest, (&resolver{template: t, index: c.index}).readerOf(key).hint(
					diag.New(diag.UnclaimedSection, t.pathOf(rel), "no plugin of any agent claims section %q", key)))
			}
		}
	}
}

// usage lists the definitions that the agents of a revision use. A missing or dangling reference
// counts as a use of every definition of its kind.
type usage struct {
	models, providers, plugins, tools, hosts used
	// sections are the sections that plugins claim.
	sections map[string]bool
}

// used are the used definitions of a kind. With any, all may be used.
type used struct {
	ids map[string]bool
	any bool
}

func newUsed() used { return used{ids: make(map[string]bool)} }

// usageOf returns the definitions that the revision uses with these agents.
func (c *check) usageOf(agents []*template) *usage {
	u := &usage{newUsed(), newUsed(), newUsed(), newUsed(), newUsed(), make(map[string]bool)}
	boxes := make(map[*toolbox]bool)
	for _, t := range agents {
		u.addAgent(t)
		if t.counted != nil && !boxes[t.counted] {
			boxes[t.counted] = true
			for _, entry := range t.counted.entries {
				u.tools.ids[entry.ID] = true
			}
		}
	}
	for _, pool := range c.set.Pools.All() {
		for i := range pool.Members {
			u.models.ids[pool.Members[i].ModelID] = true
		}
	}
	for _, m := range c.set.Models.All() {
		u.providers.ids[m.ProviderID] = true
	}
	u.addMeant(c.errs)
	u.addWorkflows(c.set)
	for _, id := range c.toolIDs {
		if c.global[id] == nil {
			u.tools.ids[id] = true // its errors are reported instead
		}
	}
	for id := range c.set.Available {
		u.plugins.ids[id] = true
	}
	return u
}

// addAgent adds the definitions that an agent uses, without the tools of its toolbox.
func (u *usage) addAgent(t *template) {
	u.models.ids[t.agent.ModelID] = true
	u.models.any = u.models.any || t.agent.Local() && t.agent.ModelID == ""
	if p := t.agent.ContextPolicy; p != nil {
		u.models.ids[p.SummaryModelID] = true
	}
	if t.agent.Hosted() {
		u.hosts.ids[t.agent.Endpoint.Target] = true
	}
	for _, id := range t.agent.PluginIDs {
		u.plugins.ids[id] = true
	}
	for _, id := range t.agent.ActiveHookFilter {
		u.plugins.ids[id] = true // others are reported by the filter's check
	}
	for _, id := range t.wanted {
		u.tools.ids[id] = true
	}
	u.tools.any = u.tools.any || t.unreadable || t.toolless
	for _, key := range t.claimed {
		if !isPipelineKey(key) { // every local agent claims those
			u.sections[key] = true
		}
	}
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
			u.models.ids[e.Nearest] = true
			u.models.any = u.models.any || e.Nearest == ""
		case *AgentProviderNotFoundError:
			u.hosts.ids[e.Nearest] = true
			u.hosts.any = u.hosts.any || e.Nearest == ""
		case *ProviderNotFoundError:
			u.providers.ids[e.Nearest] = true
			u.providers.any = u.providers.any || e.Nearest == ""
		case *PluginNotFoundError:
			u.plugins.ids[e.Nearest] = true
			u.plugins.any = u.plugins.any || e.Nearest == ""
		}
	}
}

// noteUnused adds a note for each unused configured entry. A bundle is used if any of its members
// is.
func noteUnused[T any](c *check, r *registry.Registry[T], used *used) {
	told := make(map[string]bool)
	for _, id := range r.IDs() {
		if used.ids[id] {
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
