package service

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/service/workspace"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/store"
)

// storedRequest is the request of a turn as stored with the turn, with additions of the service
// and without fields that have their own columns.
type storedRequest struct {
	CreateTurn
	// InputCount is the number of the turn's messages that are its input; it includes the first
	// BeforeCount messages, which precede the new input.
	InputCount  int `json:"input_count"`
	BeforeCount int `json:"before_count,omitempty"`
	// SealedTools are the encrypted tools of Ephemeral, if there is an encryption key.
	SealedTools json.RawMessage `json:"sealed_tools,omitempty"`
	// SessionContext is the message that precedes every turn of the session.
	SessionContext *model.Message `json:"session_context,omitempty"`
	// Workspace is the workspace of the session, if it has one.
	Workspace *workspace.Record `json:"workspace,omitempty"`
	// Follow decides whether the turn goes to the agent that has the conversation.
	Follow followMode `json:"follow,omitempty"`
	// Rights are the rights of the caller.
	Rights turnRights `json:"rights,omitzero"`
	// Trace is the trace context of the request.
	Trace http.Header `json:"trace,omitempty"`
}

// decodeRequest decodes the stored request of a turn.
func decodeRequest(t *store.Turn) (*storedRequest, error) {
	asked := new(storedRequest)
	var layout struct {
		InputCount *int `json:"input_count"`
	}
	err := json.Unmarshal(t.Request, &layout)
	switch {
	case err != nil:
	case layout.InputCount == nil:
		asked, err = decodeFirstRequest(t.Request)
	default:
		err = json.Unmarshal(t.Request, asked)
	}
	if err != nil {
		return nil, fmt.Errorf("decode the request of turn %s: %w", t.ID, err)
	}
	return asked, nil
}

// firstRequest is the layout of requests that were stored before 23 November 2026.
type firstRequest struct {
	Input              int               `json:"input"`
	Before             int               `json:"before"`
	TextHistory        bool              `json:"text_history"`
	Params             model.Params      `json:"params"`
	Overrides          resolve.Overrides `json:"overrides"`
	Ephemeral          *Ephemeral        `json:"ephemeral"`
	Sealed             json.RawMessage   `json:"sealed"`
	Depth              int               `json:"depth"`
	InteractionTimeout spec.Duration     `json:"interaction_timeout"`
	OnTimeout          TimeoutPolicy     `json:"on_timeout"`
	Trace              http.Header       `json:"trace"`
}

func decodeFirstRequest(data json.RawMessage) (*storedRequest, error) {
	var first firstRequest
	if err := json.Unmarshal(data, &first); err != nil {
		return nil, err
	}
	return &storedRequest{
		CreateTurn: CreateTurn{
			TextHistory: first.TextHistory, Params: first.Params, Overrides: first.Overrides, Depth: first.Depth,
			Ephemeral: first.Ephemeral, InteractionTimeout: first.InteractionTimeout.Std(), OnTimeout: first.OnTimeout,
		},
		InputCount: first.Input, BeforeCount: first.Before, SealedTools: first.Sealed, Trace: first.Trace,
	}, nil
}
