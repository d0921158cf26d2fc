package store

import (
	"encoding/json"
	"time"
)

// Snapshot is the state of a session after a successful turn.
type Snapshot struct {
	ID        string
	SessionID string
	Owner     Owner
	// ParentID is the snapshot that the turn continued from; empty for the first.
	ParentID string
	// TurnID is the turn; empty for the start of a forked or imported session.
	TurnID string
	// AgentID is the agent that the turn was created for, CurrentAgentID the agent that had the
	// conversation at the end. They are empty if unknown.
	AgentID, CurrentAgentID string
	// FinishReason is why the last answer of the turn ended.
	FinishReason string
	// Custom is the application's state, State the plugins' state, and Artifacts the session's list
	// of artifacts, each as JSON; nil if none.
	Custom    json.RawMessage
	State     json.RawMessage
	Artifacts json.RawMessage
	CreatedAt time.Time
}

// NewSnapshot is a snapshot together with the messages it adds itself.
type NewSnapshot struct {
	Snapshot Snapshot
	Messages [][]byte
}

// SnapshotQuery selects a page of snapshots.
type SnapshotQuery struct {
	Scope     Scope
	SessionID string
	Page      Page
}

// SnapshotPage is a page of snapshots.
type SnapshotPage struct {
	Snapshots []*Snapshot
	// Next is where the next page begins; empty if absent.
	Next string
}

// Artifact is an item that a turn made and the session holds.
type Artifact struct {
	ID        string
	SessionID string
	TurnID    string
	Owner     Owner
	Name      string
	MediaType string
	// Size is the length of Data in bytes.
	Size      int
	Data      []byte
	Metadata  json.RawMessage
	CreatedAt time.Time
}

// JournalRow is a tool call of a turn.
type JournalRow struct {
	// Key is the call's unique idempotency key.
	Key string
	// Entry is the call and its outcome as JSON. Result is the part that the model sees, once it
	// exists.
	Entry  json.RawMessage
	Result json.RawMessage
}
