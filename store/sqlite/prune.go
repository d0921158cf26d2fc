package sqlite

import (
	"cmp"
	"context"
	"time"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/sqlite/internal/db"
)

// defaultLimit is how much one call of Prune deletes.
const defaultLimit = 1000

// Prune deletes what is too old. Each session and turn has a transaction of its
// own, so that nobody waits for long; what was deleted before an error stays so
// and is counted. In the end the file shrinks by what lies free in it.
func (s *Store) Prune(ctx context.Context, r store.Retention) (store.Pruned, error) {
	out, err := s.deleteOld(ctx, r)
	if err == nil {
		err = wrap("shrink", s.path, s.vacuum(ctx))
	}
	return out, err
}

// deleteOld deletes what is too old.
func (s *Store) deleteOld(ctx context.Context, r store.Retention) (out store.Pruned, err error) {
	limit := int64(cmp.Or(r.Limit, defaultLimit))
	if r.Sessions > 0 {
		if out.Sessions, err = s.pruneSessions(ctx, r.Now.Add(-r.Sessions), limit); err != nil {
			return out, wrap("delete old sessions", s.path, err)
		}
	}
	if r.Events > 0 {
		if out.Turns, err = s.pruneTurns(ctx, r.Now.Add(-r.Events), limit); err != nil {
			return out, wrap("delete old events", s.path, err)
		}
	}
	if r.Keys > 0 {
		err = s.write(ctx, func(ctx context.Context, tx *tx) error {
			n, err := tx.DeleteOldKeys(ctx, db.DeleteOldKeysParams{Before: micros(r.Now.Add(-r.Keys)), Most: limit})
			out.Keys = int(n)
			return err
		})
	}
	return out, wrap("delete old keys", s.path, err)
}

// pruneSessions deletes sessions without activity since some time.
func (s *Store) pruneSessions(ctx context.Context, before time.Time, limit int64) (n int, err error) {
	latest := micros(before.Add(-store.WebhookHold))
	ids, err := s.queries.OldSessions(ctx, db.OldSessionsParams{Before: micros(before), Latest: latest, Most: limit})
	if err != nil {
		return 0, err
	}
	for _, id := range ids {
		var gone bool
		err := s.write(ctx, func(ctx context.Context, tx *tx) error {
			old, err := tx.IsOld(ctx, db.IsOldParams{ID: id, Before: micros(before), Latest: latest})
			gone = old
			if err != nil || !old { // it was used meanwhile
				return err
			}
			return deleteSession(ctx, tx, id)
		})
		if err != nil {
			return n, err
		}
		if gone {
			n++
		}
	}
	return n, nil
}

// pruneTurns deletes the events, journals and webhooks of turns that have ended before
// some time.
func (s *Store) pruneTurns(ctx context.Context, before time.Time, limit int64) (n int, err error) {
	turns, err := s.queries.OldTurns(ctx, db.OldTurnsParams{Before: micros(before), Latest: micros(before.Add(-store.WebhookHold)), Most: limit})
	if err != nil {
		return 0, err
	}
	for _, t := range turns {
		err := s.write(ctx, func(ctx context.Context, tx *tx) error {
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
			return n, err
		}
		n++
	}
	return n, nil
}
