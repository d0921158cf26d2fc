package store

import (
	"encoding/json"
	"time"
)

// SessionState determines whether a session accepts new turns.
type SessionState string

// The states of a session, which alternates between active and archived. A starting session is
// being prepared: it does not count as a session yet, but it holds its id and idempotency key. It
// then becomes active or is deleted.
const (
	SessionStarting SessionState = "starting"
	SessionActive   SessionState = "active"
	SessionArchived SessionState = "archived"
)

// Session is a conversation.
type Session struct {
	ID      string
	Owner   Owner
	AgentID string
	// CurrentAgentID is the agent that has the conversation: the agent that ended the turn of
	// Tip. If it is empty, AgentID has the conversation.
	CurrentAgentID string
	State          SessionState
	// Labels are for finding the session again.
	Labels map[string]string
	// Metadata is a JSON object that the owner stores with the session; nil if none.
	Metadata json.RawMessage
	// Tip is the id of the snapshot of the latest successful turn; empty if absent.
	Tip string
	// ActiveAt is when the session was created or last had a turn; listings are ordered by it.
	// LastTurnAt is zero before the first turn.
	CreatedAt, UpdatedAt, ActiveAt, LastTurnAt time.Time
}

// NewSession describes a session to create.
type NewSession struct {
	Session Session
	// Key is scoped to the owner.
	Key Key
	// Base is the initial chain of a forked or imported session, oldest first. The last snapshot
	// is the tip.
	Base []NewSnapshot
	// Artifacts are the artifacts that the snapshots of Base refer to.
	Artifacts []*Artifact
}

// SessionPatch changes a session; nil fields are left unchanged.
type SessionPatch struct {
	State *SessionState
	// Labels and Metadata replace all existing ones.
	Labels   *map[string]string
	Metadata *json.RawMessage
	// IfMetadata is the metadata that the session must have; otherwise the error is ErrChanged.
	IfMetadata *json.RawMessage
	// AgentID also takes the conversation back from the current agent.
	AgentID *string
	// Tip moves the session to another of its snapshots. The error is a *BusyError while a turn of
	// it has started, ErrNotFound for a snapshot of another session. The agent that had the
	// conversation then gets it back.
	Tip *string
	Now time.Time
}

// SessionQuery selects a page of sessions.
type SessionQuery struct {
	Scope Scope
	// State, AgentID and Labels restrict the sessions if set; a session must have all Labels with
	// their values.
	State   SessionState
	AgentID string
	Labels  map[string]string
	Page    Page
}

// SessionPage is a page of sessions.
type SessionPage struct {
	Sessions []*Session
	// Next is where the next page begins; empty if absent.
	Next string
}
