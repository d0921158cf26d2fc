package postgres

import (
	"context"
	"errors"
	"slices"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/internal/rules"
	"github.com/agentruntime/agentruntime/store/postgres/internal/db"
	"github.com/agentruntime/agentruntime/store/postgres/internal/instant"
)

// CreateTurn stores a new turn and admits it if there is room.
func (s *Store) CreateTurn(ctx context.Context, n *store.NewTurn) (*store.Turn, error) {
	made, _, err := s.StartTurn(ctx, n, nil)
	return made, err
}

var _ store.Starter = (*Store)(nil)

// StartTurn stores a new turn, and claims it if c is not nil and there is room. The lease uses the
// database's clock.
func (s *Store) StartTurn(ctx context.Context, n *store.NewTurn, c *store.Claim) (made *store.Turn, claimed *store.Claimed, err error) {
	if err := n.CheckText(); err != nil {
		return nil, nil, err
	}
	if !s.canShare(n, c) {
		return s.startAlone(ctx, n, c)
	}
	return s.startShared(ctx, n, c)
}

// startAlone starts a turn in its own transaction.
func (s *Store) startAlone(ctx context.Context, n *store.NewTurn, c *store.Claim) (made *store.Turn, claimed *store.Claimed, err error) {
	err = s.runJoined(ctx, func(tx joinedTx) error {
		made, claimed = nil, nil
		at, err := s.lookAtSession(ctx, tx, n)
		if err != nil {
			return err
		}
		if at.known != nil {
			made = turnOf(at.known)
			return nil
		}
		delayed := n.Turn.NotBefore.After(n.Turn.CreatedAt)
		admitted := !delayed && !at.busy && (s.tenantTurns <= 0 || at.admitted < int64(s.tenantTurns))
		var jobs []store.Job // a held turn is queued when there is room
		switch {
		case admitted && c != nil:
			made, claimed, err = s.insertClaimed(ctx, tx, n, at.session, c)
			return err
		case delayed: // the claim admits it
			jobs = []store.Job{{TurnID: n.Turn.ID, NotBefore: n.Turn.NotBefore}}
		case admitted:
			jobs = []store.Job{{TurnID: n.Turn.ID}}
		}
		var p pipeline
		row, err := s.insertTurn(ctx, tx, &p, n, admitted, &store.Claim{}, jobs)
		if err == nil {
			made = turnOf(row)
		}
		return err
	})
	if violatesUnique(err, "turns_pkey") {
		err = &store.ExistsError{Kind: "turn", ID: n.Turn.ID}
	}
	if err != nil {
		return nil, nil, wrapError("create turn", n.Turn.ID, err)
	}
	return made, claimed, nil
}

// place is the state in which a new turn is stored.
type place struct {
	// known is the turn that was created with the same key before.
	known *db.Turn
	// session is the session of the new turn.
	session *db.Session
	// busy reports whether another turn comes first in the session, and admitted is how many
	// admitted turns the tenant has.
	busy     bool
	admitted int64
}

// lookAtSession locks the session of a new turn and returns its state, or why the turn cannot be
// created.
func (s *Store) lookAtSession(ctx context.Context, tx joinedTx, n *store.NewTurn) (at place, err error) {
	t := &n.Turn
	var (
		p        pipeline
		sessions []db.Session
		keys     []db.GetKeyRow
		known    []db.Turn
		live     []db.LiveTurnsRow
		admitted []int64
	)
	beginJoined(&p)
	if s.tenantTurns > 0 {
		_ = p.queuedQueries().LockTenants(ctx, []string{t.Owner.Tenant}) // it is queued
		queueColumn(&p, &admitted, db.CountAdmitted, t.Owner.Tenant)
	}
	if n.Key.Value == "" {
		queueRows(&p, &sessions, db.TouchSession, instant.Time(t.CreatedAt), t.SessionID) // undone if the turn is rejected
	} else {
		queueRows(&p, &sessions, db.LockSession, t.SessionID)
		queueRows(&p, &keys, db.GetKey, turnScope(t.SessionID), n.Key.Value)
		queueRows(&p, &known, db.TurnOfKey, turnScope(t.SessionID), n.Key.Value)
	}
	queueRows(&p, &live, db.LiveTurns, t.SessionID)
	if err := p.sendQueued(ctx, tx); err != nil {
		return at, err
	}
	session := oneRow(sessions)
	if session == nil || t.Owner != (store.Owner{Tenant: session.Tenant, Subject: session.Subject}) {
		return at, store.ErrNotFound
	}
	if len(keys) > 0 && len(known) > 0 {
		return place{known: &known[0]}, rules.CheckKey(n.Key, keys[0].Hash, keys[0].ID)
	}
	if err := s.checkAcceptable(ctx, tx, n, session, live); err != nil {
		return at, err
	}
	for _, other := range live {
		if !other.StartedAt.IsZero() || other.Admitted || !other.NotBefore.After(t.CreatedAt) {
			at.busy = true
		}
	}
	if len(admitted) > 0 {
		at.admitted = admitted[0]
	}
	at.session = session
	return at, nil
}

