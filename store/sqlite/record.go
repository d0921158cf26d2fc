package sqlite

import (
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/internal/sqlstore"
	"github.com/agentruntime/agentruntime/store/sqlite/internal/db"
)

// toMicros returns a time as the file keeps it: 0 is no time.
func toMicros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// fromMicros is the opposite of toMicros.
func fromMicros(micros int64) time.Time {
	if micros == 0 {
		return time.Time{}
	}
	return time.UnixMicro(micros).UTC()
}

// sessionOf returns the record of a row.
func sessionOf(r *db.Session) (*store.Session, error) { return listedSession(r, &sqlstore.Labels{}) }

// listedSession returns the record of one of several rows.
func listedSession(r *db.Session, labels *sqlstore.Labels) (*store.Session, error) {
	return (*sqlstore.SessionRow[int64])(r).Record(fromMicros, labels)
}

// turnOf returns the record of a row.
func turnOf(r *db.Turn) *store.Turn {
	return &store.Turn{
		ID: r.ID, SessionID: r.SessionID, Owner: store.Owner{Tenant: r.Tenant, Subject: r.Subject}, AgentID: r.AgentID,
		Status: store.Status(r.Status), Request: r.Request, Result: r.Result, Metadata: r.Metadata,
		Background: r.Background, SnapshotID: r.SnapshotID, ParentSnapshotID: r.ParentSnapshotID, FromStart: r.FromStart,
		CreatedAt: fromMicros(r.CreatedAt), UpdatedAt: fromMicros(r.UpdatedAt), ChangedAt: fromMicros(r.ChangedAt), NotBefore: fromMicros(r.NotBefore),
		StartedAt: fromMicros(r.StartedAt), FinishedAt: fromMicros(r.FinishedAt),
		Worker: r.Worker, Fence: r.Fence, LeaseUntil: fromMicros(r.LeaseUntil), HeartbeatAt: fromMicros(r.HeartbeatAt),
		Admitted: r.Admitted, Strikes: int(r.Strikes), Seq: uint64(r.Seq), Steps: int(r.Steps), Revision: r.Revision,
	}
}

// interactionOf returns the record of a row.
func interactionOf(r *db.Interaction) *store.Interaction {
	return &store.Interaction{
		ID: r.ID, TurnID: r.TurnID, SessionID: r.SessionID, Owner: store.Owner{Tenant: r.Tenant, Subject: r.Subject},
		State: store.InteractionState(r.State), Action: r.Action, Request: r.Request,
		Answer: r.Resolution, AnsweredBy: r.ResolvedBy,
		CreatedAt: fromMicros(r.CreatedAt), ExpiresAt: fromMicros(r.ExpiresAt), AnsweredAt: fromMicros(r.ResolvedAt),
	}
}

// snapshotOf returns the record of a row.
func snapshotOf(r *db.Snapshot) *store.Snapshot {
	return &store.Snapshot{
		ID: r.ID, SessionID: r.SessionID, Owner: store.Owner{Tenant: r.Tenant, Subject: r.Subject},
		ParentID: r.ParentID, TurnID: r.TurnID, AgentID: r.AgentID, CurrentAgentID: r.CurrentAgentID, FinishReason: r.FinishReason, CreatedAt: fromMicros(r.CreatedAt),
		Custom: r.Custom, State: r.State, Artifacts: r.Artifacts,
	}
}

// artifactOf returns the record of a row.
func artifactOf(r *db.Artifact) *store.Artifact {
	return &store.Artifact{
		ID: r.ID, SessionID: r.SessionID, TurnID: r.TurnID, Owner: store.Owner{Tenant: r.Tenant, Subject: r.Subject},
		Name: r.Name, MediaType: r.MediaType, Size: int(r.Size), CreatedAt: fromMicros(r.CreatedAt), Metadata: r.Metadata, Data: r.Data,
	}
}

// webhookOf returns the record of a row.
func webhookOf(r *db.Webhook) *store.Webhook {
	return &store.Webhook{
		ID: r.ID, TurnID: r.TurnID, SessionID: r.SessionID, Owner: store.Owner{Tenant: r.Tenant, Subject: r.Subject},
		Surface: r.Surface, Data: r.Data, State: store.WebhookState(r.State), Cursor: uint64(r.Cursor),
		Attempts: int(r.Attempts), FailingSince: fromMicros(r.FailingSince), LastError: r.LastError, DueAt: fromMicros(r.DueAt),
		Worker: r.Worker, Fence: r.Fence, LeaseUntil: fromMicros(r.LeaseUntil), CreatedAt: fromMicros(r.CreatedAt), UpdatedAt: fromMicros(r.UpdatedAt),
	}
}

func journalOf(rows []db.GetJournalRow) []store.JournalRow {
	list := make([]store.JournalRow, len(rows))
	for i, r := range rows {
		list[i] = store.JournalRow{Key: r.Key, Entry: r.Entry, Result: r.Result}
	}
	return list
}

func eventsOf(turnID string, rows []db.EventsAfterRow) []event.Record {
	list := make([]event.Record, len(rows))
	for i := range rows {
		r := &rows[i]
		list[i] = event.Record{
			Seq: uint64(r.Seq), Time: fromMicros(r.At), TurnID: turnID, SessionID: r.SessionID, Type: event.Type(r.Type),
			Path: event.ParsePath(r.Path), Data: r.Data,
		}
	}
	return list
}
