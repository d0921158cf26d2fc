package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/store"
	"go.uber.org/zap"
)

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

// makeTenantBuild rebuilds a tenant's revision for turns that began in it.
func (f *Builds) makeTenantBuild(ctx context.Context, r *rebuilt, baseHash string, revision *Revision, known *components) (end func(), err error) {
	base, err := f.acquireBase(ctx, baseHash)
	if err != nil {
		return nil, err
	}
	made, err := f.applyOverlay(ctx, base, revision.Tenant, revision.Document)
	if err != nil {
		base.rev.Release()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("%w: revision %d of the tenant cannot be built any more: %w", service.ErrRevisionGone, revision.Number, err)
	}
	if missing := known.missingFrom(made.rev.Set()); len(missing.Tools) > 0 {
		f.endOverlaid(made, base)
		return nil, fmt.Errorf("%w: the program does not have the tools any more: %s", service.ErrRevisionGone, strings.Join(missing.Tools, ", "))
	}
	r.rev = made.rev
	return func() { f.endOverlaid(made, base) }, nil
}

func (f *Builds) endOverlaid(made *overlaid, base *overlayBase) {
	if err := made.close(); err != nil {
		f.settings.Logger.Warn("closing components of a tenant failed", zap.Error(err))
	}
	base.rev.Release()
}

// acquireBase returns the base with a hash; empty means the running one. The caller releases it.
func (f *Builds) acquireBase(ctx context.Context, hash string) (*overlayBase, error) {
	rev := f.settings.Runtime.AcquireRevision()
	if hash != "" && hash != rev.Set().Document {
		rev.Release()
		built, err := f.rebuild(ctx, service.PublishedBuild(hash))
		if err != nil {
			return nil, err
		}
		if !built.rev.Retain() { // dropped in the meantime
			return f.acquireBase(ctx, hash)
		}
		rev = built.rev
	}
	b := &overlayBase{hash: rev.Set().Document, rev: rev}
	var err error
	if b.hash == "" {
		err = ErrNotStored
	} else {
		b.config, err = f.readBase(ctx, b.hash)
	}
	if err != nil {
		rev.Release()
		return nil, err
	}
	return b, nil
}
