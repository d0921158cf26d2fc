package postgres

import (
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/internal/sqlstore"
	"github.com/agentruntime/agentruntime/store/postgres/internal/db"
	"github.com/agentruntime/agentruntime/store/postgres/internal/instant"
)

// sessionOf returns the record of a row.
func sessionOf(r *db.Session) (*store.Session, error) {
	labels, err := sqlstore.DecodeLabels(r.ID, r.Labels)
	return &store.Session{
		ID: r.ID, Owner: store.Owner{Tenant: r.Tenant, Subject: r.Subject}, AgentID: r.AgentID, CurrentAgentID: r.CurrentAgentID,
		State: store.SessionState(r.State), Labels: labels, Metadata: r.Metadata, Tip: r.Tip,
		CreatedAt: time.Time(r.CreatedAt), UpdatedAt: time.Time(r.UpdatedAt), ActiveAt: time.Time(r.ActiveAt), LastTurnAt: time.Time(r.LastTurnAt),
	}, err
}

// labelsOf returns labels as stored in a session and as searched.
func labelsOf(labels map[string]string) (text []byte, keys, values []string, err error) {
	for k, v := range labels {
		keys, values = append(keys, k), append(values, v)
	}
	text, err = sqlstore.EncodeLabels(labels)
	return text, keys, values, err
}

// turnOf returns the record of a row.
func turnOf(r *db.Turn) *store.Turn {
	return &store.Turn{
		ID: r.ID, SessionID: r.SessionID, Owner: store.Owner{Tenant: r.Tenant, Subject: r.Subject}, AgentID: r.AgentID,
		Status: store.Status(r.Status), Request: r.Request, Result: r.Result, Metadata: r.Metadata,
		Background: r.Background, SnapshotID: r.SnapshotID, ParentSnapshotID: r.ParentSnapshotID, FromStart: r.FromStart,
		CreatedAt: time.Time(r.CreatedAt), UpdatedAt: time.Time(r.UpdatedAt), ChangedAt: time.Time(r.ChangedAt), NotBefore: time.Time(r.NotBefore),
		StartedAt: time.Time(r.StartedAt), FinishedAt: time.Time(r.FinishedAt),
		Worker: r.Worker, Fence: r.Fence, LeaseUntil: time.Time(r.LeaseUntil), HeartbeatAt: time.Time(r.HeartbeatAt),
		Admitted: r.Admitted, Strikes: r.Strikes, Seq: uint64(r.Seq), Steps: r.Steps, Revision: r.Revision,
	}
}

// interactionOf returns the record of a row.
func interactionOf(r *db.Interaction) *store.Interaction {
	return &store.Interaction{
		ID: r.ID, TurnID: r.TurnID, SessionID: r.SessionID, Owner: store.Owner{Tenant: r.Tenant, Subject: r.Subject},
		State: store.InteractionState(r.State), Action: r.Action, Request: r.Request,
		Answer: r.Resolution, AnsweredBy: r.ResolvedBy,
		CreatedAt: time.Time(r.CreatedAt), ExpiresAt: time.Time(r.ExpiresAt), AnsweredAt: time.Time(r.ResolvedAt),
	}
}

// snapshotOf returns the record of a row.
func snapshotOf(r *db.Snapshot) *store.Snapshot {
	return &store.Snapshot{
		ID: r.ID, SessionID: r.SessionID, Owner: store.Owner{Tenant: r.Tenant, Subject: r.Subject},
		ParentID: r.ParentID, TurnID: r.TurnID, AgentID: r.AgentID, CurrentAgentID: r.CurrentAgentID, FinishReason: r.FinishReason,
		Custom: r.Custom, State: r.State, Artifacts: r.Artifacts, CreatedAt: time.Time(r.CreatedAt),
	}
}

// rowOfSnapshot returns the row of a snapshot that belongs to a session.
func rowOfSnapshot(s *store.Snapshot, sessionID, turnID string, owner store.Owner) db.InsertSnapshotParams {
	return db.InsertSnapshotParams{
		ID: s.ID, SessionID: sessionID, Tenant: owner.Tenant, Subject: owner.Subject,
		ParentID: s.ParentID, TurnID: turnID, FinishReason: s.FinishReason,
		Custom: s.Custom, State: s.State, Artifacts: s.Artifacts, CreatedAt: instant.Time(s.CreatedAt),
		AgentID: s.AgentID, CurrentAgentID: s.CurrentAgentID,
	}
}

// rowOfArtifact returns the row of an artifact that belongs to a session.
func rowOfArtifact(a *store.Artifact, sessionID, turnID string, owner store.Owner) db.InsertArtifactParams {
	return db.InsertArtifactParams{
		ID: a.ID, SessionID: sessionID, TurnID: turnID, Tenant: owner.Tenant, Subject: owner.Subject,
		Name: a.Name, MediaType: a.MediaType, Size: len(a.Data), Metadata: a.Metadata, Data: a.Data,
		CreatedAt: instant.Time(a.CreatedAt),
	}
}

func journalOf(rows []db.GetJournalRow) []store.JournalRow {
	list := make([]store.JournalRow, len(rows))
	for i, r := range rows {
		list[i] = store.JournalRow{Key: r.Key, Entry: r.Entry, Result: r.Result}
	}
	return list
}

// events collects the columns of events.
type events struct{ db.InsertEventsParams }

func (e *events) addEvent(turnID, sessionID string, seq int64, r *event.Record) {
	e.TurnIds = append(e.TurnIds, turnID)
	e.Seqs = append(e.Seqs, seq)
	e.SessionIds = append(e.SessionIds, sessionID)
	e.Ats = append(e.Ats, instant.Time(r.Time))
	e.Types = append(e.Types, string(r.Type))
	e.Data = append(e.Data, r.Data)
	if len(r.Path) > 0 { // events before r have none
		e.Paths = append(e.Paths, make([]string, len(e.Seqs)-1-len(e.Paths))...)
		e.Paths = append(e.Paths, r.PathText())
	}
}

// messages collects the columns of messages.
type messages struct{ db.InsertMessagesParams }

// addBodies adds the messages of an owner, numbered from n.
func (m *messages) addBodies(ownerID string, n int, bodies [][]byte) {
	for i, body := range bodies {
		m.OwnerIds = append(m.OwnerIds, ownerID)
		m.Ns = append(m.Ns, n+i)
		m.Bodies = append(m.Bodies, body)
	}
}

// recordsOf returns the records of rows.
func recordsOf[Row, Record any](rows []Row, record func(*Row) Record) []Record {
	var list []Record
	for i := range rows {
		list = append(list, record(&rows[i]))
	}
	return list
}
