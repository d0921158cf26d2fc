package store

import (
	"encoding/json"
	"time"
)

// SessionState is whether a session accepts new turns.
type SessionState string

// The states of a session, which alternates between active and archived. A starting session is
// being prepared: it does not count as a session yet, but holds its id and idempotency key. It
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
	// Metadata is a JSON object that the owner keeps with the session, or nil if
	// none.
	Metadata json.RawMessage
	// Tip is the id of the snapshot of the latest successful turn; empty before
	// there is one.
	Tip string
	// ActiveAt is when the session was made or had a turn last: what listings are
	// ordered by. LastTurnAt is zero before there was a turn.
	CreatedAt, UpdatedAt, ActiveAt, LastTurnAt time.Time
}

// NewSession asks for a session.
type NewSession struct {
	Session Session
	// Key is scoped to the owner.
	Key Key
	// Base is the initial chain of a forked or imported session, oldest first. The last snapshot
	// is the tip.
	Base []NewSnapshot
	// Artifacts are those that the snapshots of Base refer to.
	Artifacts []*Artifact
}

// SessionPatch changes a session; nil fields leave it as it is.
type SessionPatch struct {
	State *SessionState
	// Labels and Metadata replace all there are.
	Labels   *map[string]string
	Metadata *json.RawMessage
	// IfMetadata is the metadata that the session must still have; the error is
	// ErrChanged otherwise.
	IfMetadata *json.RawMessage
	// AgentID also takes the conversation back from the current agent.
	AgentID *string
	// Tip moves the session to another one of its snapshots; the error is a
	// *BusyError while a turn of it has started, ErrNotFound for a snapshot that
	// is not the session's.
	// The agent that had the conversation then gets it back.
	Tip *string
	Now time.Time
}

// SessionQuery asks for a page of sessions.
type SessionQuery struct {
	Scope Scope
	// State, AgentID and Labels restrict the sessions where they are set; each
	// of Labels must be there with its value.
	State   SessionState
	AgentID string
	Labels  map[string]string
	Page    Page
}

// SessionPage is a page of sessions.
type SessionPage struct {
	Sessions []*Session
	// Next is where the next page begins, or empty if none.
	Next string
}
