package work

import (
	"context"
	"errors"
	"time"

	"github.com/agentruntime/agentruntime/internal/wait"
	"github.com/agentruntime/agentruntime/store"
	"go.uber.org/zap"
)

// commitTime bounds a commit.
const commitTime = 15 * time.Second

// firstWait and longestWait limit the wait between two attempts to commit to a store that accepts
// no writes.
const (
	firstWait   = 50 * time.Millisecond
	longestWait = time.Second
)

// keepTrying commits, and retries while the store accepts no writes and the worker is not stopped.
// The worker keeps the turn, because taking it over would also need a write.
func (r *recorder) keepTrying(ctx context.Context, c *store.Commit) error {
	for pause := firstWait; ; pause = min(2*pause, longestWait) {
		err := r.tryCommit(ctx, c)
		if !errors.Is(err, store.ErrNotWritable) {
			return err
		}
		if pause == firstWait {
			r.pool.settings.Logger.Warn("turn waits for the store to take writes", zap.String("turn_id", r.turn.ID), zap.Error(err))
		}
		if wait.For(r.ctx, pause) != nil {
			return err
		}
	}
}

// tryCommit commits once. A commit that has begun is not canceled with the turn, because its
// outcome would be unknown.
func (r *recorder) tryCommit(ctx context.Context, c *store.Commit) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitTime)
	defer cancel()
	return r.pool.settings.Store.Commit(ctx, c)
}
