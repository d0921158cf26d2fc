package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/store"
	"go.uber.org/zap"
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

// Acquire returns the revision in which an agent's turn began.
func (f *Builds) Acquire(ctx context.Context, hash, agentID string) (*registry.Revision, error) {
	r, err := f.rebuild(ctx, hash)
	if err != nil {
		return nil, err
	}
	if agentID != "" {
		if err := r.judgeAgent(ctx, agentID); err != nil {
			return nil, err
		}
	}
	if !r.rev.Retain() { // dropped in the meantime
		return f.Acquire(ctx, hash, agentID)
	}
	return r.rev, nil
}

// rebuild returns a build, building it if necessary.
func (f *Builds) rebuild(ctx context.Context, hash string) (*rebuilt, error) {
	list := &f.list
	list.mu.Lock()
	if list.closed {
		list.mu.Unlock()
		return nil, errors.New("the fleet is closed")
	}
	at := slices.IndexFunc(list.ready, func(r *rebuilt) bool { return r.build == hash })
	if at >= 0 {
		r := list.ready[at]
		list.ready = append(slices.Delete(list.ready, at, at+1), r)
		list.mu.Unlock()
		select {
		case <-r.ready:
			return r, r.err
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	r := &rebuilt{build: hash, ready: make(chan struct{}), judged: make(map[string]error)}
	list.ready = append(list.ready, r)
	list.mu.Unlock()
	end, err := f.makeBuild(ctx, r)
	r.err = err
	close(r.ready)
	list.mu.Lock()
	defer list.mu.Unlock()
	if err != nil { // the next attempt may succeed, so do not cache the failure
		list.dropBuild(r)
		return nil, err
	}
	if !r.shared { // held by the list until dropped
		r.rev.Retain()
		r.rev.EndAfterUsers(func() { list.closing.Go(end) })
	}
	if list.closed {
		r.rev.Release()
		return nil, errors.New("the fleet is closed")
	}
	for len(list.ready) > maxBuilds {
		oldest := slices.IndexFunc(list.ready, func(other *rebuilt) bool { return other != r && other.isReady() })
		if oldest < 0 {
			break
		}
		other := list.ready[oldest]
		list.dropBuild(other)
		other.rev.Release()
	}
	return r, nil
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

// makeBuild builds a revision from its document. end closes its components.
func (f *Builds) makeBuild(ctx context.Context, r *rebuilt) (end func(), err error) {
	if hash, isBase := service.PublishedDocument(r.build); isBase {
		revision, err := f.history.Revision(ctx, hash)
		if _, unknown := errors.AsType[*NotFoundError](err); unknown {
			return nil, fmt.Errorf("%w: the store does not have the base", service.ErrRevisionGone)
		}
		if err != nil {
			return nil, err
		}
		return f.makeBase(ctx, r, revision, &components{})
	}
	record, revision, err := f.settings.Store.BuiltRevision(ctx, r.build)
	if errors.Is(err, store.ErrNotFound) {
		return nil, fmt.Errorf("%w: the store does not have it", service.ErrRevisionGone)
	}
	if err != nil {
		return nil, err
	}
	var known components
	if len(record.Components) > 0 {
		if err := json.Unmarshal(record.Components, &known); err != nil {
			return nil, fmt.Errorf("%w: read the components that the program added to revision %d: %w", service.ErrRevisionGone, revision.Number, err)
		}
	}
	if revision.Tenant != "" {
		return f.makeTenantBuild(ctx, r, record.Base, revision, &known)
	}
	return f.makeBase(ctx, r, revision, &known)
}

// makeBase builds a revision from the document of a base. known are the components that the
// program had added.
func (f *Builds) makeBase(ctx context.Context, r *rebuilt, revision *Revision, known *components) (end func(), err error) {
	if current := f.settings.Runtime.AcquireRevision(); current.Set().Document == revision.Hash && len(known.missingFrom(current.Set()).Tools) == 0 {
		r.rev, r.shared, r.missing = current, true, known.missingFrom(current.Set())
		return nil, nil
	} else {
		current.Release()
	}
	made, err := f.buildStored(ctx, revision.Document)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("%w: revision %d cannot be built any more: %w", service.ErrRevisionGone, revision.Number, err)
	}
	set, err := made.builder.BuildRevision(ctx)
	if err == nil {
		if r.missing = known.missingFrom(set.Set()); len(r.missing.Tools) > 0 {
			for _, id := range r.missing.Tools {
				made.builder.WithTool(id, goneTool{})
			}
			set, err = made.builder.BuildRevision(ctx)
		}
	}
	if err != nil {
		_ = made.builder.Close() // never used
		return nil, fmt.Errorf("%w: revision %d cannot be built any more: %w", service.ErrRevisionGone, revision.Number, err)
	}
	r.rev = set
	f.settings.Logger.Info("revision built for turns that began in it", zap.Uint64("revision", revision.Number), zap.String("document", revision.Hash))
	return func() {
		if err := made.builder.Close(); err != nil {
			f.settings.Logger.Warn("closing components of an earlier revision failed", zap.Uint64("revision", revision.Number), zap.Error(err))
		}
	}, nil
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

// Close closes the rebuilt revisions as soon as they are unused, and waits for it. Call it when no
// turn is running.
func (f *Fleet) Close() {
	list := &f.list
	list.mu.Lock()
	list.closed = true
	ready := list.ready
	list.ready = nil
	list.mu.Unlock()
	for _, r := range ready {
		if r.isReady() {
			r.rev.Release()
		}
	}
	f.tenants.close()
	list.closing.Wait()
}
