package postgres

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/postgres/internal/db"
	"github.com/agentruntime/agentruntime/store/postgres/internal/instant"
	"github.com/jackc/pgx/v5"
)

// defaultPrune is from how many sessions, turns and keys one call deletes.
const defaultPrune = 1000

// Prune deletes what is too old. Several replicas may do so at once: each takes
// what no other one deletes.
func (s *Store) Prune(ctx context.Context, r store.Retention) (p store.Pruned, err error) {
	limit := int32(cmp.Or(r.Limit, defaultPrune))
	if r.Sessions > 0 {
		if p.Sessions, err = s.pruneSessions(ctx, r.Now.Add(-r.Sessions), limit); err != nil {
			return p, wrap("delete old", "sessions", err)
		}
	}
	if r.Events > 0 {
		if p.Turns, err = s.pruneEvents(ctx, r.Now.Add(-r.Events), limit); err != nil {
			return p, wrap("delete old", "events", err)
		}
	}
	if r.Keys > 0 {
		n, err := s.queries.DeleteOldKeys(ctx, db.DeleteOldKeysParams{Before: instant.Time(r.Now.Add(-r.Keys)), Most: limit})
		if err != nil {
			return p, wrap("delete old", "keys", err)
		}
		p.Keys = int(n)
	}
	return p, nil
}

func (s *Store) pruneSessions(ctx context.Context, before time.Time, limit int32) (n int, err error) {
	err = s.transact(ctx, func(tx pgx.Tx) error {
		q := s.queries.WithTx(tx)
		ids, err := q.LockOldSessions(ctx, db.LockOldSessionsParams{
			Before: instant.Time(before), Latest: instant.Time(before.Add(-store.WebhookHold)), Most: limit,
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
	return n, err
}

func (s *Store) pruneEvents(ctx context.Context, before time.Time, limit int32) (n int, err error) {
	err = s.transact(ctx, func(tx pgx.Tx) error {
		marked, err := s.queries.WithTx(tx).MarkPruned(ctx, db.MarkPrunedParams{
			Before: instant.Time(before), Latest: instant.Time(before.Add(-store.WebhookHold)), Most: limit,
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
		if err := errors.Join(p.queries().DeleteEvents(ctx, ids), p.queries().DeleteJournal(ctx, ids), p.queries().DeleteWebhooksOf(ctx, all)); err != nil {
			return err
		}
		return p.send(ctx, tx)
	})
	return n, err
}
