package postgres

import (
	"context"
	"errors"
	"slices"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/internal/rules"
	"github.com/agentruntime/agentruntime/store/postgres/internal/db"
	"github.com/agentruntime/agentruntime/store/postgres/internal/instant"
	"github.com/jackc/pgx/v5"
)

// Prune deletes what is too old. Several replicas may do so at once: each takes
// what no other one deletes.
func (s *Store) Prune(ctx context.Context, r store.Retention) (store.Pruned, error) {
	return rules.Prune(ctx, r, rules.Pruner{Sessions: s.pruneSessions, Events: s.pruneEvents, Keys: s.pruneKeys, Revisions: s.pruneRevisions})
}

func (s *Store) pruneKeys(ctx context.Context, c rules.Cutoff) (int, error) {
	n, err := s.queries.DeleteOldKeys(ctx, db.DeleteOldKeysParams{Before: instant.Time(c.Before), Most: int32(c.Limit)})
	return int(n), wrapError("delete old", "keys", err)
}

func (s *Store) pruneSessions(ctx context.Context, c rules.Cutoff) (n int, err error) {
	err = s.runTransaction(ctx, func(tx pgx.Tx) error {
		q := s.queries.WithTx(tx)
		ids, err := q.LockOldSessions(ctx, db.LockOldSessionsParams{
			Before: instant.Time(c.Before), Latest: instant.Time(c.Latest), Most: int32(c.Limit),
		})
		if err != nil || len(ids) == 0 {
			return err
		}
		// A turn may have been made between the look and the lock.
		live, err := q.LiveSessions(ctx, ids)
		if err != nil {
			return err
		}
		ids = slices.DeleteFunc(ids, func(id string) bool { return slices.Contains(live, id) })
		n = len(ids)
		return deleteSessions(ctx, tx, ids)
	})
	return n, wrapError("delete old", "sessions", err)
}

func (s *Store) pruneEvents(ctx context.Context, c rules.Cutoff) (n int, err error) {
	err = s.runTransaction(ctx, func(tx pgx.Tx) error {
		marked, err := s.queries.WithTx(tx).MarkPruned(ctx, db.MarkPrunedParams{
			Before: instant.Time(c.Before), Latest: instant.Time(c.Latest), Most: int32(c.Limit),
		})
		if err != nil {
			return err
		}
		var ids, all []string
		for _, t := range marked {
			all = append(all, t.ID)
			if t.Had {
				ids = append(ids, t.ID)
			}
		}
		n = len(ids)
		var p pipeline
		if err := errors.Join(p.queuedQueries().DeleteEvents(ctx, ids), p.queuedQueries().DeleteJournal(ctx, ids), p.queuedQueries().DeleteWebhooksOf(ctx, all)); err != nil {
			return err
		}
		return p.sendQueued(ctx, tx)
	})
	return n, wrapError("delete old", "events", err)
}
