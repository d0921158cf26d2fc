package service

import (
	"errors"
	"fmt"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/service/internal/work"
	"github.com/agentruntime/agentruntime/store"
)

// NotFoundError means that something does not exist or is hidden from the caller. It is
// store.ErrNotFound.
type NotFoundError struct {
	// Kind is session, turn, interaction, snapshot or artifact.
	Kind string
	ID   string
}

// Error names the missing record.
func (e *NotFoundError) Error() string { return fmt.Sprintf("%s %q not found", e.Kind, e.ID) }

// Unwrap returns store.ErrNotFound.
func (*NotFoundError) Unwrap() error { return store.ErrNotFound }

// nameNotFound adds the requested kind and id to a not-found error of the store.
func nameNotFound(err error, kind, id string) error {
	if errors.Is(err, store.ErrNotFound) {
		return &NotFoundError{Kind: kind, ID: id}
	}
	return err
}

// ErrRevisionGone means that a revision is neither in memory nor in the store, or can no longer be
// built.
var ErrRevisionGone = work.ErrRevisionGone

// PublishedBuild returns the name by which Revisions.Acquire knows the revision of a published
// document, given the document's hash.
func PublishedBuild(document string) string { return work.PublishedBuild(document) }

// PublishedDocument returns the document hash in a name that PublishedBuild returned.
func PublishedDocument(build string) (document string, ok bool) {
	return work.PublishedDocument(build)
}

// InvalidError reports an invalid request.
type InvalidError struct {
	// Field is the invalid part of the request.
	Field   string
	Problem string
}

// Error names the field and the problem.
func (e *InvalidError) Error() string { return diag.Sentence(e.Field, e.Problem) }

// Codes of turns that the service ends, in addition to the codes of package backend.
const (
	// CodeInteractionTimeout means that the turn waited too long for a person.
	CodeInteractionTimeout = "interaction_timeout"
	// CodePoison means that too many workers died while running the turn.
	CodePoison = work.CodePoison
	// CodeUnresolved means that the turn's agent no longer resolved when the turn was resumed.
	CodeUnresolved = work.CodeUnresolved
	// CodeRevisionGone means that the turn's revision no longer existed when the turn was
	// resumed.
	CodeRevisionGone = work.CodeRevisionGone
	// CodeWorkspace means that the workspace of the turn's session is not on this machine.
	CodeWorkspace = work.CodeWorkspace
	// CodeInvalidText means that a text of the turn cannot be stored, such as an artifact name with
	// a NUL.
	CodeInvalidText = work.CodeInvalidText
	// CodeMemory means that the turn was ended because the process used too much memory.
	CodeMemory = work.CodeMemory
)
