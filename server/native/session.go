package native

import (
	"cmp"
	"encoding/json"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/service"
)

// Session is a session in the protocol's form.
type Session struct {
	ID    string        `json:"id"`
	Owner service.Owner `json:"owner"`
	// AgentID is the agent of its turns, unless a turn names another.
	AgentID string `json:"agent_id,omitempty"`
	// CurrentAgentID is the agent that has the conversation: AgentID, until it hands over
	// or a turn names another.
	CurrentAgentID string                `json:"current_agent_id,omitempty"`
	State          service.SessionStatus `json:"state"`
	Labels         map[string]string     `json:"labels,omitempty"`
	// Metadata is the owner's metadata, without the values of headers.
	Metadata json.RawMessage `json:"metadata,omitempty"`
	// SnapshotID is the snapshot that its next turn continues from; empty before the first turn.
	SnapshotID string    `json:"snapshot_id,omitempty"`
	CreatedAt  time.Time `json:"created_at"`
	UpdatedAt  time.Time `json:"updated_at"`
	LastTurnAt time.Time `json:"last_turn_at,omitzero"`
}

// ActiveAt returns the time of the session's last turn, or of its creation.
func (s *Session) ActiveAt() time.Time {
	if s.LastTurnAt.IsZero() {
		return s.CreatedAt
	}
	return s.LastTurnAt
}

// CurrentAgent returns the agent that has the conversation; a server of an earlier version
// names only the session's own.
func (s *Session) CurrentAgent() string { return cmp.Or(s.CurrentAgentID, s.AgentID) }

// SessionList is a page of sessions.
type SessionList struct {
	Sessions []Session `json:"sessions"`
	// Next is the cursor of the next page; empty on the last one.
	Next string `json:"next,omitempty"`
}

// SessionQuery selects a page of sessions, most recently active first. State, AgentID and Labels
// restrict it if set.
type SessionQuery struct {
	State   service.SessionStatus
	AgentID string
	Labels  map[string]string
	Page    service.Page
}

// CreateSession is a request to create a session.
type CreateSession struct {
	// ID is the session's id; empty means a new one.
	ID       string            `json:"id,omitempty"`
	AgentID  string            `json:"agent_id,omitempty"`
	Labels   map[string]string `json:"labels,omitempty"`
	Metadata json.RawMessage   `json:"metadata,omitempty"`
	// IdempotencyKey makes the request repeatable: the same key returns the session created first.
	// It is sent in the header Idempotency-Key.
	IdempotencyKey string `json:"-"`
}

func (c *CreateSession) toRequest() service.CreateSession {
	return service.CreateSession{ID: c.ID, AgentID: c.AgentID, Labels: c.Labels, Metadata: c.Metadata, IdempotencyKey: c.IdempotencyKey}
}

// ImportSession is a request to create a session from an export.
type ImportSession struct {
	// ID is the session's id; empty means a new one. AgentID is its agent; empty means the export's
	// agent.
	ID, AgentID string
	// IdempotencyKey makes the request repeatable, as for CreateSession.
	IdempotencyKey string
}

func (i *ImportSession) toRequest() service.CreateSession {
	return service.CreateSession{ID: i.ID, AgentID: i.AgentID, IdempotencyKey: i.IdempotencyKey}
}

// isWhole reports whether a response is a session.
func (s *Session) isWhole() bool { return s.ID != "" }

func sessionOf(s *service.Session) Session {
	return Session{
		ID: event.ShownID(s.ID), Owner: s.Owner, AgentID: s.AgentID, CurrentAgentID: cmp.Or(s.CurrentAgentID, s.AgentID), State: s.State, Labels: s.Labels, Metadata: withoutHeaders(s.Metadata), SnapshotID: s.Tip,
		CreatedAt: s.CreatedAt, UpdatedAt: s.UpdatedAt, LastTurnAt: s.LastTurnAt,
	}
}
