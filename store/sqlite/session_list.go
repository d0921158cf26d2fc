package sqlite

import (
	"context"
	"maps"
	"slices"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/internal/rules"
	"github.com/agentruntime/agentruntime/store/internal/sqlstore"
	"github.com/agentruntime/agentruntime/store/sqlite/internal/db"
)

// Sessions returns a page of sessions.
func (s *Store) Sessions(ctx context.Context, q store.SessionQuery) (out store.SessionPage, err error) {
	f, err := s.sessionFilter(ctx, &q)
	if err != nil {
		return out, wrapError("list sessions of", q.Scope.Owner.Subject, err)
	}
	out.Sessions, out.Next, err = sqlstore.Latest(f, "active_at", q.Page, rules.SessionCursor, func(query string, args []any) ([]*store.Session, error) {
		rows, err := readRows(ctx, s.read, query, args, sessionFields)
		if err != nil {
			return nil, err
		}
		return sqlstore.Sessions(rows, listedSession)
	})
	return out, wrapError("list sessions of", q.Scope.Owner.Subject, err)
}

const sessionColumns = "SELECT id, tenant, subject, agent_id, state, labels, metadata, tip, created_at, updated_at, active_at, last_turn_at, current_agent_id FROM "

func sessionFields(r *db.Session) []any {
	return []any{&r.ID, &r.Tenant, &r.Subject, &r.AgentID, &r.State, &r.Labels, &r.Metadata, &r.Tip, &r.CreatedAt, &r.UpdatedAt, &r.ActiveAt, &r.LastTurnAt, &r.CurrentAgentID}
}

// sessionFilter returns the filter of a query.
func (s *Store) sessionFilter(ctx context.Context, q *store.SessionQuery) (*sqlstore.Filter, error) {
	f := dialect.Select(sessionColumns + "sessions")
	labels := slices.Sorted(maps.Keys(q.Labels))
	for i, key := range labels {
		few, err := s.isRare(ctx, label{key, q.Labels[key]})
		if err != nil {
			return nil, err
		}
		if few {
			// A cross join is made in the order in which it is written.
			f = dialect.Select(sessionColumns + "session_labels l CROSS JOIN sessions ON id = l.session_id")
			f.Where("l.key = " + f.Arg(key))
			f.Where("l.value = " + f.Arg(q.Labels[key]))
			labels = slices.Delete(labels, i, i+1)
			break
		}
	}
	for _, key := range labels {
		f.Label(key, q.Labels[key])
	}
	f.Sessions(q)
	return f, nil
}
