package service

import "github.com/agentruntime/agentruntime/store"

// The records as they are kept, and the queries for them. These are the names by
// which those who serve the service know them: they do not use the store.
type (
	// Owner is whom a record belongs to.
	Owner = store.Owner
	// Session is a session as it is kept.
	Session = store.Session
	// SessionStatus says whether turns may be added to a session.
	SessionStatus = store.SessionState
	// SessionPatch is a change of a session.
	SessionPatch = store.SessionPatch
	// Status is how far a turn is.
	Status = store.Status
	// InteractionState says whether an interaction is answered.
	InteractionState = store.InteractionState
	// Artifact is data that a turn made.
	Artifact = store.Artifact
	// Webhook tells a receiver outside what happens to a turn.
	Webhook = store.Webhook
	// Revocation is an access token that is not good any more.
	Revocation = store.Revocation

	// Page is a part of a list.
	Page = store.Page
	// SessionQuery asks for sessions.
	SessionQuery = store.SessionQuery
	// TurnQuery asks for turns.
	TurnQuery = store.TurnQuery
	// InteractionQuery asks for interactions.
	InteractionQuery = store.InteractionQuery
	// WebhookQuery asks for webhooks.
	WebhookQuery = store.WebhookQuery
)

// MaxPage bounds how many records a page has.
const MaxPage = store.MaxPage

// The values of Status.
const (
	Pending   = store.Pending
	Running   = store.Running
	Waiting   = store.Waiting
	Succeeded = store.Succeeded
	Failed    = store.Failed
	Canceled  = store.Canceled
)

// The values of SessionStatus.
const (
	SessionActive   = store.SessionActive
	SessionArchived = store.SessionArchived
)

// The values of InteractionState.
const (
	InteractionPending  = store.InteractionPending
	InteractionAnswered = store.InteractionAnswered
	InteractionCanceled = store.InteractionCanceled
)

// The errors of requests that do not go together with what is kept.
type (
	// ExistsError says that an id is taken.
	ExistsError = store.ExistsError
	// KeyConflictError says that an idempotency key was used for another request.
	KeyConflictError = store.KeyConflictError
	// BusyError says that a session has a live turn.
	BusyError = store.BusyError
	// StateError says that the state of a record rules the request out.
	StateError = store.StateError
	// ConflictError says that an interaction has another answer already.
	ConflictError = store.ConflictError
	// LimitError says that there are as many records as there may be.
	LimitError = store.LimitError
)

// The errors of the store.
var (
	// ErrNotFound says that there is no such record, or that the caller does not
	// see it.
	ErrNotFound = store.ErrNotFound
	// ErrCursor says that a page begins where none does.
	ErrCursor = store.ErrCursor
	// ErrText says that a text cannot be kept.
	ErrText = store.ErrText
	// ErrUnavailable says that the store cannot be reached now.
	ErrUnavailable = store.ErrUnavailable
	// ErrNotWritable says that the store takes no writes now.
	ErrNotWritable = store.ErrNotWritable
)
