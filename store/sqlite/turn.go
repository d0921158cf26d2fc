package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/internal/rules"
	"github.com/agentruntime/agentruntime/store/sqlite/internal/db"
)

// Turn returns a turn.
func (s *Store) Turn(ctx context.Context, scope store.Scope, id string) (*store.Turn, error) {
	row, err := getTurn(ctx, s.queries, scope, id)
	if err != nil {
		return nil, wrapError("read turn", id, err)
	}
	return turnOf(row), nil
}

// getTurn returns a turn that the scope sees.
func getTurn(ctx context.Context, q *db.Queries, scope store.Scope, id string) (*db.Turn, error) {
	row, err := q.GetTurn(ctx, id)
	if err == nil {
		err = rules.CheckVisible(scope, row.Tenant, row.Subject)
	}
	return &row, err
}

// Positions returns how far turns have got.
func (s *Store) Positions(ctx context.Context, turnIDs []string) ([]store.Position, error) {
	ids, err := json.Marshal(turnIDs)
	if err != nil {
		return nil, err
	}
	list, err := readRows(ctx, s.read, "SELECT id, status, seq FROM turns WHERE id IN (SELECT value FROM json_each(?))", []any{string(ids)},
		func(p *store.Position) []any { return []any{&p.TurnID, &p.Status, &p.Seq} })
	return list, wrapError("read positions of", fmt.Sprintf("%d turns", len(turnIDs)), err)
}

// SessionAgents returns the agents that turns of a session were made for.
func (s *Store) SessionAgents(ctx context.Context, sessionID string) ([]string, error) {
	agents, err := s.queries.SessionAgents(ctx, sessionID)
	return agents, wrapError("read the agents of session", sessionID, err)
}

// CreateTurn stores a new turn and admits it if there is room.
func (s *Store) CreateTurn(ctx context.Context, n *store.NewTurn) (made *store.Turn, err error) {
	if err := n.CheckText(); err != nil {
		return nil, err
	}
	err = s.runOperation(ctx, func(ctx context.Context, tx *tx) error {
		made, err = s.createTurn(ctx, tx, n)
		return err
	})
	if err != nil {
		return nil, wrapError("create turn", n.Turn.ID, err)
	}
	return made, nil
}

func (s *Store) createTurn(ctx context.Context, tx *tx, n *store.NewTurn) (*store.Turn, error) {
	sessionID := n.Turn.SessionID
	session, err := tx.SessionForTurn(ctx, db.SessionForTurnParams{Now: toMicros(n.Turn.CreatedAt), ID: sessionID})
	if err == nil {
		err = rules.CheckVisible(store.Of(n.Turn.Owner), session.Tenant, session.Subject)
	}
	if err != nil {
		return nil, err
	}
	place := "turn\x00" + sessionID
	known, err := replayKey(ctx, tx, place, n.Key)
	if err != nil {
		return nil, err
	}
	if known != "" {
		row, err := tx.GetTurn(ctx, known)
		if !errors.Is(err, sql.ErrNoRows) {
			return turnOf(&row), err
		}
	}
	if err := checkAcceptable(ctx, tx, n, store.SessionState(session.State)); err != nil {
		return nil, err
	}
	t := newPendingTurn(&n.Turn)
	if err := s.insertTurn(ctx, tx, t, n.Input, session.Occupied); err != nil {
		return nil, err
	}
	return t, rememberKey(ctx, tx, place, n.Key, t.ID, sessionID, t.CreatedAt)
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
	at := fromMicros(toMicros(n.CreatedAt))
	return &store.Turn{
		ID: n.ID, SessionID: n.SessionID, Owner: n.Owner, AgentID: n.AgentID, Status: store.Pending,
		Request: bytes.Clone(n.Request), Metadata: bytes.Clone(n.Metadata), Background: n.Background,
		SnapshotID: n.SnapshotID, ParentSnapshotID: n.ParentSnapshotID, FromStart: n.FromStart,
		CreatedAt: at, UpdatedAt: at, ChangedAt: at, NotBefore: fromMicros(toMicros(n.NotBefore)),
	}
}

// insertTurn stores a turn, and queues a job for it unless it has to wait. Occupied is a
// session that has a turn whose time it is.
func (s *Store) insertTurn(ctx context.Context, tx *tx, t *store.Turn, input [][]byte, occupied bool) error {
	now := t.CreatedAt
	if t.NotBefore.After(now) {
		tx.jobs = append(tx.jobs, store.Job{TurnID: t.ID, NotBefore: t.NotBefore}) // the claim admits it
	} else if !occupied {
		room, err := s.tenantRoom(ctx, tx, t.Owner.Tenant)
		if err != nil {
			return err
		}
		if t.Admitted = room != 0; t.Admitted {
			tx.jobs = append(tx.jobs, store.Job{TurnID: t.ID})
		}
	}
	inserted, err := tx.InsertTurn(ctx, db.InsertTurnParams{
		ID: t.ID, SessionID: t.SessionID, Tenant: t.Owner.Tenant, Subject: t.Owner.Subject, AgentID: t.AgentID,
		Background: t.Background, SnapshotID: t.SnapshotID, ParentSnapshotID: t.ParentSnapshotID, FromStart: t.FromStart,
		CreatedAt: toMicros(now), UpdatedAt: toMicros(now), ChangedAt: toMicros(now), NotBefore: toMicros(t.NotBefore), Admitted: t.Admitted,
		Messages: int64(len(input)), Request: t.Request, Metadata: t.Metadata,
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
	return tx.TouchSession(ctx, db.TouchSessionParams{At: toMicros(now), ID: t.SessionID})
}

// UpdateTurn changes what the patch names.
func (s *Store) UpdateTurn(ctx context.Context, scope store.Scope, id string, p store.TurnPatch) (changed *store.Turn, err error) {
	err = s.runOperation(ctx, func(ctx context.Context, tx *tx) error {
		row, err := getTurn(ctx, tx.Queries, scope, id)
		if err != nil {
			return err
		}
		changed = turnOf(row)
		if p.Background == nil {
			return nil
		}
		changed.Background, changed.UpdatedAt = *p.Background, fromMicros(toMicros(p.Now))
		return tx.SetBackground(ctx, db.SetBackgroundParams{Background: *p.Background, UpdatedAt: toMicros(p.Now), Made: row.Made})
	})
	if err != nil {
		return nil, wrapError("change turn", id, err)
	}
	return changed, nil
}
