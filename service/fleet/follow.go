package fleet

import (
	"context"
	"slices"
	"time"

	"github.com/agentruntime/agentruntime/store"
	"go.uber.org/zap"
)

const (
	// pollInterval is the interval of polling for the current revision, in addition to
	// notifications.
	pollInterval = time.Second
	// retryInterval is the pause before building a failed revision again.
	retryInterval = 15 * time.Second
)

// Follower gives the runtime the revisions that files declare or other processes publish.
type Follower struct {
	*core
	builds    *Builds
	flows     *Flows
	publisher *Publisher
}

// Heard handles the ids of a notification.
func (f *Follower) Heard(ids []string) {
	if ids == nil || slices.Contains(ids, NotifyID) {
		f.builds.noteChange()
		f.publisher.tellFollower()
	}
}

// noteChange invalidates the cached state of tenants.
func (f *Builds) noteChange() {
	f.tenants.generation.Add(1)
	f.tenants.releaseReplaced(f.settings.Runtime.Revision())
	f.settings.Changed()
}

func (p *Publisher) tellFollower() {
	select {
	case p.news <- struct{}{}:
	default:
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

// fallBehind records that the process does not run the current revision.
func (c *core) fallBehind(wanted *store.Revision, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running.Wanted, c.running.Problem = wanted.Hash, err.Error()
}
