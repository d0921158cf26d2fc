package workflows

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
	"github.com/agentruntime/agentruntime/server/native"
	"github.com/agentruntime/agentruntime/service/workflow"
	"github.com/google/uuid"
)

// Client is a client of the protocol. Its errors are the errors of a native.Client.
type Client struct {
	native *native.Client
}

// NewClient returns a client that sends its requests through c.
func NewClient(c *native.Client) *Client { return &Client{c} }

// send sends a request and returns the decoded response.
func send[T any](ctx context.Context, c *Client, method string, query url.Values, body any, path ...string) (*T, error) {
	into := new(T)
	return into, c.native.Do(ctx, &native.Request{Method: method, Prefix: prefix, Path: path, Query: query, Body: body}, into)
}

// ListStarts returns the schedules or event triggers that the caller sees.
func (c *Client) ListStarts(ctx context.Context, k Kind) (*StartList, error) {
	return send[StartList](ctx, c, http.MethodGet, nil, nil, string(k))
}

// GetStart returns a schedule or an event trigger.
func (c *Client) GetStart(ctx context.Context, k Kind, id string) (*Start, error) {
	return send[Start](ctx, c, http.MethodGet, nil, nil, string(k), id)
}

// CreateStart creates a schedule or an event trigger. It chooses an id unless the request has one.
func (c *Client) CreateStart(ctx context.Context, k Kind, req StartRequest) (*Start, error) {
	req.ID = cmp.Or(req.ID, newID()) // so that a retry does not create it twice
	return send[Start](ctx, c, http.MethodPost, nil, req, string(k))
}

// ReplaceStart replaces a schedule or an event trigger.
func (c *Client) ReplaceStart(ctx context.Context, k Kind, id string, req StartRequest) (*Start, error) {
	return send[Start](ctx, c, http.MethodPut, nil, req, string(k), id)
}

// DeleteStart deletes a schedule or an event trigger.
func (c *Client) DeleteStart(ctx context.Context, k Kind, id string) error {
	return c.native.Do(ctx, &native.Request{Method: http.MethodDelete, Prefix: prefix, Path: []string{string(k), id}}, nil)
}

// PauseStart pauses or resumes a schedule or an event trigger.
func (c *Client) PauseStart(ctx context.Context, k Kind, id string, paused bool) (*Start, error) {
	verb := "resume"
	if paused {
		verb = "pause"
	}
	return send[Start](ctx, c, http.MethodPost, nil, surfacekit.None{}, string(k), id, verb)
}

// Publish publishes an event. It chooses an id unless the event has one.
func (c *Client) Publish(ctx context.Context, ev workflow.Event) (*Published, error) {
	ev.ID = cmp.Or(ev.ID, newID()) // so that a retry does not start a run twice
	return send[Published](ctx, c, http.MethodPost, nil, ev, "events")
}

func newID() string { return uuid.Must(uuid.NewV7()).String() }

// ListRuns returns a page of runs, newest first.
func (c *Client) ListRuns(ctx context.Context, q workflow.RunQuery) (*RunList, error) {
	query := url.Values{}
	for name, value := range map[string]string{"workflow": q.WorkflowID, "status": q.Status, "after": q.After} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if q.Limit > 0 {
		query.Set("limit", strconv.Itoa(q.Limit))
	}
	return send[RunList](ctx, c, http.MethodGet, query, nil, "runs")
}

// GetRun returns a run with its steps.
func (c *Client) GetRun(ctx context.Context, id string) (*RunView, error) {
	return send[RunView](ctx, c, http.MethodGet, nil, nil, "runs", id)
}

// CancelRun requests the cancellation of a run.
func (c *Client) CancelRun(ctx context.Context, id, reason string) (*RunView, error) {
	return send[RunView](ctx, c, http.MethodPost, nil, cancelRequest{reason}, "runs", id, "cancel")
}

// ListInteractions returns the pending interactions of a run.
func (c *Client) ListInteractions(ctx context.Context, id string) ([]interaction.Request, error) {
	list, err := send[awaitedList](ctx, c, http.MethodGet, nil, nil, "runs", id, "interactions")
	return list.Items, err
}

// AnswerInteraction answers an interaction of a run.
func (c *Client) AnswerInteraction(ctx context.Context, id, target string, answer AnswerRequest) (*RunView, error) {
	return send[RunView](ctx, c, http.MethodPost, nil, answer, "runs", id, "interactions", target)
}
