package native

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
	"github.com/agentruntime/agentruntime/service"
)

// errMissingID returns an error for an id that cannot be a path segment and therefore does not
// exist.
func errMissingID(kind, id string) error {
	if id == "" || id == "." || id == ".." {
		return &service.NotFoundError{Kind: kind, ID: id}
	}
	return nil
}

// sendFor sends a request, unless an id in its path is missing, and returns the decoded response.
func sendFor[T any](ctx context.Context, c *Client, r *Request, missing ...error) (*T, error) {
	if err := cmp.Or(missing...); err != nil {
		return nil, err
	}
	into := new(T)
	if err := c.Do(ctx, r, into); err != nil {
		return nil, err
	}
	return into, nil
}

// ListSessions returns a page of sessions.
func (c *Client) ListSessions(ctx context.Context, q SessionQuery) (*SessionList, error) {
	return sendFor[SessionList](ctx, c, newGet(surfacekit.QueryOf(q), "sessions"))
}

// GetSession returns a session.
func (c *Client) GetSession(ctx context.Context, id string) (*Session, error) {
	return sendFor[Session](ctx, c, newGet(nil, "sessions", id), errMissingID("session", id))
}

// CreateSession makes a session.
func (c *Client) CreateSession(ctx context.Context, req CreateSession) (*Session, error) {
	return sendFor[Session](ctx, c, newPost(req.IdempotencyKey, req, "sessions"))
}

// ExportSession returns a session with the whole content of its tip, except the values of headers
// in its metadata.
func (c *Client) ExportSession(ctx context.Context, id string) (*service.SessionExport, error) {
	r := newGet(nil, "sessions", id, "export")
	r.most = maxExport
	return sendFor[service.SessionExport](ctx, c, r, errMissingID("session", id))
}

// ImportSession creates a session from an export, with the export's labels and metadata.
func (c *Client) ImportSession(ctx context.Context, req ImportSession, export *service.SessionExport) (*Session, error) {
	r := newPost(req.IdempotencyKey, export, "sessions", "import")
	r.Query = surfacekit.QueryOf(req)
	return sendFor[Session](ctx, c, r)
}

// ListTurns returns a page of turns, with their pending interactions.
func (c *Client) ListTurns(ctx context.Context, q TurnQuery) (*TurnList, error) {
	return sendFor[TurnList](ctx, c, newGet(surfacekit.QueryOf(q), "turns"))
}

// GetTurn returns a turn, with its pending interactions.
func (c *Client) GetTurn(ctx context.Context, id string) (*Turn, error) {
	return sendFor[Turn](ctx, c, newGet(nil, "turns", id), errMissingID("turn", id))
}

// CreateTurn stores a turn, which the server then runs.
func (c *Client) CreateTurn(ctx context.Context, req CreateTurn) (*Turn, error) {
	return sendFor[Turn](ctx, c, newPost(req.IdempotencyKey, req, "turns"))
}

// CancelTurn ends a turn, wherever it runs. It does not change an ended turn.
func (c *Client) CancelTurn(ctx context.Context, id, reason string) (*Turn, error) {
	return sendFor[Turn](ctx, c, newPost("", cancellation{Reason: reason}, "turns", id, "cancel"), errMissingID("turn", id))
}

// ListInteractions returns the interactions of a turn, oldest first.
func (c *Client) ListInteractions(ctx context.Context, turnID string) ([]Interaction, error) {
	list, err := sendFor[interactionList](ctx, c, newGet(nil, "turns", turnID, "interactions"), errMissingID("turn", turnID))
	if err != nil {
		return nil, err
	}
	return list.Interactions, nil
}

// AnswerInteraction answers an interaction of a turn.
func (c *Client) AnswerInteraction(ctx context.Context, turnID string, a interaction.Answer) (*Interaction, error) {
	if err := cmp.Or(errMissingID("turn", turnID), errMissingID("interaction", a.Target)); err != nil {
		return nil, err
	}
	if len(a.Message) > 0 {
		return nil, errors.New("the native API has no message beside an answer: send it in the next turn")
	}
	body := answer{ID: a.ID, Action: a.Action, Result: a.Result, Arguments: a.Arguments, Reason: a.Reason}
	return sendFor[Interaction](ctx, c, newPost("", body, "turns", turnID, "interactions", a.Target))
}

// ReadEvents returns up to limit events of a turn with a seq greater than after, without waiting
// for more. It returns none if there are no more.
func (c *Client) ReadEvents(ctx context.Context, turnID string, after uint64, limit int, filter ...service.EventFilter) ([]event.Record, error) {
	q := eventQuery{After: after, Limit: limit, Delegates: slices.Contains(filter, service.WithDelegates)}
	list, err := sendFor[eventList](ctx, c, newGet(surfacekit.QueryOf(q), "turns", turnID, "events"), errMissingID("turn", turnID))
	if err != nil {
		return nil, err
	}
	return list.Events, nil
}
