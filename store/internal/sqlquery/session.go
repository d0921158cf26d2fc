package sqlquery

import (
	"encoding/json"
	"fmt"
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
}

// Record returns the session of a row. at returns a time of it.
func (r *SessionRow[T]) Record(at func(T) time.Time) (*store.Session, error) {
	s := &store.Session{
		ID: r.ID, Owner: store.Owner{Tenant: r.Tenant, Subject: r.Subject}, AgentID: r.AgentID,
		State: store.SessionState(r.State), Metadata: r.Metadata, Tip: r.Tip,
		CreatedAt: at(r.CreatedAt), UpdatedAt: at(r.UpdatedAt), ActiveAt: at(r.ActiveAt), LastTurnAt: at(r.LastTurnAt),
	}
	if r.Labels != nil {
		if err := json.Unmarshal(r.Labels, &s.Labels); err != nil {
			return nil, fmt.Errorf("read the labels of session %s: %w", r.ID, err)
		}
	}
	return s, nil
}

// Sessions returns the sessions of rows.
func Sessions[Row any](rows []Row, record func(*Row) (*store.Session, error)) (list []*store.Session, err error) {
	list = make([]*store.Session, len(rows))
	for i := range rows {
		if list[i], err = record(&rows[i]); err != nil {
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
