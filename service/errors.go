package service

import (
	"errors"
	"fmt"

	"github.com/agentruntime/agentruntime/service/internal/work"
	"github.com/agentruntime/agentruntime/store"
)

// NotFoundError reports that something does not exist, or that the caller may not
// see it. It is store.ErrNotFound.
type NotFoundError struct {
	// Kind is session, turn, interaction, snapshot or artifact.
	Kind string
	ID   string
}

// Error names what was asked for.
func (e *NotFoundError) Error() string { return fmt.Sprintf("%s %q not found", e.Kind, e.ID) }

// Unwrap returns store.ErrNotFound.
func (*NotFoundError) Unwrap() error { return store.ErrNotFound }

// nameNotFound gives a not found of the store the name of what was asked for.
func nameNotFound(err error, kind, id string) error {
	if errors.Is(err, store.ErrNotFound) {
		return &NotFoundError{Kind: kind, ID: id}
	}
	return err
}

// ErrRevisionGone reports that a revision is neither in memory nor in the store, or
// cannot be made any more.
var ErrRevisionGone = work.ErrRevisionGone

// InvalidError reports an invalid request.
type InvalidError struct {
	// Field is the part of the request that is wrong.
	Field   string
	Problem string
}

// Error names the field and the problem.
func (e *InvalidError) Error() string { return fmt.Sprintf("%s: %s", e.Field, e.Problem) }

// The codes of turns that the service ends, besides those of package backend.
const (
	// CodeInteractionTimeout is a turn that waited too long for a person.
	CodeInteractionTimeout = "interaction_timeout"
	// CodePoison is a turn over which too many workers died.
	CodePoison = work.CodePoison
	// CodeUnresolved is a turn whose agent did not resolve any more when it was
	// to go on.
	CodeUnresolved = work.CodeUnresolved
	// CodeRevisionGone is a turn whose revision was gone when it was to go on.
	CodeRevisionGone = work.CodeRevisionGone
	// CodeWorkspace is a turn of a session whose workspace is not on this machine.
	CodeWorkspace = work.CodeWorkspace
	// CodeInvalidText is a turn of which a text cannot be stored, like the name of
	// an artifact with a NUL.
	CodeInvalidText = work.CodeInvalidText
	// CodeMemory is a turn that was ended because the process used too much memory.
	CodeMemory = work.CodeMemory
)
