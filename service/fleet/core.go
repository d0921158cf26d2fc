package fleet

import (
	"context"
	"slices"
	"sync"

	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/resolve"
)

// core is shared by the parts of a fleet.
type core struct {
	settings Settings
	// news holds one signal, on which the follower processes all news.
	news chan struct{}
	// validations limits the overlay checks that run for callers.
	validations *validations

	mu      sync.Mutex
	running Running
	// file is the running configuration, which knows the values to hide in output.
	file *config.File
}

// reportDiff compares agents of two revisions. The values of the variables of shown overlays are hidden.
func (c *core) reportDiff(ctx context.Context, before, after *registry.Revision, ids []string, shown ...*overlaid) (*resolve.DiffReport, error) {
	done, err := c.validations.prove(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	slices.Sort(ids)
	diffs, err := resolve.DiffAgents(ctx, before, after, slices.Compact(ids))
	if err != nil {
		return nil, err
	}
	var files []*config.File
	for _, o := range shown {
		files = append(files, o.overlay.File)
	}
	return redactDiff(resolve.NewDiffReport(diffs), c.redactors(files...)), nil
}
