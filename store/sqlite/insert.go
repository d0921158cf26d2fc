package sqlite

import (
	"context"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/sqlite/internal/db"
)

func insertEvents(ctx context.Context, tx *tx, turnID string, events []event.Record) error {
	for i := range events {
		if err := insertEvent(ctx, tx, turnID, &events[i]); err != nil {
			return err
		}
	}
	return nil
}

func insertEvent(ctx context.Context, tx *tx, turnID string, r *event.Record) error {
	return tx.InsertEvent(ctx, db.InsertEventParams{TurnID: turnID, Seq: int64(r.Seq), At: toMicros(r.Time), Type: string(r.Type), Data: r.Data})
}

// insertMessages numbers the messages of an owner from n on.
func insertMessages(ctx context.Context, tx *tx, ownerID string, n int64, bodies [][]byte) error {
	for i, body := range bodies {
		if err := tx.InsertMessage(ctx, db.InsertMessageParams{OwnerID: ownerID, N: n + int64(i), Body: body}); err != nil {
			return err
		}
	}
	return nil
}

func insertSnapshot(ctx context.Context, tx *tx, s *store.Snapshot, sessionID, turnID string, owner store.Owner) error {
	return tx.InsertSnapshot(ctx, db.InsertSnapshotParams{
		ID: s.ID, SessionID: sessionID, Tenant: owner.Tenant, Subject: owner.Subject, ParentID: s.ParentID, TurnID: turnID,
		FinishReason: s.FinishReason, CreatedAt: toMicros(s.CreatedAt), Custom: s.Custom, State: s.State, Artifacts: s.Artifacts,
	})
}

// insertArtifacts stores artifacts of a session; those of a turn have its id.
func insertArtifacts(ctx context.Context, tx *tx, list []*store.Artifact, sessionID, turnID string, owner store.Owner) error {
	for _, a := range list {
		err := tx.InsertArtifact(ctx, db.InsertArtifactParams{
			ID: a.ID, SessionID: sessionID, TurnID: turnID, Tenant: owner.Tenant, Subject: owner.Subject,
			Name: a.Name, MediaType: a.MediaType, Size: int64(len(a.Data)), CreatedAt: toMicros(a.CreatedAt), Metadata: a.Metadata, Data: a.Data,
		})
		if err != nil {
			return err
		}
	}
	return nil
}
