package sqlite

import (
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/internal/sqlstore"
	"github.com/agentruntime/agentruntime/store/sqlite/internal/db"
)

// sessionOf returns the record of a row.
func sessionOf(r *db.Session) (*store.Session, error) {
	labels, err := sqlstore.DecodeLabels(r.ID, r.Labels)
	return &store.Session{
		ID: r.ID, Owner: store.Owner{Tenant: r.Tenant, Subject: r.Subject}, AgentID: r.AgentID, CurrentAgentID: r.CurrentAgentID,
		State: store.SessionState(r.State), Labels: labels, Metadata: r.Metadata, Tip: r.Tip,
		CreatedAt: sqlstore.FromMicros(r.CreatedAt), UpdatedAt: sqlstore.FromMicros(r.UpdatedAt), ActiveAt: sqlstore.FromMicros(r.ActiveAt), LastTurnAt: sqlstore.FromMicros(r.LastTurnAt),
	}, err
}

// turnOf returns the record of a row.
func turnOf(r *db.Turn) *store.Turn {
	return &store.Turn{
		ID: r.ID, SessionID: r.SessionID, Owner: store.Owner{Tenant: r.Tenant, Subject: r.Subject}, AgentID: r.AgentID,
		Status: store.Status(r.Status), Request: r.Request, Result: r.Result, Metadata: r.Metadata,
		Background: r.Background, SnapshotID: r.SnapshotID, ParentSnapshotID: r.ParentSnapshotID, FromStart: r.FromStart,
		CreatedAt: sqlstore.FromMicros(r.CreatedAt), UpdatedAt: sqlstore.FromMicros(r.UpdatedAt), ChangedAt: sqlstore.FromMicros(r.ChangedAt), NotBefore: sqlstore.FromMicros(r.NotBefore),
		StartedAt: sqlstore.FromMicros(r.StartedAt), FinishedAt: sqlstore.FromMicros(r.FinishedAt),
		Worker: r.Worker, Fence: r.Fence, LeaseUntil: sqlstore.FromMicros(r.LeaseUntil), HeartbeatAt: sqlstore.FromMicros(r.HeartbeatAt),
		Admitted: r.Admitted, Strikes: int(r.Strikes), Seq: uint64(r.Seq), Steps: int(r.Steps), Revision: r.Revision,
	}
}

// interactionOf returns the record of a row.
func interactionOf(r *db.Interaction) *store.Interaction {
	return &store.Interaction{
		ID: r.ID, TurnID: r.TurnID, SessionID: r.SessionID, Owner: store.Owner{Tenant: r.Tenant, Subject: r.Subject},
		State: store.InteractionState(r.State), Action: r.Action, Request: r.Request,
		Answer: r.Resolution, AnsweredBy: r.ResolvedBy,
		CreatedAt: sqlstore.FromMicros(r.CreatedAt), ExpiresAt: sqlstore.FromMicros(r.ExpiresAt), AnsweredAt: sqlstore.FromMicros(r.ResolvedAt),
	}
}

// snapshotOf returns the record of a row.
func snapshotOf(r *db.Snapshot) *store.Snapshot {
	return &store.Snapshot{
		ID: r.ID, SessionID: r.SessionID, Owner: store.Owner{Tenant: r.Tenant, Subject: r.Subject},
		ParentID: r.ParentID, TurnID: r.TurnID, AgentID: r.AgentID, CurrentAgentID: r.CurrentAgentID, FinishReason: r.FinishReason, CreatedAt: sqlstore.FromMicros(r.CreatedAt),
		Custom: r.Custom, State: r.State, Artifacts: r.Artifacts,
	}
}

func journalOf(rows []db.GetJournalRow) []store.JournalRow {
	list := make([]store.JournalRow, len(rows))
	for i, r := range rows {
		list[i] = store.JournalRow{Key: r.Key, Entry: r.Entry, Result: r.Result}
	}
	return list
}
