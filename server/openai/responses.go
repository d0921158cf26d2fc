package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
	"github.com/agentruntime/agentruntime/service"
)

// createResponse begins a run, or continues the one that waits for what the input has.
func (c *call) createResponse() error {
	var r responseRequest
	body, err := c.readBody(&r, responseParameters)
	if err != nil {
		return err
	}
	if err := r.check(); err != nil {
		return err
	}
	asked, err := r.toTurn()
	if err != nil {
		return err
	}
	in, err := c.readInput(r.Input)
	if err != nil {
		return err
	}
	a, err := c.beginResponse(&r, asked, in, body)
	if err != nil {
		return err
	}
	background := isSet(r.Background)
	a.abandons = !background
	if isSet(r.Stream) {
		a.stream(c, newResponseStream(a, -1))
		return nil
	}
	if !background {
		_, err := a.wait(c.r.Context())
		if err != nil && (a.Unstored || !errors.Is(context.Cause(c.r.Context()), server.ErrDraining)) {
			return c.afterBegin(err)
		}
	}
	return a.writeResponse(c)
}

func (a *answer) writeResponse(c *call) error {
	shown, err := a.response()
	if err != nil {
		return err
	}
	return server.WriteJSON(c.w, http.StatusOK, shown)
}

// beginResponse begins a turn, or continues one.
func (c *call) beginResponse(r *responseRequest, asked *turnRequest, in *input, body []byte) (*answer, error) {
	if r.PreviousResponseID != nil {
		return c.continueFrom(*r.PreviousResponseID, asked, in)
	}
	if id, err := r.conversationID(); id != "" || err != nil {
		if err != nil {
			return nil, err
		}
		return c.beginInConversation(id, asked, in)
	}
	if len(in.outputs) > 0 {
		if a, err := c.resume(responsePrefix, r.Model, in.outputs, in.said); a != nil || err != nil {
			return a, err
		}
	}
	if err := asked.setInput(in); err != nil {
		return nil, err
	}
	return c.beginAlone(asked, responsePrefix, body)
}

// setInput sets the messages of the turn.
func (t *turnRequest) setInput(in *input) error {
	if len(in.messages) == 0 {
		return missingField("input")
	}
	var ok bool
	if t.before, t.input, ok = surfacekit.SplitInput(in.messages); !ok {
		return badField("input", "input must not end with a message of the assistant")
	}
	return nil
}

// continueFrom continues the conversation of a response: it gives the turn what it waits
// for, or begins another turn after it.
func (c *call) continueFrom(id string, asked *turnRequest, in *input) (*answer, error) {
	previous, err := c.findResponse(id)
	if errors.Is(err, service.ErrNotFound) {
		return nil, &requestError{status: http.StatusBadRequest, param: "previous_response_id", code: codeNoPrevious, message: fmt.Sprintf("Previous response with id '%s' not found.", clip.Text(id))}
	}
	if err != nil {
		return nil, err
	}
	e := previous.over()
	switch {
	case e == nil:
		return nil, badField("previous_response_id", "Response '%s' has not ended yet.", clip.Text(id))
	case e.finish == nil:
		return c.answerQuestions(previous.turn, previous.fold, in.outputs, in.said)
	case previous.turn.Status != service.Succeeded:
		return nil, badField("previous_response_id", "Response '%s' did not complete and cannot be continued.", clip.Text(id))
	case len(in.outputs) > 0:
		return nil, badField("input", "No tool call found for function call output with call_id '%s'.", clip.Text(in.outputs[0].callID))
	}
	if err := asked.setInput(in); err != nil {
		return nil, err
	}
	session, err := c.settings.Service.GetSession(c.r.Context(), c.caller, previous.turn.SessionID)
	if err != nil {
		return nil, err
	}
	return c.beginIn(session, asked, func(turn *service.CreateTurn) { turn.SnapshotID = previous.turn.SnapshotID })
}

