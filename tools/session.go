package tools

import (
	"encoding/json"
	"errors"
)

// Session lets a tool or hook read and change its turn's session. Changes are kept if the turn
// succeeds. It is safe for concurrent use.
type Session interface {
	// SnapshotID is the id of the turn's snapshot if the turn succeeds. It is reserved when the
	// turn begins, so that external objects can be named after it. It is empty if nothing is kept.
	SnapshotID() string
	// ParentSnapshotID is the snapshot that the turn continues from; empty if none.
	ParentSnapshotID() string
	// Custom returns a copy of the application's own state of the session, a JSON value; nil if
	// none.
	Custom() json.RawMessage
	// UpdateCustom changes the application's state. change receives a copy and returns the new
	// state; it is called again if the state changed in the meantime, and runs without a lock. If
	// it fails, the state does not change.
	UpdateCustom(change func(custom json.RawMessage) (json.RawMessage, error)) error
	// KeepArtifact stores an artifact with the session and returns its id. It replaces an artifact
	// with the same name; artifacts without a name are added. An error means that the artifact was
	// not stored.
	KeepArtifact(a Artifact) (id string, err error)
	// Artifacts returns the session's artifacts in order, without data.
	Artifacts() []Artifact
}

// Artifact is an item that a turn made and that does not belong in the conversation, such as a
// file, or the full text of a tool result that was cut.
type Artifact struct {
	// ID identifies the artifact across all sessions; empty creates a new one.
	ID        string `json:"id"`
	Name      string `json:"name,omitempty"`
	MediaType string `json:"media_type,omitempty"`
	// Size is how many bytes Data has.
	Size int    `json:"size"`
	Data []byte `json:"data,omitempty"`
	// Metadata is a JSON value stored with the artifact.
	Metadata json.RawMessage `json:"metadata,omitempty"`
}

// ErrNoSession is returned by operations that need a session if the turn has none.
var ErrNoSession = errors.New("there is no session to keep it in")

// NoSession is the Session of a call without a session: it is empty and keeps nothing.
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
