package memory

import (
	"bytes"
	"context"
	"maps"
	"time"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/internal/rules"
)

// key is the record that a request with an idempotency key created.
type key struct {
	hash []byte
	id   string
	// session is the session of the key.
	session string
	at      time.Time
}

// replayKey returns the id of the record that an earlier request with the key created; empty if
// none.
func (m *Store) replayKey(scope string, k store.Key) (string, error) {
	known, ok := m.keys[scope+"\x00"+k.Value]
	switch {
	case k.Value == "" || !ok:
		return "", nil
	default:
		return known.id, rules.CheckKey(k, known.hash, known.id)
	}
}

// rememberKey stores the record that a request with a key created in a session.
func (m *Store) rememberKey(scope string, k store.Key, session, id string, at time.Time) {
	if k.Value != "" {
		m.keys[scope+"\x00"+k.Value] = &key{hash: bytes.Clone(k.Hash), id: id, session: session, at: at}
	}
}

func keysOf(o store.Owner) string { return "session\x00" + o.Tenant + "\x00" + o.Subject }

// CreateSession stores a new session.
func (m *Store) CreateSession(ctx context.Context, n *store.NewSession) (made *store.Session, err error) {
	if err := n.CheckText(); err != nil {
		return nil, err
	}
	err = m.withLock(ctx, func() error {
		known, err := m.replayKey(keysOf(n.Session.Owner), n.Key)
		if err != nil {
			return err
		}
		if known != "" {
			made = copySession(&m.sessions[known].Session)
			return nil
		}
		if _, ok := m.sessions[n.Session.ID]; ok {
			return &store.ExistsError{Kind: "session", ID: n.Session.ID}
		}
		s := &session{Session: *copySession(&n.Session)}
		m.sessions[s.ID] = s
		m.addLabels(s)
		m.addInitial(s, n)
		m.rememberKey(keysOf(s.Owner), n.Key, s.ID, s.ID, s.CreatedAt)
		made = copySession(&s.Session)
		return nil
	})
	return made, err
}

// addInitial adds the initial records of a new session.
func (m *Store) addInitial(s *session, n *store.NewSession) {
	for i := range n.Base {
		base := copySnapshot(&n.Base[i].Snapshot)
		base.SessionID, base.TurnID, base.Owner = s.ID, "", s.Owner
		m.snapshots[base.ID], m.messages[base.ID] = base, copyList(n.Base[i].Messages)
		s.Tip, s.CurrentAgentID = base.ID, base.CurrentAgentID
	}
	for _, a := range n.Artifacts {
		added := copyArtifact(a)
		added.SessionID, added.TurnID, added.Owner = s.ID, "", s.Owner
		m.artifacts[a.ID] = added
	}
}

// findSession returns a session that the scope sees.
func (m *Store) findSession(scope store.Scope, id string) (*session, error) {
	s, ok := m.sessions[id]
	if !ok || !scope.Sees(s.Owner) {
		return nil, store.ErrNotFound
	}
	return s, nil
}

// Session returns a session.
func (m *Store) Session(ctx context.Context, scope store.Scope, id string) (found *store.Session, err error) {
	err = m.withLock(ctx, func() error {
		s, err := m.findSession(scope, id)
		if err == nil {
			found = copySession(&s.Session)
		}
		return err
	})
	return found, err
}

// Sessions returns a page of sessions.
func (m *Store) Sessions(ctx context.Context, q store.SessionQuery) (out store.SessionPage, err error) {
	err = m.withLock(ctx, func() error {
		var list []*store.Session
		from := m.sessions
		for key, value := range q.Labels {
			if labeled := m.labeled[label{key, value}]; len(labeled) <= len(from) {
				from = labeled
			}
		}
		for _, s := range from {
			if matchesSession(&s.Session, &q) && s.hasLabels(q.Labels) {
				list = append(list, copySession(&s.Session))
			}
		}
		out.Sessions, out.Next, err = rules.SortPage(list, q.Page, rules.SessionCursor)
		return err
	})
	return out, err
}

// sessionTable has the sessions by ID and by label.
type sessionTable struct {
	sessions map[string]*session
	labeled  map[label]map[string]*session
}

// label is a label of a session.
type label struct{ key, value string }

