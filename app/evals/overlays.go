package evals

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/service/fleet"
	"github.com/agentruntime/agentruntime/tools"
)

// overlayKey identifies an overlay of a tenant.
type overlayKey struct{ tenant, file string }

// overlays holds the tenant revisions on top of a runner's revision.
type overlays struct {
	*Runner
	base *registry.Revision
	open map[overlayKey]*openedOverlay
}

// openedOverlay is an overlay or the reason why it is unusable.
type openedOverlay struct {
	*fleet.Overlay
	found diag.List
	err   error
}

// openOverlays applies the overlays of all cases to a revision, each once.
func (r *Runner) openOverlays(ctx context.Context, base *registry.Revision) *overlays {
	o := &overlays{Runner: r, base: base, open: make(map[overlayKey]*openedOverlay)}
	for _, c := range r.Suite.Cases {
		key := overlayKey{c.Tenant, c.Overlay}
		if c.Overlay == "" || o.open[key] != nil {
			continue
		}
		one := new(openedOverlay)
		one.Overlay, one.found, one.err = o.openOverlay(ctx, c)
		o.open[key] = one
	}
	return o
}

// openOverlay applies the overlay of a case.
func (o *overlays) openOverlay(ctx context.Context, c *Case) (*fleet.Overlay, diag.List, error) {
	if o.Config == nil {
		return nil, nil, errors.New("Runner.Config is required for a case with an overlay")
	}
	data, err := readFile(c.Overlay, maxFileSize)
	if err != nil {
		return nil, nil, err
	}
	return fleet.OpenOverlay(ctx, &fleet.OverlayRequest{
		File: o.Config, Base: o.base, Tenant: c.Tenant, Source: config.Source{Name: c.Overlay, Data: data}, Edit: o.EditOverlay,
		Learn: func(ctx context.Context, b *builder.AgentRuntimeBuilder) error {
			for id, prefix := range b.UnknownTools() {
				if o.Suite.StubsAll(prefix) {
					return fmt.Errorf("the tools of %q are not known, and its server is not started because all cases stub its tools", id)
				}
			}
			b.ListToolsFor(tools.TenantValues(c.TenantVariables))
			b.LearnTools(ctx)
			return nil
		},
	})
}

// revisionOf returns the revision that a case runs with.
func (o *overlays) revisionOf(c *Case) (*registry.Revision, error) {
	if c.Overlay == "" {
		return o.base, nil
	}
	one := o.open[overlayKey{c.Tenant, c.Overlay}]
	switch {
	case one.err != nil:
		return nil, fmt.Errorf("overlay %s: %w", c.Overlay, one.err)
	case one.Revision == nil:
		return nil, fmt.Errorf("overlay %s: %s", c.Overlay, strings.ReplaceAll(one.found.Err().Error(), "\n", " "))
	}
	return one.Revision, nil
}

// close closes the components of the overlays. All runs must have ended.
func (o *overlays) close() {
	for _, one := range o.open {
		if one.Overlay != nil {
			_ = one.Close()
		}
	}
}
