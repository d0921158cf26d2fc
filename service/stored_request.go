package service

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/service/workspace"
	"github.com/agentruntime/agentruntime/store"
)

// storedRequest is what a turn was asked for, as it is stored with the turn: the
// request itself, but for what has columns of its own, and what the service adds.
type storedRequest struct {
	CreateTurn
	// InputCount is how many of the turn's messages are its input; the BeforeCount
	// messages before them came with it.
	InputCount  int `json:"input_count"`
	BeforeCount int `json:"before_count,omitempty"`
	// SealedTools are the tools of Ephemeral, where there is a key to encrypt them
	// with.
	SealedTools json.RawMessage `json:"sealed_tools,omitempty"`
	// SessionContext is what is put before every turn of the session.
	SessionContext *model.Message `json:"session_context,omitempty"`
	// Workspace is that of the session, when it has one.
	Workspace *workspace.Record `json:"workspace,omitempty"`
	// Trace is the trace that the turn was asked for in.
	Trace http.Header `json:"trace,omitempty"`
}

// decodeRequest reads what a turn was asked for.
func decodeRequest(t *store.Turn) (*storedRequest, error) {
	asked := new(storedRequest)
	if err := json.Unmarshal(t.Request, asked); err != nil {
		return nil, fmt.Errorf("read what turn %s was asked for: %w", t.ID, err)
	}
	return asked, nil
}
