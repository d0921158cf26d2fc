package sqlstore

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"github.com/agentruntime/agentruntime/store"
)

// SessionRow is a row of the table of sessions of a database whose times are
// read as T.
type SessionRow[T any] struct {
	ID         string
	Tenant     string
	Subject    string
	AgentID    string
	State      string
	Labels     []byte
	Metadata   []byte
	Tip        string
	CreatedAt  T
	UpdatedAt  T
	ActiveAt   T
	LastTurnAt T

	CurrentAgentID string
}

// Labels decodes the labels of rows. Most rows of a page have those of the row before,
// which are decoded once. The zero value has decoded none.
type Labels struct {
	raw    []byte
	labels map[string]string
}

// decode returns the labels of a row, which belong to the caller.
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

// Record returns the session of a row. at returns a time of it.
func (r *SessionRow[T]) Record(at func(T) time.Time, labels *Labels) (s *store.Session, err error) {
	s = &store.Session{
		ID: r.ID, Owner: store.Owner{Tenant: r.Tenant, Subject: r.Subject}, AgentID: r.AgentID, CurrentAgentID: r.CurrentAgentID,
		State: store.SessionState(r.State), Metadata: r.Metadata, Tip: r.Tip,
		CreatedAt: at(r.CreatedAt), UpdatedAt: at(r.UpdatedAt), ActiveAt: at(r.ActiveAt), LastTurnAt: at(r.LastTurnAt),
	}
	if s.Labels, err = labels.decode(r.Labels); err != nil {
		return nil, fmt.Errorf("read the labels of session %s: %w", r.ID, err)
	}
	return s, nil
}

// Sessions returns the sessions of rows.
func Sessions[Row any](rows []Row, record func(*Row, *Labels) (*store.Session, error)) (list []*store.Session, err error) {
	var labels Labels
	list = make([]*store.Session, len(rows))
	for i := range rows {
		if list[i], err = record(&rows[i], &labels); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// EncodeLabels returns labels as the row of a session has them.
func EncodeLabels(labels map[string]string) ([]byte, error) {
	if len(labels) == 0 {
		return nil, nil
	}
	return json.Marshal(labels)
}
