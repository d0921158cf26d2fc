package sqlstore

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/internal/rules"
)

// sessionRecords keeps sessions, their snapshots and artifacts.
type sessionRecords struct{ *core }

// SessionColumns are the columns of a session, in the order of SessionRow.Fields.
const SessionColumns = "id, tenant, subject, agent_id, state, labels, metadata, tip, created_at, updated_at, active_at, last_turn_at, current_agent_id"

// SessionRow is a row of the table of sessions.
type SessionRow struct {
	store.Session
	// labels are JSON, decoded by Record.
	labels []byte
}

// Fields returns the scan destinations of the columns.
func (r *SessionRow) Fields() []any { return r.AppendFields(nil) }

// AppendFields appends the scan destinations of the columns.
func (r *SessionRow) AppendFields(list []any) []any {
	return append(list,
		&r.ID, &r.Owner.Tenant, &r.Owner.Subject, &r.AgentID, (*string)(&r.State), &r.labels, (*[]byte)(&r.Metadata), &r.Tip,
		(*Time)(&r.CreatedAt), (*Time)(&r.UpdatedAt), (*Time)(&r.ActiveAt), (*Time)(&r.LastTurnAt), &r.CurrentAgentID)
}

// Record returns the session of a row.
func (r *SessionRow) Record(labels *Labels) (_ *store.Session, err error) {
	if r.Labels, err = labels.decode(r.labels); err != nil {
		return nil, fmt.Errorf("read the labels of session %s: %w", r.ID, err)
	}
	return &r.Session, nil
}

// Labels decodes the labels of rows. Most rows of a page have the same labels as the previous row,
// which are decoded once. The zero value is ready to use.
type Labels struct {
	raw    []byte
	labels map[string]string
}

// decode returns the labels of a row, which the caller owns.
func (l *Labels) decode(raw []byte) (map[string]string, error) {
	if raw == nil {
		return nil, nil //nolint:nilnil // no labels
	}
	if l.raw == nil || !bytes.Equal(l.raw, raw) {
		var labels map[string]string
		if err := json.Unmarshal(raw, &labels); err != nil {
			return nil, err
		}
		l.raw, l.labels = raw, labels
	}
	return maps.Clone(l.labels), nil
}

