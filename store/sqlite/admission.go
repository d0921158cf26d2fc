package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/internal/sqlstore"
)

// tenantRoom returns how many more turns of a tenant may be admitted now; negative means no limit.
func (s *Store) tenantRoom(ctx context.Context, tx *tx, tenant string) (int64, error) {
	if s.tenantTurns <= 0 {
		return -1, nil
	}
	n, err := sqlstore.FindValue[int64](ctx, tx, "SELECT count(*) FROM turns WHERE tenant = ? AND admitted", tenant)
	return max(0, int64(s.tenantTurns)-n), err
}

// placedTurn is a turn with its position and admission.
type placedTurn struct {
	made     int64
	id       string
	status   store.Status
	admitted bool
}

// selectNext selects the live turn of a session that has started, or else the first due turn. An
// admitted turn was due when it was admitted.
const selectNext = `SELECT made, id, status, admitted FROM turns WHERE made = COALESCE(
	(SELECT b.made FROM turns b WHERE b.session_id = ?1 AND b.started_at <> 0 AND b.finished_at = 0),
	(SELECT d.made FROM turns d WHERE d.session_id = ?1 AND d.finished_at = 0 AND (d.not_before <= ?2 OR d.admitted) ORDER BY d.made LIMIT 1))`

// nextOfSession returns the next live turn of a session: the turn that has started, or else the
// first due turn. found is false if absent.
func nextOfSession(ctx context.Context, tx *tx, sessionID string, now time.Time) (next placedTurn, found bool, err error) {
	row := tx.on.QueryRowContext(ctx, selectNext, sessionID, sqlstore.ToMicros(now))
	err = row.Scan(&next.made, &next.id, (*string)(&next.status), &next.admitted)
	if errors.Is(err, sql.ErrNoRows) {
		return next, false, nil
	}
	return next, err == nil, err
}

// mayStart reports whether a pending turn is the next of its session, and its
// tenant has room for it.
func (s *Store) mayStart(ctx context.Context, tx *tx, turnID, tenant, sessionID string, now time.Time) (bool, error) {
	first, found, err := nextOfSession(ctx, tx, sessionID, now)
	if err != nil || !found || first.id != turnID {
		return false, err
	}
	room, err := s.tenantRoom(ctx, tx, tenant)
	return room != 0, err
}

// makeRoom admits the turns that a change made room for: the next turn of a session, or with a
// limit the oldest held turns of its tenant.
func (s *Store) makeRoom(ctx context.Context, tx *tx, tenant, sessionID string, now time.Time) error {
	if s.tenantTurns <= 0 {
		first, found, err := nextOfSession(ctx, tx, sessionID, now)
		if err != nil || !found || first.status != store.Pending || first.admitted {
			return err
		}
		return admitTurn(ctx, tx, &first)
	}
	return s.admitHeld(ctx, tx, tenant, now)
}

// selectHeld selects the turns of a tenant that only its limit holds back: they are due and next in
// their session.
const selectHeld = `SELECT t.made, t.id FROM turns t
	WHERE t.tenant = ?1 AND t.status = 'pending' AND NOT t.admitted AND t.not_before <= ?2 AND NOT EXISTS (
		SELECT 1 FROM turns o WHERE o.session_id = t.session_id AND o.finished_at = 0 AND o.made <> t.made
			AND (o.started_at <> 0 OR t.started_at = 0 AND o.made < t.made AND (o.not_before <= ?2 OR o.admitted)))
	ORDER BY t.made LIMIT CAST(?3 AS INTEGER)`

// admitHeld admits as many turns of a tenant as it has room for.
func (s *Store) admitHeld(ctx context.Context, tx *tx, tenant string, now time.Time) error {
	room, err := s.tenantRoom(ctx, tx, tenant)
	if err != nil || room == 0 {
		return err
	}
	fields := func(t *placedTurn) []any { return []any{&t.made, &t.id} }
	held, err := sqlstore.CollectRecords(ctx, tx, fields, selectHeld, tenant, sqlstore.ToMicros(now), room)
	if err != nil {
		return err
	}
	for _, t := range held {
		if err := admitTurn(ctx, tx, t); err != nil {
			return err
		}
	}
	return nil
}

// admitTurn admits a turn that is due, and queues a job for it.
func admitTurn(ctx context.Context, tx *tx, t *placedTurn) error {
	tx.jobs = append(tx.jobs, store.Job{TurnID: t.id})
	return setAdmitted(ctx, tx, t.made, true)
}

func setAdmitted(ctx context.Context, tx *tx, made int64, admitted bool) error {
	_, err := tx.Exec(ctx, "UPDATE turns SET admitted = ? WHERE made = ?", admitted, made)
	return err
}
