package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/internal/sqlstore"
	"github.com/agentruntime/agentruntime/store/sqlite/internal/db"
)

// tenantRoom returns how many turns of a tenant may be admitted now; negative is any
// number.
func (s *Store) tenantRoom(ctx context.Context, tx *tx, tenant string) (int64, error) {
	if s.tenantTurns <= 0 {
		return -1, nil
	}
	n, err := tx.CountAdmitted(ctx, tenant)
	return max(0, int64(s.tenantTurns)-n), err
}

// nextOfSession returns the live turn of a session whose time it is, false when there is
// none: the one that has begun, and else the first that is due.
func nextOfSession(ctx context.Context, tx *tx, sessionID string, now time.Time) (row db.NextOfSessionRow, found bool, err error) {
	row, err = tx.NextOfSession(ctx, db.NextOfSessionParams{SessionID: sessionID, Now: sqlstore.ToMicros(now)})
	if errors.Is(err, sql.ErrNoRows) {
		return row, false, nil
	}
	return row, err == nil, err
}

// mayStart reports whether a pending turn is the next of its session, and its
// tenant has room for it.
func (s *Store) mayStart(ctx context.Context, tx *tx, turnID, tenant, sessionID string, now time.Time) (bool, error) {
	first, found, err := nextOfSession(ctx, tx, sessionID, now)
	if err != nil || !found || first.ID != turnID {
		return false, err
	}
	room, err := s.tenantRoom(ctx, tx, tenant)
	return room != 0, err
}

// makeRoom admits the turns that a change made room for: the next of a session,
// and with a limit the next of its tenant, which that is one of.
func (s *Store) makeRoom(ctx context.Context, tx *tx, tenant, sessionID string, now time.Time) error {
	if s.tenantTurns <= 0 {
		first, found, err := nextOfSession(ctx, tx, sessionID, now)
		if err != nil || !found || first.Status != string(store.Pending) || first.Admitted {
			return err
		}
		return admitTurn(ctx, tx, first.Made, first.ID)
	}
	return s.admitHeld(ctx, tx, tenant, now)
}

// admitHeld admits as many turns of a tenant as it has room for.
func (s *Store) admitHeld(ctx context.Context, tx *tx, tenant string, now time.Time) error {
	room, err := s.tenantRoom(ctx, tx, tenant)
	if err != nil || room == 0 {
		return err
	}
	held, err := tx.HeldOfTenant(ctx, db.HeldOfTenantParams{Tenant: tenant, Now: sqlstore.ToMicros(now), Most: room})
	if err != nil {
		return err
	}
	for _, t := range held {
		if err := admitTurn(ctx, tx, t.Made, t.ID); err != nil {
			return err
		}
	}
	return nil
}

// admitTurn admits a turn that is due, and queues a job for it.
func admitTurn(ctx context.Context, tx *tx, made int64, id string) error {
	tx.jobs = append(tx.jobs, store.Job{TurnID: id})
	return tx.SetAdmitted(ctx, db.SetAdmittedParams{Admitted: true, Made: made})
}
