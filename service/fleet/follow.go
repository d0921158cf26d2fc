package fleet

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/store"
	"go.uber.org/zap"
)

// NotifyID is the id of a fleet's notifications after publishing.
const NotifyID = "revisions"

// Follower gives the runtime the revisions that files declare or other processes publish.
type Follower struct {
	*core
	builds    *Builds
	flows     *Flows
	publisher *Publisher
}

// Start synchronizes the store with the runtime, which was built from the file. If the store
// decides, the runtime gets the store's current revision, or an empty store gets the file's
// document. Otherwise the store records the file's declarations.
func (f *Follower) Start(ctx context.Context, file *config.File) error {
	f.builds.setFile(file)
	if !f.settings.FromStore {
		return f.RecordFile(ctx, file)
	}
	current, err := f.settings.Store.CurrentRevision(ctx, "")
	if errors.Is(err, store.ErrNotFound) {
		return f.RecordFile(ctx, file)
	}
	if err != nil {
		return err
	}
	if err := f.publisher.adopt(ctx, current); err != nil {
		return err
	}
	f.ReportIgnored(file)
	return nil
}

// RecordFile stores the declarations of files as the current revision, so that turns can resume
// in it after a restart. Call it before the runtime gets the revision. Files with secrets are not
// stored; this is logged.
func (f *Follower) RecordFile(ctx context.Context, file *config.File) error {
	f.builds.setFile(file)
	document, err := file.Document()
	if err != nil {
		f.setRunning(Running{})
		f.settings.Logger.Warn("revision not stored; waiting turns cannot continue in it after a restart", zap.Error(err))
		return nil
	}
	published, err := f.settings.Store.PublishRevision(ctx, &store.PublishRevision{
		Revision: store.Revision{
			Hash: config.HashDocument(document), Document: document, Author: fileAuthor, CreatedAt: f.settings.Clock(),
		},
		Regardless: true,
	})
	if err != nil {
		return err
	}
	f.setRunning(Running{Number: published.Number, Hash: published.Hash})
	return nil
}

// fileAuthor is the author of revisions declared by files.
const fileAuthor = "file"

// ReportIgnored reports whether files declare something other than the running configuration, and
// logs it. If the store decides, only their settings apply.
func (f *Follower) ReportIgnored(file *config.File) bool {
	running := f.Running()
	document, err := file.Document()
	if err == nil && config.HashDocument(document) == running.Hash {
		return false
	}
	f.settings.Logger.Info("agents of the files ignored: revisions.source is store, and its current revision differs",
		zap.Uint64("number", running.Number), zap.String("document", running.Hash))
	return true
}

// Heard handles the ids of a notification.
func (f *Follower) Heard(ids []string) {
	if ids == nil || slices.Contains(ids, NotifyID) {
		f.builds.noteChange()
		f.publisher.tellFollower()
	}
}

// Follow gives the runtime the revisions that other processes publish, until ctx ends. If files
// decide, it does nothing.
func (f *Follower) Follow(ctx context.Context) {
	if !f.settings.FromStore {
		return
	}
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	var failed string // the hash of the failed build
	var again time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-f.news:
		}
		f.flows.noteOverlays(ctx)
		hash, err := f.settings.Store.CurrentHash(ctx, "")
		if err != nil || hash == "" || hash == f.Running().Hash || hash == failed && f.settings.Clock().Before(again) {
			continue
		}
		failed = ""
		if err := f.publisher.catchUp(ctx); err != nil && ctx.Err() == nil {
			failed, again = hash, f.settings.Clock().Add(retryInterval)
			f.settings.Logger.Error("following the current revision failed; this process runs an earlier one",
				zap.String("document", hash), zap.Error(err))
		}
	}
}

// catchUp updates the runtime to the store's current revision.
func (p *Publisher) catchUp(ctx context.Context) error {
	p.publishing.Lock()
	defer p.publishing.Unlock()
	current, err := p.settings.Store.CurrentRevision(ctx, "")
	if err != nil {
		return err
	}
	if current.Hash == p.Running().Hash { // this process published it
		return nil
	}
	return p.adopt(ctx, current)
}

// adopt updates the runtime to a revision of the store.
func (p *Publisher) adopt(ctx context.Context, r *store.Revision) error {
	if p.settings.Runtime.Revision().Set().Document == r.Hash {
		p.setRunning(Running{Number: r.Number, Hash: r.Hash})
		return nil
	}
	current := p.settings.Runtime.AcquireRevision()
	defer current.Release()
	if made := p.buildEdit(current, r.Document); made != nil {
		if p.swap(ctx, made, r) == nil {
			return nil
		}
		_ = made.builder.Close() // building the whole document below reports the error
	}
	made, err := p.buildStored(ctx, r.Document)
	if err == nil {
		made.builder.Adopt(current)
		if err = p.swap(ctx, made, r); err != nil {
			_ = made.builder.Close() // never used
		}
	}
	if err != nil {
		p.fallBehind(r, err)
	}
	return err
}
