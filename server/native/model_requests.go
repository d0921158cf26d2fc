package native

import (
	"context"
	"encoding/json"
	"time"

	"github.com/agentruntime/agentruntime/service"
)

// ModelRequest is a request to a model, before the provider adapts it to its server.
type ModelRequest struct {
	AgentID string          `json:"agent_id" jsonschema:"The agent that sent the request: the turn's agent or a delegate."`
	SentAt  time.Time       `json:"sent_at"`
	Request json.RawMessage `json:"request" type:"object" jsonschema:"Model, messages, tools and parameters, before the provider adapts them to its server. The contents of files are omitted."`
}

// ModelRequestList is the requests that led to a message, in the order in which they were sent. A
// continued answer took several.
type ModelRequestList struct {
	Requests []ModelRequest `json:"requests"`
}

// messageID is the message in the path of a request.
type messageID struct {
	turnID

	_       struct{} `query:""`
	Message string   `json:"-" path:"message" jsonschema:"The message_id of a step_start event."`
}

// ListModelRequests returns the stored requests to models that led to a message of a turn: none
// unless turns.keep_requests is set, and none without the scope config:read.
func (l *Local) ListModelRequests(ctx context.Context, turnID, messageID string) (*ModelRequestList, error) {
	return service.FindOwn(l.Caller, turnID, func(id string) (*ModelRequestList, error) {
		list := &ModelRequestList{Requests: []ModelRequest{}}
		kept, err := l.Service.ListModelRequests(ctx, l.Caller, id, messageID)
		for _, r := range kept {
			list.Requests = append(list.Requests, ModelRequest{r.AgentID, r.SentAt, r.Request})
		}
		return list, err
	})
}

// ListModelRequests returns the stored requests to models that led to a message of a turn.
func (c *Client) ListModelRequests(ctx context.Context, turnID, messageID string) (*ModelRequestList, error) {
	return sendFor[ModelRequestList](ctx, c, newGet(nil, "turns", turnID, "model-requests", messageID), errMissingID("turn", turnID), errMissingID("message", messageID))
}
