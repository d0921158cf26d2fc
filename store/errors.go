package store

import (
	"errors"
	"fmt"

	"github.com/agentruntime/agentruntime/event"
)

// ErrNotFound is returned if a record does not exist or the caller may not see it; callers cannot
// tell which.
var ErrNotFound = errors.New("not found")

// ErrUnavailable reports that the store's database cannot be reached or the connection was lost.
// In the latter case, it is unknown whether the operation was performed.
var ErrUnavailable = errors.New("the store cannot be reached")

// ErrNotWritable reports that the store can be read but rejects writes for now: its disk is full or
// failing, or its database is read-only, like a replica. Nothing was changed, and a retry may
// succeed. It wraps ErrUnavailable.
var ErrNotWritable error = notWritable{}

type notWritable struct{}

func (notWritable) Error() string { return "the store takes no writes" }

func (notWritable) Unwrap() error { return ErrUnavailable }

// ErrChanged reports that another request changed a record first.
var ErrChanged = errors.New("another request changed it first")

// ErrText reports that a text such as an id, a label or a name contains a NUL or is not UTF-8.
// Every store rejects it, so a retry does not help. Payloads are bytes and may contain anything.
var ErrText = errors.New("a text holds a NUL byte or is not UTF-8")

// ErrHeld reports that a turn cannot be claimed now. It is queued again.
var ErrHeld = errors.New("the turn is held back")

// ExistsError reports that an id is taken.
type ExistsError struct {
	// Kind is session or turn.
	Kind string
	ID   string
}

// Error names the record.
func (e *ExistsError) Error() string { return fmt.Sprintf("%s %s exists already", e.Kind, e.ID) }

// KeyConflictError reports that a key was used for another request.
type KeyConflictError struct {
	Key string
	// ID is the record that the other request created.
	ID string
}

// Error names the key.
func (e *KeyConflictError) Error() string {
	return fmt.Sprintf("the idempotency key %q was used for another request", e.Key)
}

// BusyError reports that a session has a live turn.
type BusyError struct {
	SessionID string
	// TurnID is that turn.
	TurnID string
}

// Error names the session and the turn.
func (e *BusyError) Error() string {
	return fmt.Sprintf("session %s is busy with turn %s", event.ShownID(e.SessionID), event.ShownID(e.TurnID))
}

// StateError reports that the state of a record does not allow an operation.
type StateError struct {
	// Kind is session, turn or interaction.
	Kind string
	ID   string
	// State is the current state, and Want the requested one.
	State string
	Want  string
}

// Error names the record and its state.
func (e *StateError) Error() string {
	return fmt.Sprintf("%s %s is %s: it cannot be %s", e.Kind, event.ShownID(e.ID), e.State, e.Want)
}

// ConflictError reports that an interaction already has a different answer.
type ConflictError struct {
	TurnID, ID string
}

// Error names the interaction.
func (e *ConflictError) Error() string {
	return fmt.Sprintf("interaction %s of turn %s has another answer already", e.ID, event.ShownID(e.TurnID))
}

// FencedError reports that a turn, or one of its webhooks, no longer belongs to the worker: it was
// taken over or has ended.
type FencedError struct {
	TurnID string
	// WebhookID is the id of the webhook; empty when the turn was lost.
	WebhookID string
	Fence     int64
}

// Error names the lost turn or webhook.
func (e *FencedError) Error() string {
	if e.WebhookID != "" {
		return fmt.Sprintf("webhook %s of turn %s no longer belongs to this worker (fence %d)", e.WebhookID, e.TurnID, e.Fence)
	}
	return fmt.Sprintf("turn %s no longer belongs to this worker (fence %d)", e.TurnID, e.Fence)
}

// LimitError reports that a turn has the maximum number of records of a kind.
type LimitError struct {
	TurnID string
	// Kind names the records in the plural, such as webhooks.
	Kind string
	// Limit is the maximum.
	Limit int
}

// Error names the turn and the limit.
func (e *LimitError) Error() string {
	return fmt.Sprintf("turn %s already has %d %s, the maximum", e.TurnID, e.Limit, e.Kind)
}

// LockedError reports that another process uses the store, which only one process may use at a
// time.
type LockedError struct {
	Path string
	// PID is the other process, when it is known.
	PID int
}

// Error describes what to do about it.
func (e *LockedError) Error() string {
	who := "another process"
	if e.PID > 0 {
		who = fmt.Sprintf("process %d", e.PID)
	}
	return fmt.Sprintf("%s is in use by %s: a SQLite file serves one process; to run several replicas, use PostgreSQL (store: {driver: postgres, dsn: …})", e.Path, who)
}

// SchemaError reports that the tables of a store do not have the version this program needs.
type SchemaError struct {
	// Kind is what holds the tables: "file" or "database".
	Kind string
	// Have is the version of the tables, or 0 if none exist. Want is the version this program
	// needs.
	Have, Want int64
}

// Error describes what to do about it.
func (e *SchemaError) Error() string {
	if e.Have > e.Want {
		return fmt.Sprintf("the %s has tables of version %d, and this program knows %d: run a newer release", e.Kind, e.Have, e.Want)
	}
	return fmt.Sprintf("the %s has tables of version %d, and this program needs %d: migrate it first", e.Kind, e.Have, e.Want)
}
