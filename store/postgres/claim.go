package postgres

import (
	"context"
	"slices"
	"time"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/postgres/internal/db"
	"github.com/agentruntime/agentruntime/store/postgres/internal/instant"
	"github.com/jackc/pgx/v5"
)

// Claim makes the worker the owner of a pending turn. It takes one round trip for the first claim
// of a turn, and two for later ones. The database's clock determines the lease.
func (s *Store) Claim(ctx context.Context, c *store.Claim) (*store.Claimed, error) {
	claimed, err := s.claimTurn(ctx, s.pool, c)
	if err == nil && claimed == nil {
		claimed, err = s.claimHeld(ctx, c)
	}
	if err != nil {
		return nil, wrapError("claim turn", c.TurnID, err)
	}
	return claimed, nil
}

// firstFence is the fence of a turn that is claimed for the first time. Such a turn has no state,
// calls or interactions.
const firstFence = 1

// claimTurn claims an admitted turn whose session is free. It returns nil for any other turn.
func (s *Store) claimTurn(ctx context.Context, to sender, c *store.Claim) (*store.Claimed, error) {
	var (
		p            pipeline
		sessions     []db.Session
		turns        []db.Turn
		snapshots    []db.Snapshot
		state        [][]byte
		own          [][]byte
		journal      []db.GetJournalRow
		interactions []db.Interaction
	)
	queueRows(&p, &sessions, db.LockSessionOfTurn, c.TurnID)
	queueRows(&p, &turns, db.ClaimTurn, c.Worker, c.Lease, instant.Time(c.Now), c.Revision, c.TurnID)
	queueRows(&p, &snapshots, db.ParentSnapshot, c.TurnID)
	queueColumn(&p, &own, db.MessagesOf, c.TurnID)
	if err := p.sendQueued(ctx, to); err != nil || len(turns) == 0 {
		return nil, err
	}
	if len(sessions) == 0 {
		// The turn was stored between the two statements. It was known before its transaction
		// ended, as with a queue outside the transaction.
		queueRows(&p, &sessions, db.GetSession, turns[0].SessionID)
		if err := p.sendQueued(ctx, to); err != nil || len(sessions) == 0 {
			return nil, err
		}
	}
	session, err := sessionOf(&sessions[0])
	if err != nil {
		return nil, err
	}
	if turns[0].Fence > firstFence { // it was claimed before
		queueColumn(&p, &state, db.GetState, c.TurnID)
		queueRows(&p, &journal, db.GetJournal, c.TurnID)
		queueRows(&p, &interactions, db.InteractionsOf, c.TurnID)
		if err := p.sendQueued(ctx, to); err != nil {
			return nil, err
		}
	}
	claimed := &store.Claimed{
		Turn: *turnOf(&turns[0]), Session: *session, Messages: own,
		Journal: journalOf(journal), Interactions: recordsOf(interactions, interactionOf),
	}
	if len(snapshots) > 0 {
		claimed.Snapshot = snapshotOf(&snapshots[0])
	}
	if len(state) > 0 {
		claimed.State = state[0]
	}
	return claimed, nil
}

// claimHeld admits and claims a turn if there is room now, for example because it has become due.
// Otherwise it returns why the turn cannot be claimed.
func (s *Store) claimHeld(ctx context.Context, c *store.Claim) (claimed *store.Claimed, err error) {
	held := false
	err = s.runTransaction(ctx, func(tx pgx.Tx) error {
		if err := s.lockSession(ctx, tx, c.TurnID); err != nil {
			return err
		}
		row, err := s.queries.WithTx(tx).LockTurn(ctx, c.TurnID)
		if err != nil {
			return err
		}
		if row.Status != string(store.Pending) {
			return &store.StateError{Kind: "turn", ID: row.ID, State: row.Status, Want: "claimed"}
		}
		err = s.queries.WithTx(tx).AdmitTurn(ctx, db.AdmitTurnParams{ID: row.ID, Now: instant.Time(c.Now), Room: int64(max(0, s.tenantTurns))})
		if err != nil {
			return err
		}
		claimed, err = s.claimTurn(ctx, tx, c)
		if err != nil || claimed != nil {
			return err
		}
		// The changes are kept, so the transaction does not return this error.
		held = true
		if err := s.queries.WithTx(tx).DropAdmission(ctx, row.ID); err != nil { // its session is busy
			return err
		}
		return s.makeRoom(ctx, tx, []string{row.Tenant}, nil, c.Now)
	})
	if err == nil && held {
		err = store.ErrHeld
	}
	return claimed, err
}

// Heartbeat extends the leases of a worker's turns by the database's clock.
func (s *Store) Heartbeat(ctx context.Context, worker string, lease time.Duration, held []store.Held) (lost []string, err error) {
	if len(held) == 0 {
		return nil, nil
	}
	p := db.HeartbeatParams{Lease: lease, Worker: worker}
	for _, h := range held {
		p.Ids, p.Fences = append(p.Ids, h.TurnID), append(p.Fences, h.Fence)
	}
	kept, err := s.queries.Heartbeat(ctx, p)
	if err != nil {
		return nil, wrapError("prolong the leases of worker", worker, err)
	}
	slices.Sort(kept)
	for _, id := range p.Ids {
		if _, ok := slices.BinarySearch(kept, id); !ok {
			lost = append(lost, id)
		}
	}
	return lost, nil
}
