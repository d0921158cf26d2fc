package cli

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools/toolset"
)

// needs are the parts of a configuration that one agent's turns depend on: the agent itself, its
// delegates and handoff targets, and the models, tools and plugins of all of them.
type needs struct {
	loaded *loaded
	set    *registry.Set
	rev    *registry.Revision
	// paths are the paths of the parts, and agents the explanations of the agents.
	paths  map[string]bool
	agents map[string]*resolve.Explanation
	// all is set if an agent does not resolve, so that its needs are unknown.
	all bool
}

// needsOf returns the dependencies of an agent's turns plus the named parts of the configuration.
// It fails if the agent does not exist.
func (l *loaded) needsOf(ctx context.Context, rev *registry.Revision, agent string, parts ...string) (*needs, error) {
	n := &needs{loaded: l, set: rev.Set(), rev: rev, paths: map[string]bool{}, agents: map[string]*resolve.Explanation{}}
	for _, part := range parts {
		n.paths[part] = true
	}
	err := n.agent(ctx, agent)
	return n, err
}

// startProviders starts the agent providers that an agent's turns depend on, so that they are ready
// for delegates.
func (l *loaded) startProviders(ctx context.Context, rev *registry.Revision, agent string) {
	if rev.Set().AgentProviders.Len() == 0 {
		return
	}
	n, _ := l.needsOf(ctx, rev, agent) // a missing agent is reported by its turn
	rev.Set().StartProviders(func(id string) bool { return n.paths[diag.Key("agent_providers", id)] })
}

// agent adds the needs of an agent.
func (n *needs) agent(ctx context.Context, id string) error {
	if _, seen := n.agents[id]; seen {
		return nil
	}
	e, err := resolve.Explain(ctx, n.rev, id)
	n.agents[id] = e
	if e == nil {
		n.source(id)
		return err
	}
	n.all = n.all || err != nil && n.unexplained(err)
	n.source(e.Agent.ID)
	n.paths[e.Path] = true
	n.model(e.Agent.ModelID)
	if policy := e.Agent.ContextPolicy; policy != nil {
		n.model(policy.SummaryModelID)
	}
	for _, p := range e.Plugins {
		n.paths[diag.Key("plugins", p.ID)] = true
	}
	if e.Agent.Hosted() {
		n.paths[diag.Key("agent_providers", e.Agent.Endpoint.Target)] = true
	}
	if !e.Agent.UsesTools() {
		return nil
	}
	unlisted := n.bundles(e.Agent)
	filtered := map[string]bool{}
	for i := range e.Tools {
		c := &e.Tools[i]
		switch {
		case c.Source.Kind != toolset.SourceGlobal:
			filtered[c.Source.Name] = !c.Rule.Visible
		case c.Rule.Visible && !unlisted[c.ID]:
			n.paths[diag.Key("tools", cmp.Or(c.Source.Name, c.ID))] = true
		}
	}
	for _, other := range slices.Concat(e.Agent.Delegates, e.Agent.Handoffs) {
		if !filtered[other] {
			_ = n.agent(ctx, other) // an unknown agent is reported elsewhere or undiscovered
		}
	}
	return nil
}

// unexplained reports whether an error is not just a consequence of the diagnostics found while
// reading.
func (n *needs) unexplained(err error) bool {
	l := n.loaded
	known, all := l.file.Complete(l.found, nil), l.file.Complete(l.found, diag.FromError(err))
	return len(all.Errors()) > len(known.Errors())
}

// source adds the sources that may provide an agent: the one named by its id, or all of them if
// no agent of that id is declared.
func (n *needs) source(id string) {
	if _, declared := n.set.Agents.Get(id); declared {
		return
	}
	name, _ := registry.SplitSource(id)
	for known, source := range n.set.Sources.All() {
		if name == "" || known == name {
			n.paths[source.Path()] = true
		}
	}
}

// model adds a model, or the members of a pool, and their providers.
func (n *needs) model(id string) {
	if pool, ok := n.set.Pools.Get(id); ok {
		n.paths[n.set.Pools.Path(id)] = true
		for i := range pool.Members {
			n.model(pool.Members[i].ModelID)
		}
	}
	if m, ok := n.set.Models.Get(id); ok {
		n.paths[n.set.Models.Path(id)] = true
		n.paths[n.set.Providers.Path(m.ProviderID)] = true
	}
}

// bundles returns the entries that could not be built and whose tools are unknown, and adds those
// whose tools the agent's catalog may include.
func (n *needs) bundles(agent *spec.Agent) map[string]bool {
	unlisted := map[string]bool{}
	for i := range n.loaded.file.Tools {
		entry := &n.loaded.file.Tools[i]
		many, ok := entry.Config.(interface{ ToolPrefix(id string) string })
		if !ok || !entry.Broken {
			continue
		}
		unlisted[entry.ID] = true
		if mayAllow(agent, many.ToolPrefix(entry.ID)) {
			n.paths[diag.Key("tools", entry.ID)] = true
		}
	}
	return unlisted
}

// mayAllow reports whether an agent's catalog may allow a tool whose id has a prefix.
func mayAllow(agent *spec.Agent, prefix string) bool {
	for _, pattern := range agent.ExcludedToolPatterns {
		if pattern == "*" || pattern == prefix+"*" {
			return false
		}
	}
	if agent.AllowedTools == nil && agent.AllowedToolPatterns == nil {
		return true
	}
	for _, id := range agent.AllowedTools {
		if strings.HasPrefix(id, prefix) {
			return true
		}
	}
	for _, pattern := range agent.AllowedToolPatterns {
		fixed := pattern
		if i := strings.IndexAny(pattern, `*?[{\!`); i >= 0 {
			fixed = pattern[:i]
		}
		if strings.HasPrefix(fixed, prefix) || strings.HasPrefix(prefix, fixed) {
			return true
		}
	}
	return false
}

// partial are the sections of which a turn may need only some entries. Everything else in a file is
// needed.
var partial = map[string]bool{
	"providers": true, "models": true, "model_pools": true, "tools": true, "plugins": true, "agent_providers": true, "agents": true, "defaults": true,
	"remote_agents": true, "schedules": true, "workflows": true, "store": true, "turns": true, "server": true,
}

// include reports whether a path is needed.
func (n *needs) include(path string) bool {
	at, ok := diag.ParsePath(path)
	if n.all || !ok || len(at) == 0 || !partial[at[0].Key] {
		return true
	}
	if rel, ok := strings.CutPrefix(path, "defaults."); ok {
		for _, e := range n.agents {
			if e != nil && e.Origin.Path("", rel) == path {
				return true
			}
		}
		return false
	}
	for part := range n.paths {
		if within(path, part) {
			return true
		}
	}
	return false
}

// without drops the diagnostics of unset variables that nothing needs. If it drops any, it also
// drops diagnostics of other agents, which may be consequences: reading omits a provider, tool or
// source with an unset variable.
func (n *needs) without(list diag.List) diag.List {
	out := list[:0:0]
	for _, d := range list {
		if d.Code != diag.UnsetVariable || n.include(d.Path) {
			out = append(out, d)
		}
	}
	if len(out) == len(list) {
		return out
	}
	return slices.DeleteFunc(out, func(d diag.Diagnostic) bool {
		_, own := n.agents[d.Agent]
		return d.Severity != diag.Error && d.Agent != "" && !own
	})
}
