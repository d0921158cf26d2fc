package native

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/agentruntime/agentruntime/service"
)

// ModelRequest is a request to a model, before the provider adapts it to its server.
type ModelRequest struct {
	// AgentID is the agent that sent the request: the turn's agent or a delegate.
	AgentID string    `json:"agent_id"`
	SentAt  time.Time `json:"sent_at"`
	// Request has the model, messages, tools and parameters, without the content of files.
	Request json.RawMessage `json:"request"`
}

// ModelRequestList is the requests that led to a message, in the order in which they were sent. A
// continued answer took several.
type ModelRequestList struct {
	Requests []ModelRequest `json:"requests"`
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
	for kind, id := range map[string]string{"turn": turnID, "message": messageID} {
		if err := errMissingID(kind, id); err != nil {
			return nil, err
		}
	}
	return sendFor[ModelRequestList](ctx, c, newGet(nil, "turns", turnID, "model-requests", messageID), nil)
}

func (c *call) listModelRequests() error {
	if q := queryOf(c.r); q.err != nil {
		return q.err
	}
	list, err := c.ListModelRequests(c.r.Context(), c.r.PathValue("turn"), c.r.PathValue("message"))
	return c.writeReply(http.StatusOK, list, err)
}
