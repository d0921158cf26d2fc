package resolve

import (
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/nearest"
	"github.com/agentruntime/agentruntime/registry"
)

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

// addWorkflows counts the agents and tools of workflows as used.
func (u *usage) addWorkflows(set *registry.Set) {
	for _, w := range set.Workflows.All() {
		steps := w.AllSteps()
		for i := range steps {
			if turn := steps[i].Agent; turn != nil && turn.ModelID != "" {
				near, _ := nearest.Of(turn.ModelID, set.Models.IDs())
				u.models.ids[turn.ModelID], u.models.ids[near] = true, true
			}
			if call := steps[i].Tool; call != nil {
				near, _ := nearest.Of(call.Name, set.Tools.IDs())
				u.tools.ids[call.Name], u.tools.ids[near] = true, true
			}
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
