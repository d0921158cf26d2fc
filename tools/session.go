package tools

import (
	"encoding/json"
	"errors"
)

// Session is the view that a tool or hook has of its turn's session, and changes it. Changes are
// kept if the turn succeeds. It is safe for concurrent use.
type Session interface {
	// SnapshotID is the id under which the turn's snapshot will be kept if the
	// turn succeeds; it is reserved when the turn begins, so that things outside
	// can be named after it. Empty when nothing is kept.
	SnapshotID() string
	// ParentSnapshotID is the snapshot that the turn continues from, or empty if
	// none.
	ParentSnapshotID() string
	// Custom returns a copy of the application's own state of the session, a JSON
	// value, or nil if none.
	Custom() json.RawMessage
	// UpdateCustom changes the application's state. change receives a copy and returns the new
	// state; it is called again if the state changed in the meantime, and runs without a lock. If
	// it fails, the state does not change.
	UpdateCustom(change func(custom json.RawMessage) (json.RawMessage, error)) error
	// KeepArtifact stores an artifact with the session and returns its id. It replaces an
	// artifact with the same name; artifacts without a name are added. An error means that it was
	// not stored.
	KeepArtifact(a Artifact) (id string, err error)
	// Artifacts returns the session's artifacts in order, without data.
	Artifacts() []Artifact
}

// Artifact is something that a turn made and that does not belong into the
// conversation, such as a file, or the whole of a tool result that was cut.
type Artifact struct {
	// ID identifies the artifact, in all sessions; empty makes a new one.
	ID        string `json:"id"`
	Name      string `json:"name,omitempty"`
	MediaType string `json:"media_type,omitempty"`
	// Size is how many bytes Data has.
	Size int    `json:"size"`
	Data []byte `json:"data,omitempty"`
	// Metadata is a JSON value that is kept with it.
	Metadata json.RawMessage `json:"metadata,omitempty"`
}

// ErrNoSession is returned by operations that need a session when the turn has no
// session.
var ErrNoSession = errors.New("there is no session to keep it in")

// NoSession is the Session of a call that belongs to none: it holds nothing and
// keeps nothing.
var NoSession Session = noSession{}

type noSession struct{}

// SnapshotID returns "".
func (noSession) SnapshotID() string { return "" }

// ParentSnapshotID returns "".
func (noSession) ParentSnapshotID() string { return "" }

// Custom returns nil.
func (noSession) Custom() json.RawMessage { return nil }

// UpdateCustom returns ErrNoSession.
func (noSession) UpdateCustom(func(json.RawMessage) (json.RawMessage, error)) error {
	return ErrNoSession
}

// KeepArtifact returns ErrNoSession.
func (noSession) KeepArtifact(Artifact) (string, error) { return "", ErrNoSession }

// Artifacts returns nil.
func (noSession) Artifacts() []Artifact { return nil }