// sessionsOf returns the sessions of rows.
func sessionsOf(rows []*SessionRow) (list []*store.Session, err error) {
	var labels Labels
	list = make([]*store.Session, len(rows))
	for i, row := range rows {
		if list[i], err = row.Record(&labels); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// EncodeLabels returns labels as stored in the row of a session.
func EncodeLabels(labels map[string]string) ([]byte, error) {
	if len(labels) == 0 {
		return nil, nil
	}
	return json.Marshal(labels)
}

// Session returns a session.
func (r *sessionRecords) Session(ctx context.Context, scope store.Scope, id string) (*store.Session, error) {
	found, err := FindSession(ctx, r.db.Reader, scope, id, "")
	return found, r.db.WrapError("read session", id, err)
}

// FindSession returns a session that the scope sees. lock is appended to the query.
func FindSession(ctx context.Context, s Session, scope store.Scope, id, lock string) (*store.Session, error) {
	owner := func(r *SessionRow) *store.Owner { return &r.Owner }
	row, err := findVisible(ctx, s, scope, owner, (*SessionRow).Fields, "SELECT "+SessionColumns+" FROM sessions WHERE id = $1"+lock, id)
	if err != nil {
		return nil, err
	}
	return row.Record(&Labels{})
}

// Sessions returns a page of sessions.
func (r *sessionRecords) Sessions(ctx context.Context, q store.SessionQuery) (page store.SessionPage, err error) {
	f, err := r.filterSessions(ctx, &q)
	if err == nil {
		page.Sessions, page.Next, err = readLatest(ctx, r.db.Reader, f, "active_at", q.Page, (*SessionRow).Fields, sessionsOf, rules.SessionCursor)
	}
	return page, r.db.WrapError("list sessions of", q.Scope.Owner.Subject, err)
}

// filterSessions returns a statement that selects the sessions of a query.
func (r *sessionRecords) filterSessions(ctx context.Context, q *store.SessionQuery) (*filter, error) {
	f, err := r.filterByLabels(ctx, SessionColumns, "sessions", "id", q.Labels)
	if err != nil {
		return nil, err
	}
	f.Scope(q.Scope)
	f.equals("state", string(q.State))
	f.equals("agent_id", q.AgentID)
	return f, nil
}

// filterByLabels returns a statement on the rows of a table whose sessions have the wanted labels.
// idColumn has the id of a row's session. The statement begins with the sessions of a rare label.
func (r *core) filterByLabels(ctx context.Context, columns, table, idColumn string, wanted map[string]string) (*filter, error) {
	f := r.dialect.newFilter("SELECT " + columns + " FROM " + table)
	labels := slices.Sorted(maps.Keys(wanted))
	for i, key := range labels {
		if r.db.IsRare == nil {
			break
		}
		few, err := r.db.IsRare(ctx, key, wanted[key])
		if err != nil {
			return nil, err
		}
		if few {
			// SQLite executes a cross join in the order it is written.
			f.query = "SELECT " + columns + " FROM (SELECT session_id AS labeled FROM session_labels WHERE key = " + f.Arg(key) +
				" AND value = " + f.Arg(wanted[key]) + ") l CROSS JOIN " + table + " ON " + idColumn + " = l.labeled"
			labels = slices.Delete(labels, i, i+1)
			break
		}
	}
	for _, key := range labels {
		f.where("EXISTS (SELECT 1 FROM session_labels o WHERE o.session_id = " + table + "." + idColumn + " AND o.key = " + f.Arg(key) + " AND o.value = " + f.Arg(wanted[key]) + ")")
	}
	return f, nil
}

// UpdateSession applies a patch to a session.
func (r *sessionRecords) UpdateSession(ctx context.Context, scope store.Scope, id string, p store.SessionPatch) (*store.Session, error) {
	if err := p.CheckText(); err != nil {
		return nil, err
	}
	return transact(ctx, r.core, "change session", id, func(ctx context.Context, s Session) (*store.Session, error) {
		kept, err := FindSession(ctx, s, scope, id, r.dialect.forUpdate)
		if err != nil {
			return nil, err
		}
		current := ""
		if p.Tip != nil {
			if current, err = r.checkTip(ctx, s, id, *p.Tip); err != nil {
				return nil, err
			}
		}
		if err := rules.PatchSession(kept, &p, current); err != nil {
			return nil, err
		}
		if err := saveSession(ctx, s, kept, p.Labels != nil); err != nil {
			return nil, err
		}
		return FindSession(ctx, s, scope, id, "")
	})
}

// CheckIdle returns a *store.BusyError for a session with a turn that meets a condition.
func CheckIdle(ctx context.Context, s Session, id, cond string) error {
	turn, err := FindValue[string](ctx, s, "SELECT t.id FROM turns t WHERE t.session_id = $1 AND "+cond+" ORDER BY t.made LIMIT 1", id)
	if err == nil && turn != "" {
		err = &store.BusyError{SessionID: id, TurnID: turn}
	}
	return err
}

// checkTip returns the current agent of a snapshot to which the tip of a locked session may be
// moved.
func (r *sessionRecords) checkTip(ctx context.Context, s Session, id, tip string) (current string, err error) {
	if err := CheckIdle(ctx, s, id, r.dialect.isSet("t.started_at")+" AND "+r.dialect.live("t")); err != nil || tip == "" {
		return "", err
	}
	agents, err := CollectColumn[string](ctx, s, "SELECT current_agent_id FROM snapshots WHERE id = $1 AND session_id = $2", tip, id)
	if err == nil && len(agents) == 0 {
		err = store.ErrNotFound
	}
	if err != nil {
		return "", err
	}
	return agents[0], nil
}

// saveSession writes a changed session.
func saveSession(ctx context.Context, s Session, v *store.Session, labels bool) error {
	text, err := EncodeLabels(v.Labels)
	if err != nil {
		return err
	}
	_, err = s.Exec(ctx, "UPDATE sessions SET agent_id = $1, state = $2, labels = $3, metadata = $4, tip = $5, updated_at = $6, current_agent_id = $7 WHERE id = $8",
		v.AgentID, string(v.State), text, []byte(v.Metadata), v.Tip, Time(v.UpdatedAt), v.CurrentAgentID, v.ID)
	if err == nil && labels {
		_, err = s.Exec(ctx, "DELETE FROM session_labels WHERE session_id = $1", v.ID)
	}
	if err != nil || !labels || len(v.Labels) == 0 {
		return err
	}
	var args []any
	for key, value := range v.Labels {
		args = append(args, v.ID, key, value)
	}
	_, err = s.Exec(ctx, "INSERT INTO session_labels (session_id, key, value) VALUES "+rowsOf(len(v.Labels), len(args)), args...)
	return err
}

// DeleteSession deletes a session with everything that belongs to it.
func (r *sessionRecords) DeleteSession(ctx context.Context, scope store.Scope, id string) error {
	err := r.db.Transact(ctx, func(ctx context.Context, s Session) error {
		if _, err := FindSession(ctx, s, scope, id, r.dialect.forUpdate); err != nil {
			return err
		}
		if err := CheckIdle(ctx, s, id, r.dialect.live("t")); err != nil {
			return err
		}
		return r.deleteSessions(ctx, s, []string{id})
	})
	return r.db.WrapError("delete session", id, err)
}

// deleteSessions deletes locked sessions without live turns. Rows that refer to them by a
// constraint are deleted with them.
func (r *sessionRecords) deleteSessions(ctx context.Context, s Session, ids []string) error {
	f := r.dialect.newFilter("")
	ofSession := func(column string) string {
		f.args = nil
		return r.dialect.oneOf(f, column, ids)
	}
	ofTurn := "IN (SELECT t.id FROM turns t WHERE " + ofSession("t.session_id") + ")"
	for _, statement := range []string{
		"DELETE FROM events WHERE turn_id " + ofTurn,
		"DELETE FROM journal WHERE turn_id " + ofTurn,
		"DELETE FROM turn_states WHERE turn_id " + ofTurn,
		"DELETE FROM messages WHERE owner_id " + ofTurn,
		"DELETE FROM messages WHERE owner_id IN (SELECT s.id FROM snapshots s WHERE " + ofSession("s.session_id") + ")",
		"DELETE FROM idempotency_keys WHERE " + ofSession("session_id"),
		"DELETE FROM sessions WHERE " + ofSession("id"),
	} {
		if _, err := s.Exec(ctx, statement, f.args...); err != nil {
			return err
		}
	}
	return nil
}

// DecodeLabels returns the labels of the row of a session.
func DecodeLabels(id string, raw []byte) (map[string]string, error) {
	labels, err := new(Labels).decode(raw)
	if err != nil {
		return nil, fmt.Errorf("read the labels of session %s: %w", id, err)
	}
	return labels, nil
}