// beginIn begins a turn in a session.
func (c *call) beginIn(session *service.Session, asked *turnRequest, set func(*service.CreateTurn)) (*answer, error) {
	current, err := c.settings.Service.CurrentAgent(c.r.Context(), session, asked.agent)
	if err != nil {
		return nil, err
	}
	turn, err := c.composeTurn(asked, current)
	if err != nil {
		return nil, err
	}
	turn.ID, turn.SessionID = responsePrefix+c.settings.Service.NewID(), session.ID
	set(turn)
	made, err := c.settings.Service.CreateTurn(c.r.Context(), c.caller, *turn)
	if err != nil {
		return nil, err
	}
	return c.newAnswer(made, asked.record, 0), nil
}

// findResponse returns a stored response of the caller as far as it is now. The error is
// service.ErrNotFound.
func (c *call) findResponse(id string) (*answer, error) {
	missing := &service.NotFoundError{Kind: "response", ID: id}
	turnID, segment, ok := splitAnswerID(id)
	if !ok {
		return nil, missing
	}
	turn, record, err := c.findTurn(turnID)
	if err == nil && (record.Unstored || record.Echo == nil) {
		err = missing
	}
	if err != nil {
		return nil, err
	}
	kept, err := c.sessionRecord(turn.SessionID)
	if err != nil {
		return nil, err
	}
	if slices.Contains(kept.Deleted, id) {
		return nil, missing
	}
	a := c.newAnswer(turn, record, segment)
	if a.fold, err = c.foldSoFar(turn, record, segment); err != nil {
		return nil, err
	}
	if segment > 0 && (segment > len(a.ended) || segment == len(a.ended) && (a.ended[segment-1].finish != nil || turn.Status == service.Waiting && !a.begun)) {
		return nil, missing
	}
	if a.over() == nil && turn.Outcome != nil {
		a.finish(turn.Outcome.RunFinish()) // the log is not kept to its end
	}
	return a, nil
}

// pathResponse returns the response that the path names.
func (c *call) pathResponse() (*answer, error) {
	id := c.r.PathValue("id")
	a, err := c.findResponse(id)
	if errors.Is(err, service.ErrNotFound) {
		return nil, notFound("Response", id)
	}
	return a, err
}

// readResponse answers with a response as it is, or with its events after one.
func (c *call) readResponse() error {
	a, err := c.pathResponse()
	if err != nil {
		return err
	}
	q := c.r.URL.Query()
	after := -1
	if text := q.Get("starting_after"); text != "" {
		if after, err = strconv.Atoi(text); err != nil || after < 0 {
			return badField("starting_after", "starting_after must be a number from 0 on")
		}
	}
	if stream, err := strconv.ParseBool(q.Get("stream")); err == nil && stream {
		again := c.newAnswer(a.turn, a.turnRecord, a.want)
		again.stream(c, newResponseStream(again, after))
		return nil
	}
	return a.writeResponse(c)
}

// cancelResponse ends a response that is under way; one that has ended stays as it is.
func (c *call) cancelResponse() error {
	a, err := c.pathResponse()
	if err != nil {
		return err
	}
	if a.isOpen() {
		if _, err := c.settings.Service.CancelTurn(c.r.Context(), c.caller, a.turn.ID, "the client canceled the response"); err != nil {
			return err
		}
		if a, err = c.pathResponse(); err != nil {
			return err
		}
	}
	return a.writeResponse(c)
}

// isOpen reports whether the turn still works on the response, or waits for the answers to
// its calls.
func (a *answer) isOpen() bool {
	e := a.over()
	return e == nil || e.finish == nil && a.turn.Status == service.Waiting && a.want == len(a.ended)-1
}

// deletedView is the answer to the deletion of something.
type deletedView struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Deleted bool   `json:"deleted"`
}

