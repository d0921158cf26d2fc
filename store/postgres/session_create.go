package postgres

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/internal/rules"
	"github.com/agentruntime/agentruntime/store/postgres/internal/db"
	"github.com/agentruntime/agentruntime/store/postgres/internal/instant"
	"github.com/jackc/pgx/v5"
)

// CreateSession stores a new session.
func (s *Store) CreateSession(ctx context.Context, n *store.NewSession) (made *store.Session, err error) {
	if err := n.CheckText(); err != nil {
		return nil, err
	}
	id := n.Session.ID
	if n.Key.Value == "" {
		made, err = s.createWithoutKey(ctx, n)
		return made, nameExisting(err, id)
	}
	err = s.runTransaction(ctx, func(tx pgx.Tx) error {
		known, err := claimKey(ctx, s.queries.WithTx(tx), n)
		if err != nil {
			return err
		}
		if known == "" {
			made, err = insertSession(ctx, tx, n)
			return err
		}
		row, err := s.queries.WithTx(tx).GetSession(ctx, known)
		if err != nil {
			return err
		}
		made, err = sessionOf(&row)
		return err
	})
	return made, nameExisting(err, id)
}

// creation is a session to create, whose caller waits.
type creation struct {
	session *store.NewSession
	// made is set if the session was created.
	made *store.Session
}

// createWithoutKey creates a session. A session without labels and chain shares a transaction with
// others that wait.
func (s *Store) createWithoutKey(ctx context.Context, n *store.NewSession) (*store.Session, error) {
	if len(n.Session.Labels) > 0 || len(n.Base) > 0 || len(n.Artifacts) > 0 {
		return s.createAlone(ctx, n)
	}
	own := &creation{session: n}
	leave, err := s.sessions.joinGroup(ctx, own)
	defer leave()
	if err != nil || own.made != nil {
		return own.made, err
	}
	return s.createAlone(ctx, n)
}

// createAlone creates a session without a key, by itself.
func (s *Store) createAlone(ctx context.Context, n *store.NewSession) (*store.Session, error) {
	return insertSession(ctx, s.pool, n) // the pool runs the pipeline in one transaction
}

// writeSessions creates the sessions of a group; none if one of them exists.
func (s *Store) writeSessions(ctx context.Context, group []*creation) error {
	var l sessionColumns
	for _, own := range group {
		l.addSession(&own.session.Session, nil)
	}
	rows, err := s.queries.InsertSessions(ctx, l.InsertSessionsParams)
	if err != nil {
		return err
	}
	for i := range rows {
		made, err := sessionOf(&rows[i])
		if err != nil {
			return err
		}
		own := group[slices.IndexFunc(group, func(c *creation) bool { return c.session.Session.ID == made.ID })]
		own.made = made
	}
	return nil
}

// sessionColumns collects the columns of new sessions.
type sessionColumns struct{ db.InsertSessionsParams }

func (l *sessionColumns) addSession(v *store.Session, labels []byte) {
	l.Ids, l.Tenants, l.Subjects = append(l.Ids, v.ID), append(l.Tenants, v.Owner.Tenant), append(l.Subjects, v.Owner.Subject)
	l.AgentIds, l.States = append(l.AgentIds, v.AgentID), append(l.States, string(v.State))
	l.Labels, l.Metadatas, l.Tips = append(l.Labels, labels), append(l.Metadatas, v.Metadata), append(l.Tips, v.Tip)
	l.CreatedAts, l.UpdatedAts = append(l.CreatedAts, instant.Time(v.CreatedAt)), append(l.UpdatedAts, instant.Time(v.UpdatedAt))
	l.ActiveAts, l.LastTurnAts = append(l.ActiveAts, instant.Time(v.ActiveAt)), append(l.LastTurnAts, instant.Time(v.LastTurnAt))
	l.CurrentAgentIds = append(l.CurrentAgentIds, v.CurrentAgentID)
}

// nameExisting returns the error of a session's creation.
func nameExisting(err error, id string) error {
	if violatesUnique(err, "sessions_pkey") {
		err = &store.ExistsError{Kind: "session", ID: id}
	}
	return wrapError("create session", id, err)
}

// claimKey takes the key of a request. If the key is taken, it returns the session created with the
// key. Requests with the same key wait for each other here.
func claimKey(ctx context.Context, q *db.Queries, n *store.NewSession) (known string, err error) {
	o := n.Session.Owner
	scope := "session " + strconv.Quote(o.Tenant) + strconv.Quote(o.Subject)
	taken, err := q.InsertKey(ctx, db.InsertKeyParams{
		Scope: scope, Key: n.Key.Value, Hash: n.Key.Hash, ID: n.Session.ID, SessionID: n.Session.ID,
		CreatedAt: instant.Time(n.Session.CreatedAt),
	})
	if err != nil || taken > 0 {
		return "", err
	}
	before, err := q.GetKey(ctx, db.GetKeyParams{Scope: scope, Key: n.Key.Value})
	if err != nil {
		return "", err
	}
	return before.ID, rules.CheckKey(n.Key, before.Hash, before.ID)
}

// insertSession stores a session with its initial chain, and returns it as stored.
func insertSession(ctx context.Context, to sender, n *store.NewSession) (*store.Session, error) {
	v := n.Session
	labels, keys, values, err := labelsOf(v.Labels)
	if err != nil {
		return nil, err
	}
	if len(n.Base) > 0 {
		last := &n.Base[len(n.Base)-1].Snapshot
		v.Tip, v.CurrentAgentID = last.ID, last.CurrentAgentID
	}
	var p pipeline
	q := p.queuedQueries()
	var rows []db.Session
	var l sessionColumns
	l.addSession(&v, labels)
	queueRows(&p, &rows, db.InsertSessions, l.Ids, l.Tenants, l.Subjects, l.AgentIds, l.States, l.Labels, l.Metadatas, l.Tips,
		l.CreatedAts, l.UpdatedAts, l.ActiveAts, l.LastTurnAts, l.CurrentAgentIds)
	if err := errors.Join(insertLabels(ctx, q, v.ID, keys, values), insertBase(ctx, q, n)); err != nil {
		return nil, err
	}
	if err := p.sendQueued(ctx, to); err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, pgx.ErrNoRows
	}
	return sessionOf(&rows[0])
}

func insertLabels(ctx context.Context, q *db.Queries, id string, keys, values []string) error {
	if len(keys) == 0 {
		return nil
	}
	return q.InsertLabels(ctx, db.InsertLabelsParams{SessionID: id, Keys: keys, Values: values})
}

func insertBase(ctx context.Context, q *db.Queries, n *store.NewSession) error {
	var own messages
	for i := range n.Base {
		b := &n.Base[i]
		own.addBodies(b.Snapshot.ID, 0, b.Messages)
		if err := q.InsertSnapshot(ctx, rowOfSnapshot(&b.Snapshot, n.Session.ID, b.Snapshot.TurnID, n.Session.Owner)); err != nil {
			return err
		}
	}
	for _, a := range n.Artifacts {
		if err := q.InsertArtifact(ctx, rowOfArtifact(a, n.Session.ID, a.TurnID, n.Session.Owner)); err != nil {
			return err
		}
	}
	if len(own.Ns) == 0 {
		return nil
	}
	return q.InsertMessages(ctx, own.InsertMessagesParams)
}
