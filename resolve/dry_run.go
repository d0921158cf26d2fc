package resolve

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/registry"
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
