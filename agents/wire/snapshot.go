package wire

import (
	"encoding/json"
	"time"
)

// SessionState is the state of a conversation. Messages never contain rendered prompts. Custom is
// the application's state.
type SessionState struct {
	SessionID string          `json:"sessionId,omitempty"`
	Messages  []Message       `json:"messages,omitempty"`
	Custom    json.RawMessage `json:"custom,omitempty"`
	Artifacts []Artifact      `json:"artifacts,omitempty"`
	_         struct{}        `jsonschema:"State of a conversation. The client keeps it if the server does not."`
}

// SnapshotStatus is the progress of a snapshot's turn.
type SnapshotStatus string

// The statuses of snapshots. SnapshotExpired is computed when reading a pending snapshot whose
// worker died; it is never stored.
const (
	SnapshotPending   SnapshotStatus = "pending"
	SnapshotCompleted SnapshotStatus = "completed"
	SnapshotAborted   SnapshotStatus = "aborted"
	SnapshotFailed    SnapshotStatus = "failed"
	SnapshotExpired   SnapshotStatus = "expired"
)

// FinishReason is why work ended.
type FinishReason string

// The finish reasons. The first group comes from the model unchanged, the second from the agent.
const (
	FinishStop        FinishReason = "stop"
	FinishLength      FinishReason = "length"
	FinishBlocked     FinishReason = "blocked"
	FinishInterrupted FinishReason = "interrupted"
	FinishOther       FinishReason = "other"
	FinishUnknown     FinishReason = "unknown"

	FinishAborted  FinishReason = "aborted"
	FinishDetached FinishReason = "detached"
	FinishFailed   FinishReason = "failed"
)

// Snapshot is a session's state after a turn, or the placeholder of a running detached turn. State
// is null while it is pending.
type Snapshot struct {
	SnapshotID   string         `json:"snapshotId"`
	SessionID    string         `json:"sessionId,omitempty"`
	ParentID     string         `json:"parentId,omitempty"`
	CreatedAt    time.Time      `json:"createdAt"`
	UpdatedAt    time.Time      `json:"updatedAt,omitzero"`
	HeartbeatAt  time.Time      `json:"heartbeatAt,omitzero"`
	Status       SnapshotStatus `json:"status,omitempty" enum:"pending,completed,aborted,failed,expired"`
	FinishReason FinishReason   `json:"finishReason,omitempty" enum:"stop,length,blocked,interrupted,other,unknown,aborted,detached,failed"`
	Error        *Error         `json:"error,omitempty"`
	State        *SessionState  `json:"state" null:"true"`
}

// UnmarshalJSON reads a snapshot. One without a status is completed.
func (s *Snapshot) UnmarshalJSON(raw []byte) error {
	type plain Snapshot
	var read plain
	if err := json.Unmarshal(raw, &read); err != nil {
		return err
	}
	if read.Status == "" {
		read.Status = SnapshotCompleted
	}
	*s = Snapshot(read)
	return nil
}
