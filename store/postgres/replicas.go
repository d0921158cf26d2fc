package postgres

import (
	"context"
	"time"

	"github.com/agentruntime/agentruntime/store"
	"github.com/jackc/pgx/v5"
)

var _ store.Replicas = (*Store)(nil)

// ReportReplica stores that a process is alive. The statements do not share a transaction, so that
// processes whose leases end together cannot deadlock.
func (s *Store) ReportReplica(ctx context.Context, id string, lease time.Duration) error {
	_, err := s.pool.Exec(ctx, `INSERT INTO replicas (id, seen_at, until) VALUES ($1, clock_timestamp(), clock_timestamp() + $2::interval)
		ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at, until = excluded.until`, id, lease)
	if err == nil {
		_, err = s.pool.Exec(ctx, "DELETE FROM replicas WHERE id IN (SELECT id FROM replicas WHERE until <= clock_timestamp() FOR UPDATE SKIP LOCKED)")
	}
	return wrapError("report replica", id, err)
}

// LiveReplicas returns the processes whose lease has not ended.
func (s *Store) LiveReplicas(ctx context.Context) ([]store.Replica, error) {
	rows, err := s.pool.Query(ctx, "SELECT id, seen_at FROM replicas WHERE until > clock_timestamp() ORDER BY id")
	if err != nil {
		return nil, wrapError("list", "replicas", err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (r store.Replica, err error) {
		err = row.Scan(&r.ID, &r.SeenAt)
		r.SeenAt = r.SeenAt.UTC()
		return r, err
	})
	return list, wrapError("list", "replicas", err)
}
