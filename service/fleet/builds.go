package fleet

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/service"
)

// maxBuilds limits how many earlier revisions a process keeps built for their turns.
const maxBuilds = 8

// Builds builds the revisions that turns need, and caches them. It is safe for concurrent use.
type Builds struct {
	*core
	history *History

	list    buildList
	tenants tenantCache
	// recorded is the hash of the revision last stored by Record.
	recorded string
	// declared maps the hash of a document to the DeclaredHash of its build.
	declared map[string]string
	// bases are the bases for tenant overlays, by hash.
	bases map[string]*config.TenantBase
}

// buildList holds revisions rebuilt from their documents.
type buildList struct {
	mu sync.Mutex
	// ready are the builds, most recently used last.
	ready  []*rebuilt
	closed bool
	// closing tracks the goroutines that close unused builds.
	closing sync.WaitGroup
}

// rebuilt is one rebuilt revision.
type rebuilt struct {
	// build is the hash of the expected revision, or service.PublishedBuild of the document to
	// build it from.
	build string
	// rev is nil until ready is closed, and also afterwards if err says why the build failed.
	ready chan struct{}
	rev   *registry.Revision
	err   error
	// shared is set for a revision that is or was the runtime's current one.
	shared bool
	// missing are the components that came from the program and no longer exist, except those that
	// the runtime's current revision lacks too.
	missing components

	mu sync.Mutex
	// judged maps agents to the reason why their turns cannot continue, or nil.
	judged map[string]error
}

func (f *Builds) setFile(file *config.File) {
	f.mu.Lock()
	f.file = file
	f.mu.Unlock()
	size := cmp.Or(f.settings.TenantCache, defaultTenantCache)
	if file.TenantRules != nil {
		size = cmp.Or(file.TenantRules.Cache, size)
	}
	f.tenants.resize(size)
}

// AnyTenants reports whether tenants may have overlays, so that the revision of a new turn depends
// on its tenant.
func (f *Builds) AnyTenants() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.file != nil && f.file.TenantRules.HasOverlays()
}

// noteChange invalidates the cached state of tenants.
func (f *Builds) noteChange() {
	f.tenants.generation.Add(1)
	f.tenants.releaseReplaced(f.settings.Runtime.Revision())
	f.settings.Changed()
}

// isReady reports whether the build succeeded.
func (r *rebuilt) isReady() bool {
	select {
	case <-r.ready:
		return r.err == nil
	default:
		return false
	}
}

func (b *buildList) dropBuild(r *rebuilt) {
	b.ready = slices.DeleteFunc(b.ready, func(other *rebuilt) bool { return other == r })
}

// judgeAgent returns why turns of an agent cannot continue: it or one of its delegates does not
// resolve, or sees a tool that no longer exists.
func (r *rebuilt) judgeAgent(ctx context.Context, agentID string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	err, known := r.judged[agentID]
	if !known {
		if err = r.checkAgents(ctx, agentID); ctx.Err() != nil {
			return ctx.Err()
		}
		r.judged[agentID] = err
	}
	return err
}

func (r *rebuilt) checkAgents(ctx context.Context, agentID string) error {
	queue, seen := []string{agentID}, map[string]bool{agentID: true}
	for len(queue) > 0 {
		id := queue[0]
		queue = queue[1:]
		e, err := resolve.Explain(ctx, r.rev, id)
		if err != nil {
			return fmt.Errorf("%w: %w%s", service.ErrRevisionGone, err, r.describeMissing())
		}
		for i := range e.Tools {
			if choice := &e.Tools[i]; choice.Offered() && slices.Contains(r.missing.Tools, choice.ID) {
				return fmt.Errorf("%w: the program does not have the tool %q any more, which agent %q uses", service.ErrRevisionGone, choice.ID, id)
			}
		}
		for _, next := range append(slices.Clone(e.Agent.Delegates), e.Agent.Handoffs...) {
			_, known := r.rev.Set().Agent(next) // agents of an unanswering peer are unknown
			if known && !seen[next] {
				seen[next] = true
				queue = append(queue, next)
			}
		}
	}
	return nil
}

// describeMissing names the missing plugins and providers.
func (r *rebuilt) describeMissing() string {
	var list []string
	for _, id := range r.missing.Plugins {
		list = append(list, fmt.Sprintf("plugin %q", id))
	}
	for _, id := range r.missing.Providers {
		list = append(list, fmt.Sprintf("provider %q", id))
	}
	if len(list) == 0 {
		return ""
	}
	return "; the program does not have any more: " + strings.Join(list, ", ")
}
