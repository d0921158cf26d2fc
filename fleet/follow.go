package fleet

import (
	"context"
	"slices"
	"time"

	"github.com/agentruntime/agentruntime/store"
	"go.uber.org/zap"
)

const (
	// pollInterval is how often a process asks for the current revision, also when it
	// hears of none.
	pollInterval = time.Second
	// retryInterval is when a revision that could not be built is tried again.
	retryInterval = 15 * time.Second
)

// Heard handles what was rung for, as dispatch.Bell tells it.
func (f *Fleet) Heard(ids []string) {
	if ids == nil || slices.Contains(ids, BellID) {
		f.noteChange()
		f.tellFollower()
	}
}

// noteChange has what is known of tenants looked up again.
func (f *Fleet) noteChange() {
	f.tenants.generation.Add(1)
	f.tenants.releaseReplaced(f.settings.Runtime.Revision())
	f.settings.Changed()
}

func (f *Fleet) tellFollower() {
	select {
	case f.news <- struct{}{}:
	default:
	}
}

// Follow gives the runtime the revisions that other processes publish, until ctx ends.
// Where files decide it does nothing.
func (f *Fleet) Follow(ctx context.Context) {
	if !f.settings.FromStore {
		return
	}
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	var failed string // the hash of what could not be built
	var again time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-f.news:
		}
		f.noteOverlays(ctx)
		hash, err := f.settings.Store.CurrentHash(ctx, "")
		if err != nil || hash == "" || hash == f.Running().Hash || hash == failed && f.settings.Clock().Before(again) {
			continue
		}
		failed = ""
		if err := f.catchUp(ctx); err != nil && ctx.Err() == nil {
			failed, again = hash, f.settings.Clock().Add(retryInterval)
			f.settings.Logger.Error("following the current revision failed; this process runs an earlier one",
				zap.String("document", hash), zap.Error(err))
		}
	}
}

// catchUp makes the current revision of the store that of the runtime.
func (f *Fleet) catchUp(ctx context.Context) error {
	f.publishing.Lock()
	defer f.publishing.Unlock()
	current, err := f.settings.Store.CurrentRevision(ctx, "")
	if err != nil {
		return err
	}
	if current.Hash == f.Running().Hash { // it was published here meanwhile
		return nil
	}
	return f.adopt(ctx, current)
}

// adopt makes a revision of the store that of the runtime.
func (f *Fleet) adopt(ctx context.Context, r *store.Revision) error {
	if f.settings.Runtime.Revision().Set().Document == r.Hash {
		f.setRunning(Running{Number: r.Number, Hash: r.Hash})
		return nil
	}
	current := f.settings.Runtime.AcquireRevision()
	defer current.Release()
	if made := f.buildEdit(current, r.Document); made != nil {
		if f.swap(ctx, made, r) == nil {
			return nil
		}
		_ = made.builder.Close() // what is wrong, the whole document tells
	}
	made, err := f.buildStored(ctx, r.Document)
	if err == nil {
		made.builder.Adopt(current)
		if err = f.swap(ctx, made, r); err != nil {
			_ = made.builder.Close() // what is not used has nothing to say
		}
	}
	if err != nil {
		f.fallBehind(r, err)
	}
	return err
}

// fallBehind notes that the process does not run the current revision.
func (f *Fleet) fallBehind(wanted *store.Revision, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.running.Wanted, f.running.Problem = wanted.Hash, err.Error()
}