// addLabels indexes a session by its labels.
func (m *Store) addLabels(s *session) {
	for key, value := range s.Labels {
		of := label{key, value}
		if m.labeled[of] == nil {
			m.labeled[of] = map[string]*session{}
		}
		m.labeled[of][s.ID] = s
	}
}

// removeLabels undoes addLabels.
func (m *Store) removeLabels(id string, labels map[string]string) {
	for key, value := range labels {
		of := label{key, value}
		if delete(m.labeled[of], id); len(m.labeled[of]) == 0 {
			delete(m.labeled, of)
		}
	}
}

// matchesSession reports whether a query selects a session, regardless of the labels.
func matchesSession(s *store.Session, q *store.SessionQuery) bool {
	return q.Scope.Sees(s.Owner) && (q.State == "" || q.State == s.State) && (q.AgentID == "" || q.AgentID == s.AgentID)
}

// hasLabels reports whether a session has all of the labels.
func (s *session) hasLabels(labels map[string]string) bool {
	for name, value := range labels {
		if got, ok := s.Labels[name]; !ok || got != value {
			return false
		}
	}
	return true
}

// UpdateSession applies a patch to a session.
func (m *Store) UpdateSession(ctx context.Context, scope store.Scope, id string, p store.SessionPatch) (changed *store.Session, err error) {
	if err := p.CheckText(); err != nil {
		return nil, err
	}
	err = m.withLock(ctx, func() error {
		s, err := m.findSession(scope, id)
		if err != nil {
			return err
		}
		current := ""
		if p.Tip != nil {
			if current, err = m.checkTip(s, *p.Tip); err != nil {
				return err
			}
		}
		labels := s.Labels
		if err := rules.PatchSession(&s.Session, &p, current); err != nil {
			return err
		}
		m.removeLabels(s.ID, labels)
		m.addLabels(s)
		s.Session = *copySession(&s.Session) // the caller owns the patch
		changed = copySession(&s.Session)
		return nil
	})
	return changed, err
}

// checkTip returns the current agent of a snapshot to which the tip of a session may be
// moved.
func (m *Store) checkTip(s *session, tip string) (current string, err error) {
	if t := s.startedTurn(); t != nil {
		return "", &store.BusyError{SessionID: s.ID, TurnID: t.ID}
	}
	if tip == "" {
		return "", nil
	}
	to, ok := m.snapshots[tip]
	if !ok || to.SessionID != s.ID {
		return "", store.ErrNotFound
	}
	return to.CurrentAgentID, nil
}

// DeleteSession deletes a session with everything that belongs to it.
func (m *Store) DeleteSession(ctx context.Context, scope store.Scope, id string) error {
	return m.withLock(ctx, func() error {
		s, err := m.findSession(scope, id)
		if err != nil {
			return err
		}
		if len(s.live) > 0 {
			return &store.BusyError{SessionID: id, TurnID: s.live[0].ID}
		}
		m.deleteSession(s)
		return nil
	})
}

// deleteSession deletes a session.
func (m *Store) deleteSession(s *session) {
	for _, t := range s.turns {
		delete(m.turns, t.ID)
		delete(m.told, t.ID)
		delete(m.messages, t.ID)
	}
	maps.DeleteFunc(m.snapshots, func(id string, snapshot *store.Snapshot) bool {
		if snapshot.SessionID == s.ID {
			delete(m.messages, id)
		}
		return snapshot.SessionID == s.ID
	})
	maps.DeleteFunc(m.keys, func(_ string, k *key) bool { return k.session == s.ID })
	maps.DeleteFunc(m.artifacts, func(_ string, a *store.Artifact) bool { return a.SessionID == s.ID })
	delete(m.sessions, s.ID)
	m.removeLabels(s.ID, s.Labels)
}

func copySession(s *store.Session) *store.Session {
	c := *s
	c.Labels, c.Metadata = maps.Clone(s.Labels), bytes.Clone(s.Metadata)
	c.CreatedAt, c.UpdatedAt, c.ActiveAt, c.LastTurnAt = truncateTime(c.CreatedAt), truncateTime(c.UpdatedAt), truncateTime(c.ActiveAt), truncateTime(c.LastTurnAt)
	return &c
}

func copyList(list [][]byte) [][]byte {
	c := make([][]byte, len(list))
	for i := range list {
		c[i] = bytes.Clone(list[i])
	}
	return c
}
