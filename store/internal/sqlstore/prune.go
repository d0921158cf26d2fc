package sqlstore

import (
	"cmp"
	"context"
	"slices"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/internal/rules"
)

// Prune deletes expired records. Several replicas may run it concurrently: each skips rows that
// another is deleting. Deletions before an error are kept and counted.
func (r *Records) Prune(ctx context.Context, retention store.Retention) (store.Pruned, error) {
	return rules.Prune(ctx, retention, rules.Pruner{Sessions: r.pruneSessions, Events: r.pruneTurns, Keys: r.pruneKeys, Revisions: r.pruneRevisions, Usage: r.pruneUsage})
}

// pruneKeys deletes old idempotency keys.
func (r *Records) pruneKeys(ctx context.Context, c rules.Cutoff) (int, error) {
	n, err := r.exec(ctx, `DELETE FROM idempotency_keys WHERE (scope, key) IN (
		SELECT k.scope, k.key FROM idempotency_keys k WHERE k.created_at < $1 ORDER BY k.created_at LIMIT $2)`, Time(c.Before), int64(c.Limit))
	return int(n), r.db.WrapError("delete old", "keys", err)
}

// oldSessions returns the query of sessions without activity since the cutoff.
func (r *sessionRecords) oldSessions(c rules.Cutoff) *filter {
	f := r.dialect.newFilter("SELECT s.id FROM sessions s")
	f.where("s.active_at < " + f.Time(c.Before))
	f.where("NOT EXISTS (SELECT 1 FROM turns t WHERE t.session_id = s.id AND " + r.dialect.live("t") + ")")
	f.where("(s.active_at < " + f.Time(c.Latest) + " OR NOT EXISTS (SELECT 1 FROM webhooks w WHERE w.session_id = s.id AND w.state = 'active'))")
	return f
}

// oldTurns returns the query of turns that ended before the cutoff and were not pruned.
func (r *turnRecords) oldTurns(c rules.Cutoff) *filter {
	f := r.dialect.newFilter("SELECT t.id FROM turns t")
	f.where(r.dialect.isSet("t.finished_at") + " AND NOT t.pruned AND t.finished_at < " + f.Time(c.Before))
	f.where("(t.finished_at < " + f.Time(c.Latest) + " OR NOT EXISTS (SELECT 1 FROM webhooks w WHERE w.turn_id = t.id AND w.state = 'active'))")
	return f
}

// pruneChunks reads the ids of an old query and prunes one chunk per transaction. prune gets the
// ids that are still old and that no other transaction has locked.
func (r *core) pruneChunks(
	ctx context.Context, c rules.Cutoff, old func(rules.Cutoff) *filter, alias, age string, prune func(ctx context.Context, s Session, ids []string) (int, error),
) (n int, err error) {
	f := old(c)
	ids, err := CollectColumn[string](ctx, r.db.Reader, f.statement("ORDER BY "+age+" "+f.limit(c.Limit)), f.args...)
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	for some := range slices.Chunk(ids, cmp.Or(r.dialect.pruneChunk, len(ids))) {
		pruned := 0
		err := r.db.Transact(ctx, func(ctx context.Context, s Session) error {
			f := old(c)
			f.where(r.dialect.oneOf(f, alias+".id", some))
			still, err := CollectColumn[string](ctx, s, f.statement("ORDER BY "+age+r.dialect.skipLocked), f.args...)
			if err != nil || len(still) == 0 { // they were used or pruned meanwhile
				return err
			}
			pruned, err = prune(ctx, s, still)
			return err
		})
		if err != nil {
			return n, err
		}
		n += pruned
	}
	return n, nil
}

// pruneSessions deletes sessions without activity since the cutoff.
func (r *sessionRecords) pruneSessions(ctx context.Context, c rules.Cutoff) (int, error) {
	n, err := r.pruneChunks(ctx, c, r.oldSessions, "s", "s.active_at", func(ctx context.Context, s Session, ids []string) (int, error) {
		if r.dialect.concurrent { // a turn may have been created between query and lock
			f := r.dialect.newFilter("SELECT DISTINCT t.session_id FROM turns t")
			f.where(r.dialect.oneOf(f, "t.session_id", ids))
			f.where(r.dialect.live("t"))
			live, err := CollectColumn[string](ctx, s, f.statement(""), f.args...)
			if err != nil {
				return 0, err
			}
			ids = slices.DeleteFunc(ids, func(id string) bool { return slices.Contains(live, id) })
		}
		return len(ids), r.deleteSessions(ctx, s, ids)
	})
	return n, r.db.WrapError("delete old", "sessions", err)
}

// pruneTurns deletes the events, journals, model requests and webhooks of turns that ended before
// the cutoff. It counts the turns that had events or tool calls.
func (r *turnRecords) pruneTurns(ctx context.Context, c rules.Cutoff) (int, error) {
	n, err := r.pruneChunks(ctx, c, r.oldTurns, "t", "t.finished_at", func(ctx context.Context, s Session, ids []string) (int, error) {
		f := r.dialect.newFilter("SELECT count(*) FROM turns t")
		f.where(r.dialect.oneOf(f, "t.id", ids))
		f.where("(t.seq > 0 OR EXISTS (SELECT 1 FROM journal j WHERE j.turn_id = t.id))")
		had, err := FindValue[int](ctx, s, f.statement(""), f.args...)
		if err != nil {
			return 0, err
		}
		for _, statement := range []string{"DELETE FROM events WHERE turn_id", "DELETE FROM journal WHERE turn_id", "DELETE FROM webhooks WHERE turn_id", "DELETE FROM model_requests WHERE turn_id", "UPDATE turns SET pruned = TRUE WHERE id"} {
			f := r.dialect.newFilter("")
			if _, err := s.Exec(ctx, r.dialect.oneOf(f, statement, ids), f.args...); err != nil {
				return 0, err
			}
		}
		return had, nil
	})
	return n, r.db.WrapError("delete old", "events", err)
}