// checkAcceptable returns why a session with live turns cannot accept another one. An existing turn
// with the same id is the first reason; the insert finds other duplicates.
func (s *Store) checkAcceptable(ctx context.Context, tx joinedTx, n *store.NewTurn, session *db.Session, live []db.LiveTurnsRow) error {
	err := rules.CheckActive(session.ID, store.SessionState(session.State))
	if err == nil && n.Reject && len(live) > 0 {
		err = &store.BusyError{SessionID: session.ID, TurnID: live[0].ID}
	}
	if err == nil {
		return nil
	}
	switch taken, failed := db.New(tx.conn).TurnExists(ctx, n.Turn.ID); {
	case failed != nil:
		return failed
	case taken:
		return &store.ExistsError{Kind: "turn", ID: n.Turn.ID}
	}
	return err
}

// turnScope is where the key of a turn is unique.
func turnScope(sessionID string) string { return "turn " + sessionID }

// insertClaimed stores a turn that a worker owns from the start. Its session is locked and has no
// other turn that comes first, so the claim needs no other checks.
func (s *Store) insertClaimed(ctx context.Context, tx joinedTx, n *store.NewTurn, in *db.Session, c *store.Claim) (*store.Turn, *store.Claimed, error) {
	session, err := sessionOf(in)
	if err != nil {
		return nil, nil, err
	}
	rules.TouchSession(session, n.Turn.CreatedAt)
	begun := *n
	if begun.Turn.ParentSnapshotID == "" && !begun.Turn.FromStart {
		begun.Turn.ParentSnapshotID = session.Tip
	}
	var (
		p         pipeline
		snapshots []db.Snapshot
	)
	if id := begun.Turn.ParentSnapshotID; id != "" {
		queueRows(&p, &snapshots, db.GetSnapshot, id)
	}
	row, err := s.insertTurn(ctx, tx, &p, &begun, true, c, nil)
	if err != nil {
		return nil, nil, err
	}
	claimed := &store.Claimed{Turn: *turnOf(row), Session: *session, Messages: slices.Clone(n.Input)}
	if len(snapshots) > 0 {
		claimed.Snapshot = snapshotOf(&snapshots[0])
	}
	return turnOf(row), claimed, nil
}

// insertTurn stores a turn in its locked session, queues its jobs and commits. A claim that names a
// worker makes the worker the turn's owner.
func (s *Store) insertTurn(
	ctx context.Context, tx joinedTx, p *pipeline, n *store.NewTurn, admitted bool, c *store.Claim, jobs []store.Job,
) (*db.Turn, error) {
	t := &n.Turn
	var (
		rows []db.Turn
		in   messages
		errs []error
	)
	q := p.queuedQueries()
	created := instant.Time(t.CreatedAt)
	queueRows(p, &rows, db.InsertTurn, t.ID, t.SessionID, t.Owner.Tenant, t.Owner.Subject, t.AgentID, []byte(t.Request),
		[]byte(t.Metadata), t.Background, t.SnapshotID, t.ParentSnapshotID, t.FromStart, created,
		instant.Time(t.NotBefore), admitted, len(n.Input), c.Worker, c.Revision, instant.Time(c.Now), c.Lease)
	if in.addBodies(t.ID, 0, n.Input); len(in.Ns) > 0 {
		errs = append(errs, q.InsertMessages(ctx, in.InsertMessagesParams))
	}
	if n.Key.Value != "" {
		errs = append(errs, q.PutKey(ctx, db.PutKeyParams{
			Scope: turnScope(t.SessionID), Key: n.Key.Value, Hash: n.Key.Hash, ID: t.ID, SessionID: t.SessionID, CreatedAt: created,
		}))
		var touched []db.Session
		queueRows(p, &touched, db.TouchSession, created, t.SessionID)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if err := s.sendLast(ctx, tx, p, jobs); err != nil {
		return nil, err
	}
	return oneRow(rows), nil
}
