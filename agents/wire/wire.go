// Package wire defines the JSON types of the agents API: the requests to /agents/{name} and its
// companions, and their responses.
//
// Servers decode with DecodeInit, DecodeInput, DecodeGetSnapshot and DecodeAbort, which reject
// unknown fields. Clients decode with encoding/json, which ignores them, so that a client
// understands newer servers.
package wire

import "encoding/json"

// Request is the body of a request. Init is allowed only for running a turn.
type Request struct {
	Data json.RawMessage `json:"data,omitempty"`
	Init json.RawMessage `json:"init,omitempty"`
}

// Reply is the body of a response with status 200. T is Output, Snapshot or AbortResponse.
type Reply[T any] struct {
	Result T `json:"result"`
}

// Frame is one frame of a stream: a chunk, or the final result or error.
type Frame struct {
	Message *Chunk   `json:"message,omitempty"`
	Result  *Output  `json:"result,omitempty"`
	Error   *Error   `json:"error,omitempty"`
	_       struct{} `jsonschema:"One frame of a stream. Exactly one field is set."`
}

// Init selects the conversation that a turn belongs to. The zero value starts a new one.
type Init struct {
	SessionID  string        `json:"sessionId,omitempty"`
	SnapshotID string        `json:"snapshotId,omitempty"`
	State      *SessionState `json:"state,omitempty"`
}

// Input is one turn: a message, answers to the previous turn's interrupts, or both. Detach lets the
// turn continue without its caller.
type Input struct {
	Message *Message `json:"message,omitempty"`
	Resume  *Resume  `json:"resume,omitempty"`
	Detach  bool     `json:"detach,omitempty" jsonschema:"Whether to respond without waiting for the turn."`
}

// Resume settles the tool requests that interrupted a turn. Respond holds parts with a
// toolResponse, Restart parts with a toolRequest to run again.
type Resume struct {
	Respond []Part `json:"respond,omitempty"`
	Restart []Part `json:"restart,omitempty"`
}

// IsEmpty reports whether it settles nothing. r may be nil.
func (r *Resume) IsEmpty() bool {
	return r == nil || len(r.Respond) == 0 && len(r.Restart) == 0
}

// GetSnapshotRequest requests a snapshot by its id, or the latest one of a session.
type GetSnapshotRequest struct {
	SnapshotID string `json:"snapshotId,omitempty"`
	SessionID  string `json:"sessionId,omitempty"`
}

// AbortRequest requests the abort of a pending snapshot's turn.
type AbortRequest struct {
	SnapshotID string `json:"snapshotId"`
}

// AbortResponse has the status of the snapshot after the attempt to abort it.
type AbortResponse struct {
	SnapshotID string         `json:"snapshotId"`
	Status     SnapshotStatus `json:"status,omitempty" enum:"pending,completed,aborted,failed,expired"`
}

// Output is the result of an invocation. State is set only if the client keeps it, SnapshotID only
// if the server does. A failed or detached output has neither Message nor Artifacts.
type Output struct {
	SessionID    string        `json:"sessionId,omitempty"`
	SnapshotID   string        `json:"snapshotId,omitempty"`
	State        *SessionState `json:"state,omitempty"`
	Message      *Message      `json:"message,omitempty"`
	Artifacts    []Artifact    `json:"artifacts,omitempty"`
	FinishReason FinishReason  `json:"finishReason,omitempty" enum:"stop,length,blocked,interrupted,other,unknown,aborted,detached,failed"`
	Error        *Error        `json:"error,omitempty"`
}

// Chunk is a part of a turn's stream. Exactly one field is set.
type Chunk struct {
	ModelChunk  *ModelChunk `json:"modelChunk,omitempty"`
	Artifact    *Artifact   `json:"artifact,omitempty"`
	CustomPatch []PatchOp   `json:"customPatch,omitempty"`
	TurnEnd     *TurnEnd    `json:"turnEnd,omitempty"`
	_           struct{}    `jsonschema:"A part of a turn. Exactly one field is set."`
}

// ModelChunk is a piece of a message. Pieces of one message have the same index.
type ModelChunk struct {
	Role       Role            `json:"role,omitempty" enum:"model,tool"`
	Index      *int            `json:"index,omitempty"`
	Content    Parts           `json:"content"`
	Custom     json.RawMessage `json:"custom,omitempty"`
	Aggregated bool            `json:"aggregated,omitempty"`
}

// TurnEnd ends a turn. Both fields are optional.
type TurnEnd struct {
	SnapshotID   string       `json:"snapshotId,omitempty"`
	FinishReason FinishReason `json:"finishReason,omitempty" enum:"stop,length,blocked,interrupted,other,unknown,aborted,detached,failed"`
}

// PatchOp is an operation of a JSON Patch (RFC 6902). Its value is always written, to distinguish
// a null value from an absent one.
type PatchOp struct {
	Op    string          `json:"op"`
	Path  string          `json:"path"`
	From  string          `json:"from,omitempty"`
	Value json.RawMessage `json:"value" optional:"true"`
}

// Metadata describes an agent, under metadata.agent of its descriptor. StateSchema
// is absent where custom state may be anything.
type Metadata struct {
	StateManagement StateManagement `json:"stateManagement"`
	Abortable       bool            `json:"abortable"`
	StateSchema     json.RawMessage `json:"stateSchema,omitempty"`
}

// StateManagement names the keeper of the sessions' state.
type StateManagement string

// The two values of StateManagement.
const (
	StateServer StateManagement = "server"
	StateClient StateManagement = "client"
)
