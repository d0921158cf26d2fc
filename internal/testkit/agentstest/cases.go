package agentstest

import (
	_ "embed"
	"encoding/json"
	"testing"

	"github.com/agentruntime/agentruntime/agents/wire"
)

//go:embed cases.json
var cases []byte

// Case is a test case: an agent and the steps to perform with it.
type Case struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Agent       string `json:"agent"`
	Steps       []Step `json:"steps"`
}

// Step is one step of a case.
type Step struct {
	// Type is send, getSnapshotData, abort or waitUntilCompleted.
	Type       string            `json:"type"`
	Init       json.RawMessage   `json:"init"`
	Inputs     []json.RawMessage `json:"inputs"`
	SnapshotID string            `json:"snapshotId"`
	SessionID  string            `json:"sessionId"`

	// ModelResponses and StreamChunks are the results of the model calls.
	ModelResponses []ModelResponse     `json:"modelResponses"`
	StreamChunks   [][]wire.ModelChunk `json:"streamChunks"`

	ExpectChunks         []json.RawMessage `json:"expectChunks"`
	ExpectOutput         *Expectation      `json:"expectOutput"`
	ExpectSnapshot       *Expectation      `json:"expectSnapshot"`
	ExpectError          *wire.Error       `json:"expectError"`
	ExpectPreviousStatus json.RawMessage   `json:"expectPreviousStatus"`

	CaptureSnapshotID string `json:"captureSnapshotId"`
	CaptureSessionID  string `json:"captureSessionId"`
	CaptureState      string `json:"captureState"`
}

// ModelResponse is the answer of a model.
type ModelResponse struct {
	Message wire.Message `json:"message"`
}

// Expectation is the expected content of an output or a snapshot.
type Expectation struct {
	Message          json.RawMessage   `json:"message"`
	FinishReason     string            `json:"finishReason"`
	Status           string            `json:"status"`
	ParentID         string            `json:"parentId"`
	StateContains    json.RawMessage   `json:"stateContains"`
	ArtifactsContain json.RawMessage   `json:"artifactsContain"`
	ErrorContains    map[string]string `json:"errorContains"`
	HasSessionID     bool              `json:"hasSessionId"`
	HasSnapshotID    bool              `json:"hasSnapshotId"`
}

// Cases returns all cases.
func Cases(t testing.TB) []Case {
	t.Helper()
	var list []Case
	if err := json.Unmarshal(cases, &list); err != nil {
		t.Fatal(err)
	}
	return list
}
