package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"math"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/internal/rules"
	"github.com/agentruntime/agentruntime/store/internal/sqlstore"
	"github.com/agentruntime/agentruntime/store/sqlite/internal/db"
)

// Events returns events of a turn.
func (s *Store) Events(ctx context.Context, turnID string, after uint64, limit int) ([]event.Record, error) {
	rows, err := s.queries.EventsAfter(ctx, db.EventsAfterParams{TurnID: turnID, After: int64(min(after, math.MaxInt64)), Most: int64(max(0, limit))})
	if err != nil {
		return nil, wrapError("read the events of turn", turnID, err)
	}
	return eventsOf(turnID, rows), nil
}

// Journal returns the tool calls of a turn.
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
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return state, wrapError("read the state of turn", turnID, err)
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

// Artifacts returns those that a turn made, without their data.
func (s *Store) Artifacts(ctx context.Context, scope store.Scope, turnID string) ([]*store.Artifact, error) {
	if _, err := getTurn(ctx, s.queries, scope, turnID); err != nil {
		return nil, wrapError("read the artifacts of turn", turnID, err)
	}
	rows, err := s.queries.ArtifactsOf(ctx, turnID)
	if err != nil {
		return nil, wrapError("read the artifacts of turn", turnID, err)
	}
	return sqlstore.Records(rows, func(r *db.ArtifactsOfRow) *store.Artifact {
		return artifactOf(&db.Artifact{
			ID: r.ID, SessionID: r.SessionID, TurnID: r.TurnID, Tenant: r.Tenant, Subject: r.Subject,
			Name: r.Name, MediaType: r.MediaType, Size: r.Size, CreatedAt: r.CreatedAt, Metadata: r.Metadata,
		})
	}), nil
}

// LiveRevisions returns the revisions in which live turns and runs began.
func (s *Store) LiveRevisions(ctx context.Context) ([]string, error) {
	found, err := s.queries.LiveRevisions(ctx)
	return found, wrapError("read the revisions of", "live turns", err)
}
