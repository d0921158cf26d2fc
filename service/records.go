package service

import "github.com/agentruntime/agentruntime/store"

// The stored records and the queries for them. Packages that serve the service use these names,
// because they do not use the store.
type (
	// Owner is the owner of a record.
	Owner = store.Owner
	// Session is a stored session.
	Session = store.Session
	// SessionStatus decides whether turns may be added to a session.
	SessionStatus = store.SessionState
	// SessionPatch is a change of a session.
	SessionPatch = store.SessionPatch
	// Status is the status of a turn.
	Status = store.Status
	// InteractionState is the state of an interaction.
	InteractionState = store.InteractionState
	// Artifact is data that a turn made.
	Artifact = store.Artifact
	// Webhook notifies an external receiver about a turn.
	Webhook = store.Webhook
	// Revocation is a revoked access token.
	Revocation = store.Revocation

	// Feedback is a verdict about an ended turn.
	Feedback = store.Feedback
	// FeedbackQuery selects feedback.
	FeedbackQuery = store.FeedbackQuery

	// Page is a part of a list.
	Page = store.Page
	// SessionQuery asks for sessions.
	SessionQuery = store.SessionQuery
	// SessionPage is one page of sessions.
	SessionPage = store.SessionPage
	// TurnQuery asks for turns.
	TurnQuery = store.TurnQuery
	// InteractionQuery asks for interactions.
	InteractionQuery = store.InteractionQuery
	// WebhookQuery asks for webhooks.
	WebhookQuery = store.WebhookQuery
)

// MaxPage limits the records of a page.
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

// Errors of requests that conflict with stored records.
type (
	// ExistsError reports that an id is taken.
	ExistsError = store.ExistsError
	// KeyConflictError reports that an idempotency key was used for another
	// request.
	KeyConflictError = store.KeyConflictError
	// BusyError reports that a session has a live turn.
	BusyError = store.BusyError
	// StateError reports that the state of a record rules the request out.
	StateError = store.StateError
	// ConflictError reports that an interaction already has another answer.
	ConflictError = store.ConflictError
	// LimitError reports that the maximum number of records is reached.
	LimitError = store.LimitError
)

// Errors of the store.
var (
	// ErrNotFound means that a record does not exist or is hidden from the caller.
	ErrNotFound = store.ErrNotFound
	// ErrCursor reports an invalid cursor.
	ErrCursor = store.ErrCursor
	// ErrText reports a text that cannot be stored.
	ErrText = store.ErrText
	// ErrUnavailable means that the store is currently unreachable.
	ErrUnavailable = store.ErrUnavailable
	// ErrNotWritable means that the store currently rejects writes.
	ErrNotWritable = store.ErrNotWritable
)
