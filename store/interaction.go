package store

import (
	"encoding/json"
	"time"
)

// InteractionState is the state of an interaction.
type InteractionState string

// The states of an interaction: pending, and then one of the others.
const (
	InteractionPending  InteractionState = "pending"
	InteractionAnswered InteractionState = "resolved"
	InteractionCanceled InteractionState = "canceled"
)

// Interaction is a wait for an external answer.
type Interaction struct {
	// ID is unique within its turn.
	ID        string
	TurnID    string
	SessionID string
	Owner     Owner
	// AgentID is the agent of the turn. Only Interactions sets it.
	AgentID string
	State   InteractionState
	// Action names the requested action. Request is the whole request as JSON.
	Action  string
	Request json.RawMessage
	// Answer is the answer as JSON, and AnsweredBy the subject that gave it;
	// empty for the runtime itself.
	Answer     json.RawMessage
	AnsweredBy string
	// ExpiresAt is when the runtime stops waiting; zero means never.
	CreatedAt, ExpiresAt, AnsweredAt time.Time
}

// InteractionQuery asks for interactions.
type InteractionQuery struct {
	Scope Scope
	// TurnID, SessionID and State restrict the interactions if set.
	TurnID    string
	SessionID string
	State     InteractionState
	// ExpiredBy selects the interactions that expire at this time or earlier.
	ExpiredBy time.Time
	// Limit is the maximum number; 0 means MaxPage.
	Limit int
}

// Answer answers an interaction.
type Answer struct {
	Scope  Scope
	TurnID string
	ID     string
	Answer json.RawMessage
	By     string
	Now    time.Time
}
