package store

import (
	"context"
	"time"
)

// ModelRequest is a request that a turn sent to a model.
type ModelRequest struct {
	TurnID string
	// MessageID is the ID of the answer's message. Call is the number of the model call in the
	// agent's turn, from 1; an answer that is continued takes several calls.
	MessageID string
	Call      int
	// AgentID is the agent that sent the request: the turn's agent or a delegate.
	AgentID string
	SentAt  time.Time
	// Request is JSON.
	Request []byte
}

// ModelRequests is the part of a Store that keeps requests to models. They are deleted with
// their turn.
type ModelRequests interface {
	// SaveModelRequest stores a request, replacing an earlier one of the same call. The error is
	// ErrNotFound for an unknown turn.
	SaveModelRequest(ctx context.Context, r *ModelRequest) error
	// ModelRequests returns the requests for a message of a turn, in call order.
	ModelRequests(ctx context.Context, turnID, messageID string) ([]*ModelRequest, error)
}

// CheckText returns ErrText for a request that every store rejects.
func (r *ModelRequest) CheckText() error { return checkTexts(r.TurnID, r.MessageID, r.AgentID) }
