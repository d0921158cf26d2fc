package native

import (
	"cmp"
	"net/http"

	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
	"github.com/agentruntime/agentruntime/service"
)

// The handlers of requests other than for events: each reads the request, calls the caller's Local,
// and writes the result.

// writeReply writes the result of a request, or returns its error.
func (c *call) writeReply(status int, body any, err error) error {
	if err != nil {
		return err
	}
	return server.WriteJSON(c.w, status, body)
}

func (c *call) listSessions() error {
	q, err := sessionQuery(c.r)
	if err != nil {
		return err
	}
	list, err := c.ListSessions(c.r.Context(), q)
	return c.writeReply(http.StatusOK, list, err)
}

func (c *call) readSession() error {
	s, err := c.GetSession(c.r.Context(), c.r.PathValue("session"))
	return c.writeReply(http.StatusOK, s, err)
}

func (c *call) createSession() error {
	req := CreateSession{IdempotencyKey: c.r.Header.Get(surfacekit.IdempotencyHeader)}
	if err := c.readBody(&req); err != nil {
		return err
	}
	made, err := c.CreateSession(c.r.Context(), req)
	return c.writeReply(http.StatusCreated, made, err)
}

// exportSession responds with an export. It can be imported anywhere, but the values of headers are
// left out.
func (c *call) exportSession() error {
	export, err := c.ExportSession(c.r.Context(), c.r.PathValue("session"))
	if err != nil {
		return err
	}
	export.Session.Metadata = withoutHeaders(export.Session.Metadata)
	return server.WriteJSON(c.w, http.StatusOK, export)
}

// importSession imports an export; it ignores unknown fields, which a later version may have
// added.
func (c *call) importSession() error {
	q := queryOf(c.r, queryID, queryAgent)
	if q.err != nil {
		return q.err
	}
	export := new(service.SessionExport)
	if err := c.readTolerantBody(export); err != nil {
		return err
	}
	req := ImportSession{ID: q.readText(queryID), AgentID: q.readText(queryAgent), IdempotencyKey: c.r.Header.Get(surfacekit.IdempotencyHeader)}
	made, err := c.ImportSession(c.r.Context(), req, export)
	return c.writeReply(http.StatusCreated, made, err)
}

func (c *call) listTurns() error {
	q, err := turnQuery(c.r)
	if err != nil {
		return err
	}
	list, err := c.ListTurns(c.r.Context(), q)
	return c.writeReply(http.StatusOK, list, err)
}

func (c *call) readTurn() error {
	t, err := c.GetTurn(c.r.Context(), c.r.PathValue("turn"))
	return c.writeReply(http.StatusOK, t, err)
}

func (c *call) createTurn() error {
	req := CreateTurn{IdempotencyKey: c.r.Header.Get(surfacekit.IdempotencyHeader)}
	if err := c.readBody(&req); err != nil {
		return err
	}
	made, err := c.CreateTurn(c.r.Context(), req)
	return c.writeReply(http.StatusCreated, made, err)
}

func (c *call) cancelTurn() error {
	var why cancellation
	if err := c.readBody(&why); err != nil {
		return err
	}
	t, err := c.CancelTurn(c.r.Context(), c.r.PathValue("turn"), why.Reason)
	return c.writeReply(http.StatusOK, t, err)
}

func (c *call) listInteractions() error {
	list, err := c.ListInteractions(c.r.Context(), c.r.PathValue("turn"))
	return c.writeReply(http.StatusOK, interactionList{list}, err)
}

// defaultPending is the default limit of a list of pending interactions.
const defaultPending = 100

func (c *call) listPendingInteractions() error {
	q := queryOf(c.r, queryLimit)
	limit := cmp.Or(q.pageLimit(service.MaxPage), defaultPending)
	if q.err != nil {
		return q.err
	}
	list, err := c.ListPendingInteractions(c.r.Context(), limit)
	return c.writeReply(http.StatusOK, interactionList{list}, err)
}

func (c *call) resolveInteraction() error {
	var a answer
	if err := c.readBody(&a); err != nil {
		return err
	}
	i, err := c.AnswerInteraction(c.r.Context(), c.r.PathValue("turn"), interaction.Answer{
		Target: c.r.PathValue("interaction"), ID: a.ID, Action: a.Action, Result: a.Result, Arguments: a.Arguments, Reason: a.Reason,
	})
	return c.writeReply(http.StatusOK, i, err)
}
