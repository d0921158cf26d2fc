package service

import (
	"errors"
	"fmt"

	"github.com/agentruntime/agentruntime/diag"
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

// ErrRevisionGone reports that a revision is neither in memory nor in the store, or
// cannot be made any more.
var ErrRevisionGone = work.ErrRevisionGone

// PublishedBuild returns how Revisions.Acquire names the revision of a published document, by the
// document's hash.
func PublishedBuild(document string) string { return work.PublishedBuild(document) }

// PublishedDocument returns the hash of the document that PublishedBuild named.
func PublishedDocument(build string) (document string, ok bool) {
	return work.PublishedDocument(build)
}

// InvalidError reports an invalid request.
type InvalidError struct {
	// Field is the part of the request that is wrong.
	Field   string
	Problem string
}

// Error names the field and the problem.
func (e *InvalidError) Error() string { return diag.Sentence(e.Field, e.Problem) }

// Codes of turns that the service ends, in addition to the codes of package backend.
const (
	// CodeInteractionTimeout is a turn that waited too long for a person.
	CodeInteractionTimeout = "interaction_timeout"
	// CodePoison is a turn over which too many workers died.
	CodePoison = work.CodePoison
	// CodeUnresolved means that the turn's agent no longer resolved when the turn was resumed.
	CodeUnresolved = work.CodeUnresolved
	// CodeRevisionGone means that the turn's revision no longer existed when the turn was
	// resumed.
	CodeRevisionGone = work.CodeRevisionGone
	// CodeWorkspace is a turn of a session whose workspace is not on this machine.
	CodeWorkspace = work.CodeWorkspace
	// CodeInvalidText is a turn of which a text cannot be stored, like the name of
	// an artifact with a NUL.
	CodeInvalidText = work.CodeInvalidText
	// CodeMemory is a turn that was ended because the process used too much memory.
	CodeMemory = work.CodeMemory
)
