package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"slices"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/internal/rules"
	"github.com/agentruntime/agentruntime/store/internal/sqlstore"
	"github.com/agentruntime/agentruntime/store/sqlite/internal/db"
)

// getTurn returns a turn that the scope sees.
func getTurn(ctx context.Context, q *db.Queries, scope store.Scope, id string) (*db.Turn, error) {
	row, err := q.GetTurn(ctx, id)
	if err == nil {
		err = rules.CheckVisible(scope, row.Tenant, row.Subject)
	}
	return &row, err
}

// CreateTurn stores a new turn and admits it if there is room.
func (s *Store) CreateTurn(ctx context.Context, n *store.NewTurn) (*store.Turn, error) {
	made, _, err := s.StartTurn(ctx, n, nil)
	return made, err
}

var _ store.Starter = (*Store)(nil)

// StartTurn stores a new turn, and claims it if there is room and a claim.
func (s *Store) StartTurn(ctx context.Context, n *store.NewTurn, c *store.Claim) (made *store.Turn, claimed *store.Claimed, err error) {
	if err := n.CheckText(); err != nil {
		return nil, nil, err
	}
	err = s.runOperation(ctx, func(ctx context.Context, tx *tx) error {
		made, claimed, err = s.createTurn(ctx, tx, n, c)
		return err
	})
	if err != nil {
		return nil, nil, wrapError("create turn", n.Turn.ID, err)
	}
	return made, claimed, nil
}

func (s *Store) createTurn(ctx context.Context, tx *tx, n *store.NewTurn, c *store.Claim) (*store.Turn, *store.Claimed, error) {
	sessionID := n.Turn.SessionID
	at, err := tx.SessionForTurn(ctx, db.SessionForTurnParams{Now: sqlstore.ToMicros(n.Turn.CreatedAt), ID: sessionID})
	if err == nil {
		err = rules.CheckVisible(store.Of(n.Turn.Owner), at.Session.Tenant, at.Session.Subject)
	}
	if err != nil {
		return nil, nil, err
	}
	place := "turn\x00" + sessionID
	known, err := replayKey(ctx, tx, place, n.Key)
	if err != nil {
		return nil, nil, err
	}
	if known != "" {
		row, err := tx.GetTurn(ctx, known)
		if !errors.Is(err, sql.ErrNoRows) {
			return turnOf(&row), nil, err
		}
	}
	if err := checkAcceptable(ctx, tx, n, store.SessionState(at.Session.State)); err != nil {
		return nil, nil, err
	}
	t := newPendingTurn(&n.Turn)
	delayed := t.NotBefore.After(t.CreatedAt) // the claim admits it
	if !delayed && !at.Occupied {
		room, err := s.tenantRoom(ctx, tx, t.Owner.Tenant)
		if err != nil {
			return nil, nil, err
		}
		t.Admitted = room != 0
	}
	var claimed *store.Claimed
	switch {
	case t.Admitted && c != nil:
		if claimed, err = claimNew(ctx, tx, t, n, &at.Session, c); err != nil {
			return nil, nil, err
		}
	case t.Admitted || delayed:
		tx.jobs = append(tx.jobs, store.Job{TurnID: t.ID, NotBefore: t.NotBefore})
	}
	if err := insertTurn(ctx, tx, t, n.Input); err != nil {
		return nil, nil, err
	}
	return t, claimed, rememberKey(ctx, tx, place, n.Key, t.ID, sessionID, t.CreatedAt)
}

// claimNew makes a turn the worker's that is about to be stored in a session.
func claimNew(ctx context.Context, tx *tx, t *store.Turn, n *store.NewTurn, in *db.Session, c *store.Claim) (*store.Claimed, error) {
	session, err := sessionOf(in)
	if err != nil {
		return nil, err
	}
	rules.TouchSession(session, t.CreatedAt)
	startTurn(t, session, c)
	claimed := &store.Claimed{Turn: *t, Session: *session, Messages: slices.Clone(n.Input)}
	return claimed, loadParent(ctx, tx, claimed)
}

// checkAcceptable reports why a session in a state cannot be given a turn. Where there is
// a turn with the id already, that is the reason.
func checkAcceptable(ctx context.Context, tx *tx, n *store.NewTurn, state store.SessionState) error {
	id := n.Turn.SessionID
	err := rules.CheckActive(id, state)
	if err == nil && n.Reject {
		err = checkIdle(ctx, tx.LiveTurn, id)
	}
	if err == nil {
		return nil // the insert looks for the id
	}
	switch taken, failed := tx.TurnExists(ctx, n.Turn.ID); {
	case failed != nil:
		return failed
	case taken:
		return &store.ExistsError{Kind: "turn", ID: n.Turn.ID}
	}
	return err
}

// newPendingTurn returns a new turn as it is read again.
func newPendingTurn(n *store.Turn) *store.Turn {
	at := sqlstore.Truncate(n.CreatedAt)
	return &store.Turn{
		ID: n.ID, SessionID: n.SessionID, Owner: n.Owner, AgentID: n.AgentID, Status: store.Pending,
		Request: bytes.Clone(n.Request), Metadata: bytes.Clone(n.Metadata), Background: n.Background,
		SnapshotID: n.SnapshotID, ParentSnapshotID: n.ParentSnapshotID, FromStart: n.FromStart,
		CreatedAt: at, UpdatedAt: at, ChangedAt: at, NotBefore: sqlstore.Truncate(n.NotBefore),
	}
}

// insertTurn stores a turn with its input.
func insertTurn(ctx context.Context, tx *tx, t *store.Turn, input [][]byte) error {
	inserted, err := tx.InsertTurn(ctx, db.InsertTurnParams{
		ID: t.ID, SessionID: t.SessionID, Tenant: t.Owner.Tenant, Subject: t.Owner.Subject, AgentID: t.AgentID, Status: string(t.Status),
		Background: t.Background, SnapshotID: t.SnapshotID, ParentSnapshotID: t.ParentSnapshotID, FromStart: t.FromStart,
		CreatedAt: sqlstore.ToMicros(t.CreatedAt), UpdatedAt: sqlstore.ToMicros(t.UpdatedAt), ChangedAt: sqlstore.ToMicros(t.ChangedAt), NotBefore: sqlstore.ToMicros(t.NotBefore),
		StartedAt: sqlstore.ToMicros(t.StartedAt), Worker: t.Worker, Fence: t.Fence, LeaseUntil: sqlstore.ToMicros(t.LeaseUntil), HeartbeatAt: sqlstore.ToMicros(t.HeartbeatAt),
		Admitted: t.Admitted, Messages: int64(len(input)), Request: t.Request, Metadata: t.Metadata, Revision: t.Revision,
	})
	switch {
	case err != nil:
		return err
	case inserted == 0:
		return &store.ExistsError{Kind: "turn", ID: t.ID}
	}
	if err := insertMessages(ctx, tx, t.ID, 0, input); err != nil {
		return err
	}
	return tx.TouchSession(ctx, db.TouchSessionParams{At: sqlstore.ToMicros(t.CreatedAt), ID: t.SessionID})
}
