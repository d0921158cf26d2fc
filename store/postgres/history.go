package postgres

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/internal/rules"
	"github.com/agentruntime/agentruntime/store/internal/sqlstore"
	"github.com/agentruntime/agentruntime/store/postgres/internal/db"
	"github.com/agentruntime/agentruntime/store/postgres/internal/instant"
	"github.com/jackc/pgx/v5"
)

// Events returns events of a turn, in order.
func (s *Store) Events(ctx context.Context, turnID string, after uint64, limit int) ([]event.Record, error) {
	if limit <= 0 || after > math.MaxInt64 {
		return nil, nil
	}
	rows, err := s.pool.Query(ctx, db.EventsAfter, turnID, int64(after), limit)
	if err != nil {
		return nil, wrapError("read the events of turn", turnID, err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (r event.Record, err error) {
		var (
			seq  int64
			at   instant.Time
			kind string
			data []byte
			path string
		)
		err = row.Scan(&seq, &r.SessionID, &at, &kind, &data, &path)
		r.Seq, r.Time, r.TurnID, r.Type, r.Path, r.Data = uint64(seq), time.Time(at), turnID, event.Type(kind), event.ParsePath(path), data
		return r, err
	})
	return list, wrapError("read the events of turn", turnID, err)
}

// Journal returns the tool calls of a turn, in the order in which they began.
func (s *Store) Journal(ctx context.Context, turnID string) ([]store.JournalRow, error) {
	rows, err := s.queries.GetJournal(ctx, turnID)
	if err != nil {
		return nil, wrapError("read the journal of turn", turnID, err)
	}
	return journalOf(rows), nil
}

// State returns the state that was committed last to a turn.
func (s *Store) State(ctx context.Context, turnID string) ([]byte, error) {
	state, err := s.queries.GetState(ctx, turnID)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	return state, wrapError("read the state of turn", turnID, err)
}

// Snapshot returns a snapshot.
func (s *Store) Snapshot(ctx context.Context, scope store.Scope, id string) (*store.Snapshot, error) {
	row, err := s.queries.GetSnapshot(ctx, id)
	if err == nil {
		err = rules.CheckVisible(scope, row.Tenant, row.Subject)
	}
	if err != nil {
		return nil, wrapError("read snapshot", id, err)
	}
	return snapshotOf(&row), nil
}

// Snapshots returns a page of the snapshots of a session, the newest first.
func (s *Store) Snapshots(ctx context.Context, q store.SnapshotQuery) (page store.SnapshotPage, err error) {
	f := dialect.Select(db.SelectSnapshots)
	f.Snapshots(&q)
	page.Snapshots, page.Next, err = sqlstore.Latest(f, "created_at", q.Page, rules.SnapshotCursor, readRecords(ctx, s.pool, snapshotOf))
	return page, wrapError("list the snapshots of session", q.SessionID, err)
}

// Conversation returns the messages up to and with a snapshot, the oldest first.
// The error is ErrNotFound for a snapshot that is not there.
func (s *Store) Conversation(ctx context.Context, snapshotID string) ([][]byte, error) {
	list, err := s.queries.Conversation(ctx, snapshotID)
	if err == nil && len(list) == 0 {
		_, err = s.queries.GetSnapshot(ctx, snapshotID)
	}
	return list, wrapError("read the conversation of snapshot", snapshotID, err)
}

// OwnMessages returns the messages that a snapshot, or a turn, adds itself.
func (s *Store) OwnMessages(ctx context.Context, ownerID string) ([][]byte, error) {
	list, err := s.queries.OwnMessages(ctx, ownerID)
	return list, wrapError("read the messages of", ownerID, err)
}

// Artifact returns an artifact with its data.
func (s *Store) Artifact(ctx context.Context, scope store.Scope, id string) (*store.Artifact, error) {
	row, err := s.queries.GetArtifact(ctx, id)
	if err == nil {
		err = rules.CheckVisible(scope, row.Tenant, row.Subject)
	}
	if err != nil {
		return nil, wrapError("read artifact", id, err)
	}
	return artifactOf(&row), nil
}

// Artifacts returns the artifacts of a turn, in order, without their data. The
// error is ErrNotFound for a turn that the scope does not see.
func (s *Store) Artifacts(ctx context.Context, scope store.Scope, turnID string) ([]*store.Artifact, error) {
	if _, err := s.Turn(ctx, scope, turnID); err != nil {
		return nil, err
	}
	rows, err := s.queries.ArtifactsOf(ctx, turnID)
	if err != nil {
		return nil, wrapError("list the artifacts of turn", turnID, err)
	}
	return sqlstore.Records(rows, func(r *db.ArtifactsOfRow) *store.Artifact {
		return artifactOf(&db.Artifact{
			ID: r.ID, SessionID: r.SessionID, TurnID: r.TurnID, Tenant: r.Tenant, Subject: r.Subject,
			Name: r.Name, MediaType: r.MediaType, Size: r.Size, Metadata: r.Metadata, CreatedAt: r.CreatedAt,
		})
	}), nil
}
