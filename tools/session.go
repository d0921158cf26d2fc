package tools

import (
	"encoding/json"
	"errors"
)

// Session is what a tool or a hook sees of the session that its turn belongs
// to, and how it changes it. What it changes is kept when the turn succeeds. It
// is safe for concurrent use.
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
	// UpdateCustom changes the application's state. change is handed a copy and
	// returns what is to take its place; it is called again when somebody else
	// changed the state meanwhile, and no lock is held while it runs. Its error
	// leaves the state as it is.
	UpdateCustom(change func(custom json.RawMessage) (json.RawMessage, error)) error
	// KeepArtifact keeps something with the session and returns its id. One that
	// has the name of another takes its place; those without a name are added. An
	// error reports that it is not kept.
	KeepArtifact(a Artifact) (id string, err error)
	// Artifacts returns what the session holds, in order, without the data.
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
