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
	session, err := getSession(ctx, tx.Queries, store.Of(n.Turn.Owner), n.Turn.SessionID)
	if err != nil {
		return nil, err
	}
	place := "turn\x00" + session.ID
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
	if err := checkAcceptable(ctx, tx, n, session); err != nil {
		return nil, err
	}
	t := newPendingTurn(&n.Turn)
	if err := s.insertTurn(ctx, tx, t, n.Input); err != nil {
		return nil, err
	}
	return t, rememberKey(ctx, tx, place, n.Key, t.ID, session.ID, t.CreatedAt)
}

// checkAcceptable reports why a session cannot be given a turn.
func checkAcceptable(ctx context.Context, tx *tx, n *store.NewTurn, session *store.Session) error {
	taken, err := tx.TurnExists(ctx, n.Turn.ID)
	switch {
	case err != nil:
		return err
	case taken:
		return &store.ExistsError{Kind: "turn", ID: n.Turn.ID}
	case session.State == store.SessionArchived:
		return rules.CheckActive(session.ID, session.State)
	case !n.Reject:
		return nil
	}
	return checkIdle(ctx, tx.LiveTurn, session.ID)
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

// insertTurn stores a turn, and queues a job for it unless it has to wait.
func (s *Store) insertTurn(ctx context.Context, tx *tx, t *store.Turn, input [][]byte) (err error) {
	now := t.CreatedAt
	if t.NotBefore.After(now) {
		tx.jobs = append(tx.jobs, store.Job{TurnID: t.ID, NotBefore: t.NotBefore}) // the claim admits it
	} else if t.Admitted, err = s.isNext(ctx, tx, t); err != nil {
		return err
	} else if t.Admitted {
		tx.jobs = append(tx.jobs, store.Job{TurnID: t.ID})
	}
	err = tx.InsertTurn(ctx, db.InsertTurnParams{
		ID: t.ID, SessionID: t.SessionID, Tenant: t.Owner.Tenant, Subject: t.Owner.Subject, AgentID: t.AgentID,
		Background: t.Background, SnapshotID: t.SnapshotID, ParentSnapshotID: t.ParentSnapshotID, FromStart: t.FromStart,
		CreatedAt: toMicros(now), UpdatedAt: toMicros(now), ChangedAt: toMicros(now), NotBefore: toMicros(t.NotBefore), Admitted: t.Admitted,
		Messages: int64(len(input)), Request: t.Request, Metadata: t.Metadata,
	})
	if err != nil {
		return err
	}
	if err := insertMessages(ctx, tx, t.ID, 0, input); err != nil {
		return err
	}
	return tx.TouchSession(ctx, db.TouchSessionParams{At: toMicros(now), ID: t.SessionID})
}

// isNext reports whether a turn that is about to be made is the next of its
// session, and its tenant has room for it.
func (s *Store) isNext(ctx context.Context, tx *tx, t *store.Turn) (bool, error) {
	_, found, err := nextOfSession(ctx, tx, t.SessionID, t.CreatedAt)
	if err != nil || found {
		return false, err
	}
	room, err := s.tenantRoom(ctx, tx, t.Owner.Tenant)
	return room != 0, err
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
