// Package responses serves responses and conversations.
package responses

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"

	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/openai/internal/run"
	"github.com/agentruntime/agentruntime/service"
)

// createResponse starts a run, or continues the run that waits for the input.
func createResponse(c *run.Call) (any, error) {
	var r Request
	body, err := c.ReadBody(&r, Parameters)
	if err != nil {
		return nil, err
	}
	asked, err := r.ToTurn()
	if err != nil {
		return nil, err
	}
	if asked.Input, err = ReadInput(c, r.Input); err != nil {
		return nil, err
	}
	a, err := beginResponse(c, &r, asked, body)
	if err != nil {
		return nil, err
	}
	background := run.IsSet(r.Background)
	a.Abandons = !background
	if run.IsSet(r.Stream) {
		a.Stream(NewStream(a, -1))
		return nil, nil //nolint:nilnil // it is written
	}
	if !background {
		err := a.Await()
		if err != nil && (a.Unstored || !errors.Is(context.Cause(c.Context()), server.ErrDraining)) {
			return nil, c.AfterBegin(err)
		}
		if err != nil { // the turn continues elsewhere
			if now, err := c.Service.GetTurn(context.WithoutCancel(c.Context()), c.Caller, a.Turn.ID); err == nil {
				a.Turn = now
			}
		}
	}
	return newResponse(a), nil
}

// beginResponse begins a turn, or continues one.
func beginResponse(c *run.Call, r *Request, asked *run.Request, body []byte) (*run.Answer, error) {
	if r.PreviousResponseID != nil {
		return continueFrom(c, *r.PreviousResponseID, asked, body)
	}
	id, err := r.conversationID()
	if err != nil {
		return nil, err
	}
	if id != "" {
		return beginInConversation(c, id, asked, body)
	}
	return c.ResumeOrBegin(asked, run.ResponsePrefix, body)
}

// continueFrom continues the conversation of a response: it answers the waiting turn, or starts
// another turn after it.
func continueFrom(c *run.Call, id string, asked *run.Request, body []byte) (*run.Answer, error) {
	previous, err := findResponse(c, id)
	if errors.Is(err, service.ErrNotFound) {
		return nil, run.NewRefusal(http.StatusBadRequest, "previous_response_not_found", "previous_response_id", "Previous response with id '%s' not found.", clip.Text(id))
	}
	if err != nil {
		return nil, err
	}
	e := previous.Over()
	switch {
	case e == nil:
		return nil, run.BadField("previous_response_id", "Response '%s' has not ended yet.", clip.Text(id))
	case e.Finish == nil:
		return previous.AnswerRequest(asked)
	case previous.Turn.Status != service.Succeeded:
		return nil, run.BadField("previous_response_id", "Response '%s' did not complete and cannot be continued.", clip.Text(id))
	}
	session, err := c.Service.GetSession(c.Context(), c.Caller, previous.Turn.SessionID)
	if err != nil {
		return nil, err
	}
	turn := &service.CreateTurn{SnapshotID: previous.Turn.SnapshotID}
	if turn.IdempotencyKey, err = c.ReadKey(); err != nil {
		return nil, err
	}
	turn.IdempotencyBody = body
	return c.BeginIn(session, asked, turn)
}

// findResponse returns the current state of a stored response of the caller. The error is
// service.ErrNotFound.
func findResponse(c *run.Call, id string) (*run.Answer, error) {
	missing := &service.NotFoundError{Kind: "response", ID: id}
	turnID, segment, ok := run.SplitAnswerID(id)
	if !ok {
		return nil, missing
	}
	turn, record, err := c.FindTurn(turnID)
	if err == nil && (record.Unstored || record.Echo == nil) {
		err = missing
	}
	if err != nil {
		return nil, err
	}
	session, err := c.Service.GetSession(c.Context(), c.Caller, turn.SessionID)
	if err != nil {
		return nil, err
	}
	var kept sessionRecord
	run.Own.Decode(session.Metadata, &kept) // without a record, it stays empty
	if slices.Contains(kept.Deleted, id) {
		return nil, missing
	}
	a, err := c.ReadAnswer(turn, record, segment)
	if err != nil {
		return nil, err
	}
	if segment > 0 && (segment > len(a.Endings) || segment == len(a.Endings) && (a.Endings[segment-1].Finish != nil || turn.Status == service.Waiting && !a.Begun)) {
		return nil, missing
	}
	if a.Over() == nil && turn.Outcome != nil {
		a.Finish(turn.Outcome.RunFinish()) // the log lacks its end
	}
	return a, nil
}

// onResponse finds the response in the path.
func onResponse(answerWith func(*run.Call, *run.Answer) (any, error)) func(*run.Call) (any, error) {
	return func(c *run.Call) (any, error) {
		id := c.R.PathValue("id")
		a, err := findResponse(c, id)
		if errors.Is(err, service.ErrNotFound) {
			return nil, run.NotFound("Response", id, "")
		}
		if err != nil {
			return nil, err
		}
		return answerWith(c, a)
	}
}

// readResponse responds with the current state of a response, or with its events after a given one.
func readResponse(c *run.Call, a *run.Answer) (any, error) {
	q, after := c.R.URL.Query(), -1
	if text := q.Get("starting_after"); text != "" {
		var err error
		if after, err = strconv.Atoi(text); err != nil || after < 0 {
			return nil, run.BadField("starting_after", "starting_after must be a number from 0 on")
		}
	}
	stream, err := strconv.ParseBool(cmp.Or(q.Get("stream"), "false"))
	if err != nil {
		return nil, run.BadField("stream", "stream must be true or false")
	}
	if stream {
		again := c.NewAnswer(a.Turn, a.Record, a.Want)
		again.Stream(NewStream(again, after))
		return nil, nil //nolint:nilnil // it is written
	}
	return newResponse(a), nil
}

// cancelResponse cancels a running response; it does not change an ended one.
func cancelResponse(c *run.Call, a *run.Answer) (any, error) {
	if err := cancelTurn(a, "the client canceled the response"); err != nil {
		return nil, err
	}
	return onResponse(func(_ *run.Call, a *run.Answer) (any, error) { return newResponse(a), nil })(c)
}

// cancelTurn cancels the turn if it is still producing the response or waits for the answers to its
// calls.
func cancelTurn(a *run.Answer, reason string) error {
	e := a.Over()
	if e != nil && (e.Finish != nil || a.Turn.Status != service.Waiting || a.Want != len(a.Endings)-1) {
		return nil
	}
	_, err := a.Call.Service.CancelTurn(a.Call.Context(), a.Call.Caller, a.Turn.ID, reason)
	return err
}

// deleteResponse hides a response. Its turn remains for readers of the log.
func deleteResponse(c *run.Call, a *run.Answer) (any, error) {
	if err := cancelTurn(a, "the client deleted the response"); err != nil {
		return nil, err
	}
	id := run.AnswerID(a.Turn.ID, a.Want)
	return DeletedView{id, "response", true}, updateRecord(c, a.Turn.SessionID, func(r *sessionRecord) error {
		r.Deleted = append(r.Deleted, id)
		return nil
	})
}

// listInput responds with the input of a response.
func listInput(c *run.Call, a *run.Answer) (any, error) {
	items, err := inputItems(a, a.Want)
	if err != nil {
		return nil, err
	}
	return listPage(c, items)
}
