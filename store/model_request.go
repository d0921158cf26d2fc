package store

import (
	"context"
	"time"
)

// ModelRequest is a request that a turn sent to a model.
type ModelRequest struct {
	TurnID string
	// MessageID is the ID of the answer's message, and Call the number of the model call in
	// the turn of the agent, from 1: an answer that is continued takes several calls.
	MessageID string
	Call      int
	// AgentID is the agent that asked: that of the turn, or a delegate.
	AgentID string
	SentAt  time.Time
	// Request is JSON.
	Request []byte
}

// ModelRequests is the part of a Store that keeps requests to models. They are deleted with
// their turn.
type ModelRequests interface {
	// SaveModelRequest stores a request and replaces an earlier one of the same call. The error
	// is ErrNotFound for an unknown turn.
	SaveModelRequest(ctx context.Context, r *ModelRequest) error
	// ModelRequests returns the requests for a message of a turn, in the order of their calls.
	ModelRequests(ctx context.Context, turnID, messageID string) ([]*ModelRequest, error)
}

// CheckText returns ErrText for a request that no store keeps.
func (r *ModelRequest) CheckText() error { return checkTexts(r.TurnID, r.MessageID, r.AgentID) }
