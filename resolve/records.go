package resolve

import (
	"strings"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/plugins/core"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/spec"
)

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
