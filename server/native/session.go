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
	ID      string        `json:"id"`
	Owner   service.Owner `json:"owner"`
	AgentID string        `json:"agent_id,omitempty" jsonschema:"Agent of the session's turns, unless a turn names another."`
	// CurrentAgentID is the agent that has the conversation: AgentID, until it hands over
	// or a turn names another.
	CurrentAgentID string                `json:"current_agent_id,omitempty" jsonschema:"Agent that has the conversation: agent_id, until it hands over or a turn names another."`
	State          service.SessionStatus `json:"state" enum:"active,archived"`
	Labels         map[string]string     `json:"labels,omitempty"`
	Metadata       json.RawMessage       `json:"metadata,omitempty" type:"object" jsonschema:"The owner's metadata, without the values of headers."`
	// SnapshotID is empty before the first turn.
	SnapshotID string    `json:"snapshot_id,omitempty" jsonschema:"Snapshot that the next turn continues from."`
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
	// Next is empty on the last page.
	Next string `json:"next,omitempty" jsonschema:"Value of after for the next page."`
}

// SessionQuery selects a page of sessions, most recently active first. State, AgentID and Labels
// restrict it if set.
type SessionQuery struct {
	State   service.SessionStatus `query:"state" enum:"active,archived" jsonschema:"Only sessions in this state."`
	AgentID string                `query:"agent_id" jsonschema:"Only sessions of this agent."`
	Labels  map[string]string     `query:"label" pattern:"^[^=]+=" jsonschema:"Only sessions with this label, as name=value."`
	Page    service.Page
}

// CreateSession is a request to create a session.
type CreateSession struct {
	// ID is the session's id; empty means a new one.
	ID       string            `json:"id,omitempty" minLength:"1" maxLength:"255"`
	AgentID  string            `json:"agent_id,omitempty"`
	Labels   map[string]string `json:"labels,omitempty" maxProperties:"64" additionalProperties:"{'type':'string','maxLength':255}"`
	Metadata json.RawMessage   `json:"metadata,omitempty" type:"object"`
	// IdempotencyKey makes the request repeatable: the same key returns the session created first.
	IdempotencyKey string `json:"-" header:"Idempotency-Key" maxLength:"255" jsonschema:"Key that makes the request safe to repeat."`
}

func (c *CreateSession) toRequest() service.CreateSession {
	return service.CreateSession{ID: c.ID, AgentID: c.AgentID, Labels: c.Labels, Metadata: c.Metadata, IdempotencyKey: c.IdempotencyKey}
}

// ImportSession is a request to create a session from an export.
type ImportSession struct {
	ID      string `query:"id" minLength:"1" maxLength:"255" jsonschema:"Id of the session. Defaults to a new one."`
	AgentID string `query:"agent_id" jsonschema:"Agent of the session. Defaults to the agent of the export."`
	// IdempotencyKey makes the request repeatable, as for CreateSession.
	IdempotencyKey string `header:"Idempotency-Key" maxLength:"255" jsonschema:"Key that makes the request safe to repeat."`
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

// sessionID is the session in the path of a request.
type sessionID struct {
	Session string `json:"-" path:"session" jsonschema:"The id of the session."`
}
