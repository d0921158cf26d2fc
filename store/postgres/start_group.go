package postgres

import (
	"context"
	"slices"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/internal/rules"
	"github.com/agentruntime/agentruntime/store/postgres/internal/db"
	"github.com/agentruntime/agentruntime/store/postgres/internal/instant"
)

// start is a turn to start, whose caller waits.
type start struct {
	turn  *store.NewTurn
	claim *store.Claim
	// made and claimed are set if the turn was started.
	made    *store.Turn
	claimed *store.Claimed
}

// canShare reports whether a turn may be started together with others.
func (s *Store) canShare(n *store.NewTurn, c *store.Claim) bool {
	return c != nil && s.tenantTurns <= 0 && n.Key.Value == "" && !n.Turn.NotBefore.After(n.Turn.CreatedAt)
}

// startShared starts a turn, together with others that wait.
func (s *Store) startShared(ctx context.Context, n *store.NewTurn, c *store.Claim) (*store.Turn, *store.Claimed, error) {
	own := &start{turn: n, claim: c}
	leave, err := s.starts.joinGroup(ctx, own)
	defer leave()
	switch {
	case err != nil:
		return nil, nil, wrapError("create turn", n.Turn.ID, err)
	case own.made != nil:
		return own.made, own.claimed, nil
	default:
		return s.startAlone(ctx, n, c)
	}
}

// writeStarts starts the turns of a group that it can.
func (s *Store) writeStarts(ctx context.Context, group []*start) error {
	return s.runJoinedOnce(ctx, func(tx joinedTx) error {
		free, err := lockFree(ctx, tx, group)
		if err != nil {
			return err
		}
		return insertStarts(ctx, tx, group, free)
	})
}

// lockFree locks the sessions of a group and returns those that can take a turn now.
func lockFree(ctx context.Context, tx joinedTx, group []*start) (map[string]*db.Session, error) {
	var (
		p        pipeline
		ids      []string
		sessions []db.Session
		busy     []string
	)
	for _, own := range group {
		ids = append(ids, own.turn.Turn.SessionID)
	}
	beginJoined(&p)
	queueRows(&p, &sessions, db.LockFreeSessions, ids)
	queueColumn(&p, &busy, db.LiveSessions, ids)
	if err := p.sendQueued(ctx, tx); err != nil {
		return nil, err
	}
	free := make(map[string]*db.Session, len(sessions))
	for i := range sessions {
		if rules.CheckActive(sessions[i].ID, store.SessionState(sessions[i].State)) == nil {
			free[sessions[i].ID] = &sessions[i]
		}
	}
	for _, id := range busy {
		delete(free, id)
	}
	return free, nil
}

// insertStarts stores the turns of a group whose sessions are free, one per session, and commits.
func insertStarts(ctx context.Context, tx joinedTx, group []*start, free map[string]*db.Session) error {
	var (
		p         pipeline
		columns   startColumns
		snapshots []db.Snapshot
		rows      []db.Turn
		started   = make(map[string]*start, len(group))
	)
	for _, own := range group {
		t := &own.turn.Turn
		in := free[t.SessionID]
		if in == nil || t.Owner != (store.Owner{Tenant: in.Tenant, Subject: in.Subject}) || started[t.ID] != nil {
			continue
		}
		session, err := sessionOf(in)
		if err != nil {
			continue
		}
		delete(free, t.SessionID)
		rules.TouchSession(session, t.CreatedAt)
		own.claimed = &store.Claimed{Session: *session, Messages: slices.Clone(own.turn.Input)}
		started[t.ID] = own
		columns.addStart(own)
	}
	if len(started) == 0 {
		return nil
	}
	q := p.queuedQueries()
	if err := q.TouchSessions(ctx, columns.touched); err != nil {
		return err
	}
	c := &columns.turns
	queueRows(&p, &rows, db.StartTurns, c.Column1, c.Column2, c.Column3, c.Column4, c.Column5, c.Column6, c.Column7, c.Column8, c.Column9,
		c.Column10, c.Column11, c.Column12, c.Column13, c.Column14, c.Column15, c.Column16, c.Column17)
	if len(columns.parents) > 0 {
		queueRows(&p, &snapshots, db.GetSnapshots, columns.parents)
	}
	if len(columns.messages.Ns) > 0 {
		if err := q.InsertMessages(ctx, columns.messages.InsertMessagesParams); err != nil {
			return err
		}
	}
	endJoined(&p)
	if err := p.sendQueued(ctx, tx); err != nil {
		return err
	}
	for i := range rows {
		own := started[rows[i].ID]
		own.made, own.claimed.Turn = turnOf(&rows[i]), *turnOf(&rows[i])
		for j := range snapshots {
			if snapshots[j].ID == rows[i].ParentSnapshotID {
				own.claimed.Snapshot = snapshotOf(&snapshots[j])
			}
		}
	}
	return nil
}

// startColumns collects the columns of turns to start.
type startColumns struct {
	turns    db.StartTurnsParams
	touched  db.TouchSessionsParams
	messages messages
	parents  []string
}

func (l *startColumns) addStart(own *start) {
	t, c, p := &own.turn.Turn, own.claim, &l.turns
	parent := t.ParentSnapshotID
	if parent == "" && !t.FromStart {
		parent = own.claimed.Session.Tip
	}
	if parent != "" {
		l.parents = append(l.parents, parent)
	}
	p.Column1, p.Column2 = append(p.Column1, t.ID), append(p.Column2, t.SessionID)
	p.Column3, p.Column4 = append(p.Column3, t.Owner.Tenant), append(p.Column4, t.Owner.Subject)
	p.Column5, p.Column6 = append(p.Column5, t.AgentID), append(p.Column6, t.Request)
	p.Column7, p.Column8 = append(p.Column7, t.Metadata), append(p.Column8, t.Background)
	p.Column9, p.Column10 = append(p.Column9, t.SnapshotID), append(p.Column10, parent)
	p.Column11, p.Column12 = append(p.Column11, t.FromStart), append(p.Column12, instant.Time(t.CreatedAt))
	p.Column13, p.Column14 = append(p.Column13, instant.Time(c.Now)), append(p.Column14, len(own.turn.Input))
	p.Column15, p.Column16 = append(p.Column15, c.Worker), append(p.Column16, c.Revision)
	p.Column17 = append(p.Column17, c.Lease.Microseconds())
	l.touched.Ids, l.touched.Ats = append(l.touched.Ids, t.SessionID), append(l.touched.Ats, instant.Time(t.CreatedAt))
	l.messages.addBodies(t.ID, 0, own.turn.Input)
}