// deleteResponse makes a response unknown. Its turn remains, for those who read the log.
func (c *call) deleteResponse() error {
	a, err := c.pathResponse()
	if err != nil {
		return err
	}
	if a.isOpen() {
		if _, err := c.settings.Service.CancelTurn(c.r.Context(), c.caller, a.turn.ID, "the client deleted the response"); err != nil {
			return err
		}
	}
	id := answerID(a.turn.ID, a.want)
	if err := c.updateRecord(a.turn.SessionID, func(r *sessionRecord) { r.Deleted = append(r.Deleted, id) }); err != nil {
		return err
	}
	return server.WriteJSON(c.w, http.StatusOK, deletedView{id, "response", true})
}

// listInput answers with the input of a response.
func (c *call) listInput() error {
	a, err := c.pathResponse()
	if err != nil {
		return err
	}
	items, err := c.inputItems(a.turn, a.fold, a.want)
	if err != nil {
		return err
	}
	return c.writeList(items)
}

// sessionRecord is what a session keeps for the surface.
type sessionRecord struct {
	// Deleted are the responses that were deleted.
	Deleted []string `json:"deleted,omitempty"`
	// Metadata is that of a conversation, Items are those that clients added to it, and
	// Added counts them, with those that were deleted.
	Metadata map[string]string `json:"metadata,omitempty"`
	Items    []json.RawMessage `json:"items,omitempty"`
	Added    int               `json:"added,omitempty"`
}

func (c *call) sessionRecord(id string) (r sessionRecord, err error) {
	session, err := c.settings.Service.GetSession(c.r.Context(), c.caller, id)
	if err == nil {
		own.Decode(session.Metadata, &r) // a session without a record has the empty one
	}
	return r, err
}

// updateRecord changes the record of a session.
func (c *call) updateRecord(id string, change func(*sessionRecord)) error {
	r, err := c.sessionRecord(id)
	if err != nil {
		return err
	}
	change(&r)
	metadata, err := own.Encode(r)
	if err != nil {
		return err
	}
	_, err = c.settings.Service.UpdateSession(c.r.Context(), c.caller, id, service.SessionPatch{Metadata: &metadata})
	return err
}

// itemList is a page of a list.
type itemList struct {
	Object  string            `json:"object"`
	Data    []json.RawMessage `json:"data"`
	FirstID *string           `json:"first_id"`
	LastID  *string           `json:"last_id"`
	HasMore bool              `json:"has_more"`
}

const (
	defaultPage = 20
	maxPage     = 100
)

// writeList writes the page of a list, from the oldest to the newest, that the query asks
// for.
func (c *call) writeList(items []json.RawMessage) error {
	q := c.r.URL.Query()
	limit := defaultPage
	if text := q.Get("limit"); text != "" {
		var err error
		if limit, err = strconv.Atoi(text); err != nil || limit < 1 || limit > maxPage {
			return badField("limit", "limit must be a number from 1 to %d", maxPage)
		}
	}
	switch q.Get("order") {
	case "asc":
	case "", "desc":
		slices.Reverse(items)
	default:
		return badField("order", "order must be asc or desc")
	}
	if after := q.Get("after"); after != "" {
		at := slices.IndexFunc(items, func(raw json.RawMessage) bool { return idOf(raw) == after })
		if at < 0 {
			return badField("after", "Item with id '%s' not found.", clip.Text(after))
		}
		items = items[at+1:]
	}
	page := itemList{Object: "list", Data: items[:min(limit, len(items))], HasMore: len(items) > limit}
	if n := len(page.Data); n > 0 {
		first, last := idOf(page.Data[0]), idOf(page.Data[n-1])
		page.FirstID, page.LastID = &first, &last
	} else {
		page.Data = []json.RawMessage{}
	}
	return server.WriteJSON(c.w, http.StatusOK, page)
}

func idOf(raw json.RawMessage) string {
	var i struct {
		ID string `json:"id"`
	}
	_ = json.Unmarshal(raw, &i) // our own
	return i.ID
}
