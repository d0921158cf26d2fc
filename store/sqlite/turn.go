package sqlite

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/internal/rules"
	"github.com/agentruntime/agentruntime/store/internal/sqlstore"
)

// CreateTurn stores a new turn and admits it if there is room.
func (s *Store) CreateTurn(ctx context.Context, n *store.NewTurn) (*store.Turn, error) {
	made, _, err := s.StartTurn(ctx, n, nil)
	return made, err
}

var _ store.Starter = (*Store)(nil)

// StartTurn stores a new turn, and claims it if c is not nil and there is room.
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

// selectSession selects a session, and whether it has a live turn that has started, is due or is
// admitted.
const selectSession = `SELECT EXISTS (
		SELECT 1 FROM turns t WHERE t.session_id = sessions.id AND t.finished_at = 0 AND (t.started_at <> 0 OR t.not_before <= ?1 OR t.admitted)
	), ` + sqlstore.SessionColumns + " FROM sessions WHERE id = ?2"

func (s *Store) createTurn(ctx context.Context, tx *tx, n *store.NewTurn, c *store.Claim) (*store.Turn, *store.Claimed, error) {
	sessionID := n.Turn.SessionID
	var in sqlstore.SessionRow
	var occupied bool
	err := tx.on.QueryRowContext(ctx, selectSession, sqlstore.ToMicros(n.Turn.CreatedAt), sessionID).Scan(in.AppendFields(append(make([]any, 0, 16), &occupied))...)
	if err == nil && in.Owner != n.Turn.Owner {
		err = store.ErrNotFound
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
		made, err := sqlstore.FindTurn(ctx, tx, store.Everything, known, "")
		if !errors.Is(err, store.ErrNotFound) {
			return made, nil, err
		}
	}
	if err := checkAcceptable(ctx, tx, n, in.State); err != nil {
		return nil, nil, err
	}
	t := newPendingTurn(&n.Turn)
	delayed := t.NotBefore.After(t.CreatedAt) // the claim admits it
	if !delayed && !occupied {
		room, err := s.tenantRoom(ctx, tx, t.Owner.Tenant)
		if err != nil {
			return nil, nil, err
		}
		t.Admitted = room != 0
	}
	var claimed *store.Claimed
	switch {
	case t.Admitted && c != nil:
		if claimed, err = claimNew(ctx, tx, t, n, &in, c); err != nil {
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

// claimNew makes the worker the owner of a turn that is about to be stored in a session.
func claimNew(ctx context.Context, tx *tx, t *store.Turn, n *store.NewTurn, in *sqlstore.SessionRow, c *store.Claim) (*store.Claimed, error) {
	session, err := in.Record(&sqlstore.Labels{})
	if err != nil {
		return nil, err
	}
	rules.TouchSession(session, t.CreatedAt)
	startTurn(t, session, c)
	claimed := &store.Claimed{Turn: *t, Session: *session, Messages: slices.Clone(n.Input)}
	return claimed, loadParent(ctx, tx, claimed)
}

// checkAcceptable returns why a session in a state cannot accept a turn. An existing turn with the
// same id is the first reason.
func checkAcceptable(ctx context.Context, tx *tx, n *store.NewTurn, state store.SessionState) error {
	id := n.Turn.SessionID
	err := rules.CheckActive(id, state)
	if err == nil && n.Reject {
		err = sqlstore.CheckIdle(ctx, tx, id, "t.finished_at = 0")
	}
	if err == nil {
		return nil // the insert checks the id
	}
	switch taken, failed := sqlstore.FindValue[bool](ctx, tx, "SELECT EXISTS (SELECT 1 FROM turns WHERE id = ?)", n.Turn.ID); {
	case failed != nil:
		return failed
	case taken:
		return &store.ExistsError{Kind: "turn", ID: n.Turn.ID}
	}
	return err
}

// newPendingTurn returns a new turn as a read would.
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
	inserted, err := tx.Exec(ctx, `INSERT INTO turns (id, session_id, tenant, subject, agent_id, status, background, snapshot_id, parent_snapshot_id, from_start,
		created_at, updated_at, changed_at, not_before, started_at, worker, fence, lease_until, heartbeat_at, admitted, messages, request, metadata, revision)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`,
		t.ID, t.SessionID, t.Owner.Tenant, t.Owner.Subject, t.AgentID, string(t.Status), t.Background, t.SnapshotID, t.ParentSnapshotID, t.FromStart,
		sqlstore.ToMicros(t.CreatedAt), sqlstore.ToMicros(t.UpdatedAt), sqlstore.ToMicros(t.ChangedAt), sqlstore.ToMicros(t.NotBefore), sqlstore.ToMicros(t.StartedAt),
		t.Worker, t.Fence, sqlstore.ToMicros(t.LeaseUntil), sqlstore.ToMicros(t.HeartbeatAt), t.Admitted, len(input), []byte(t.Request), []byte(t.Metadata), t.Revision)
	switch {
	case err != nil:
		return err
	case inserted == 0:
		return &store.ExistsError{Kind: "turn", ID: t.ID}
	}
	if err := insertMessages(ctx, tx, t.ID, 0, input); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, "UPDATE sessions SET active_at = max(active_at, CAST(?1 AS INTEGER)), last_turn_at = max(last_turn_at, CAST(?1 AS INTEGER)) WHERE id = ?2",
		sqlstore.ToMicros(t.CreatedAt), t.SessionID)
	return err
}
