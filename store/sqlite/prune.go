package sqlite

import (
	"context"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/internal/rules"
	"github.com/agentruntime/agentruntime/store/sqlite/internal/db"
)

// Prune deletes what is too old. Each session and turn has a transaction of its
// own, so that nobody waits for long; what was deleted before an error stays so
// and is counted. In the end the file shrinks by what lies free in it.
func (s *Store) Prune(ctx context.Context, r store.Retention) (store.Pruned, error) {
	out, err := rules.Prune(ctx, r, rules.Pruner{Sessions: s.pruneSessions, Events: s.pruneTurns, Keys: s.pruneKeys, Revisions: s.pruneRevisions})
	if err == nil {
		err = wrapError("shrink", s.path, s.shrinkFile(ctx))
	}
	return out, err
}

// pruneKeys forgets the keys of requests.
func (s *Store) pruneKeys(ctx context.Context, c rules.Cutoff) (n int, err error) {
	err = s.runOperation(ctx, func(ctx context.Context, tx *tx) error {
		deleted, err := tx.DeleteOldKeys(ctx, db.DeleteOldKeysParams{Before: toMicros(c.Before), Most: int64(c.Limit)})
		n = int(deleted)
		return err
	})
	return n, wrapError("delete old keys", s.path, err)
}

// pruneSessions deletes sessions without activity since some time.
func (s *Store) pruneSessions(ctx context.Context, c rules.Cutoff) (n int, err error) {
	before, latest := toMicros(c.Before), toMicros(c.Latest)
	ids, err := s.queries.OldSessions(ctx, db.OldSessionsParams{Before: before, Latest: latest, Most: int64(c.Limit)})
	if err != nil {
		return 0, wrapError("delete old sessions", s.path, err)
	}
	for _, id := range ids {
		var gone bool
		err := s.runOperation(ctx, func(ctx context.Context, tx *tx) error {
			old, err := tx.IsOld(ctx, db.IsOldParams{ID: id, Before: before, Latest: latest})
			gone = old
			if err != nil || !old { // it was used meanwhile
				return err
			}
			return deleteSession(ctx, tx, id)
		})
		if err != nil {
			return n, wrapError("delete old sessions", s.path, err)
		}
		if gone {
			n++
		}
	}
	return n, nil
}

// pruneTurns deletes the events, journals and webhooks of turns that have ended before
// some time.
func (s *Store) pruneTurns(ctx context.Context, c rules.Cutoff) (n int, err error) {
	turns, err := s.queries.OldTurns(ctx, db.OldTurnsParams{Before: toMicros(c.Before), Latest: toMicros(c.Latest), Most: int64(c.Limit)})
	if err != nil {
		return 0, wrapError("delete old events", s.path, err)
	}
	for _, t := range turns {
		err := s.runOperation(ctx, func(ctx context.Context, tx *tx) error {
			if err := tx.DeleteEvents(ctx, t.ID); err != nil {
				return err
			}
			if err := tx.DeleteJournal(ctx, t.ID); err != nil {
				return err
			}
			if err := tx.DeleteWebhooksOf(ctx, t.ID); err != nil {
				return err
			}
			return tx.MarkPruned(ctx, t.Made)
		})
		if err != nil {
			return n, wrapError("delete old events", s.path, err)
		}
		n++
	}
	return n, nil
}
