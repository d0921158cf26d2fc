package openai

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/agentruntime/agentruntime/interaction"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/settings"
	clienttool "github.com/agentruntime/agentruntime/tools/client"
)

// responseCall is a request about responses or conversations.
type responseCall struct{ *call }

// responseRoutes returns the routes of responses and conversations.
func responseRoutes(b *surfacekit.Base) []server.Route {
	route := func(pattern, scope string, answer func(*responseCall) (any, error)) server.Route {
		return newRoute(b, pattern, scope, func(c *call) (any, error) { return answer(&responseCall{c}) })
	}
	return []server.Route{
		begins(server.Typed[responseRequest, response](route("POST /v1/responses", settings.ScopeRunsWrite, (*responseCall).createResponse))),
		markStream(server.Typed[none, response](route("GET /v1/responses/{id}", settings.ScopeRunsRead, onResponse((*responseCall).readResponse)))),
		audited(server.Typed[none, response](route("POST /v1/responses/{id}/cancel", settings.ScopeRunsWrite, onResponse((*responseCall).cancelResponse))), server.AuditCancelTurn),
		audited(server.Typed[none, deletedView](route("DELETE /v1/responses/{id}", settings.ScopeRunsWrite, onResponse((*responseCall).deleteResponse))), server.AuditUpdateSession),
		server.Typed[none, itemList](route("GET /v1/responses/{id}/input_items", settings.ScopeRunsRead, onResponse((*responseCall).listInput))),
		audited(server.Typed[conversationRequest, conversationView](route("POST /v1/conversations", settings.ScopeSessionsWrite, (*responseCall).createConversation)), server.AuditCreateSession),
		server.Typed[none, conversationView](route("GET /v1/conversations/{id}", settings.ScopeSessionsRead, onConversation((*responseCall).readConversation))),
		audited(server.Typed[conversationRequest, conversationView](route("POST /v1/conversations/{id}", settings.ScopeSessionsWrite, onConversation((*responseCall).updateConversation))), server.AuditUpdateSession),
		audited(server.Typed[none, deletedView](route("DELETE /v1/conversations/{id}", settings.ScopeSessionsWrite, onConversation((*responseCall).deleteConversation))), server.AuditUpdateSession),
		server.Typed[none, itemList](route("GET /v1/conversations/{id}/items", settings.ScopeSessionsRead, onConversation((*responseCall).listItems))),
		audited(server.Typed[conversationRequest, itemList](route("POST /v1/conversations/{id}/items", settings.ScopeSessionsWrite, onConversation((*responseCall).createItems))), server.AuditUpdateSession),
		server.Typed[none, json.RawMessage](route("GET /v1/conversations/{id}/items/{item}", settings.ScopeSessionsRead, onConversation((*responseCall).readItem))),
		audited(server.Typed[none, conversationView](route("DELETE /v1/conversations/{id}/items/{item}", settings.ScopeSessionsWrite, onConversation((*responseCall).deleteItem))), server.AuditUpdateSession),
	}
}

// createResponse starts a run, or continues the run that waits for the input.
func (c *responseCall) createResponse() (any, error) {
	var r responseRequest
	body, err := c.readBody(&r, responseParameters)
	if err != nil {
		return nil, err
	}
	asked, err := r.toTurn()
	if err != nil {
		return nil, err
	}
	if asked.input, err = c.readInput(r.Input); err != nil {
		return nil, err
	}
	a, err := c.beginResponse(&r, asked, body)
	if err != nil {
		return nil, err
	}
	background := isSet(r.Background)
	a.abandons = !background
	if isSet(r.Stream) {
		a.stream(newResponseStream(a, -1))
		return nil, nil //nolint:nilnil // it is written
	}
	if !background {
		err := a.wait()
		if err != nil && (a.Unstored || !errors.Is(context.Cause(c.Context()), server.ErrDraining)) {
			return nil, c.afterBegin(err)
		}
		if err != nil { // the turn continues elsewhere
			if now, err := c.Service.GetTurn(context.WithoutCancel(c.Context()), c.Caller, a.turn.ID); err == nil {
				a.turn = now
			}
		}
	}
	return newResponse(a), nil
}

// beginResponse begins a turn, or continues one.
func (c *responseCall) beginResponse(r *responseRequest, asked *turnRequest, body []byte) (*answer, error) {
	if r.PreviousResponseID != nil {
		return c.continueFrom(*r.PreviousResponseID, asked)
	}
	id, err := r.conversationID()
	if err != nil {
		return nil, err
	}
	if id != "" {
		return c.beginInConversation(id, asked)
	}
	return c.resumeOrBegin(asked, responsePrefix, body)
}

// continueFrom continues the conversation of a response: it answers the waiting turn, or starts
// another turn after it.
func (c *responseCall) continueFrom(id string, asked *turnRequest) (*answer, error) {
	previous, err := c.findResponse(id)
	if errors.Is(err, service.ErrNotFound) {
		return nil, newRefusal(http.StatusBadRequest, "previous_response_not_found", "previous_response_id", "Previous response with id '%s' not found.", clip.Text(id))
	}
	if err != nil {
		return nil, err
	}
	e := previous.over()
	switch {
	case e == nil:
		return nil, badField("previous_response_id", "Response '%s' has not ended yet.", clip.Text(id))
	case e.finish == nil:
		return previous.answerRequest(asked)
	case previous.turn.Status != service.Succeeded:
		return nil, badField("previous_response_id", "Response '%s' did not complete and cannot be continued.", clip.Text(id))
	}
	session, err := c.Service.GetSession(c.Context(), c.Caller, previous.turn.SessionID)
	if err != nil {
		return nil, err
	}
	return c.beginIn(session, asked, &service.CreateTurn{SnapshotID: previous.turn.SnapshotID})
}

// findResponse returns a stored response of the caller as far as it is now. The error is
// service.ErrNotFound.
func (c *responseCall) findResponse(id string) (*answer, error) {
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
	a, err := c.readAnswer(turn, record, segment)
	if err != nil {
		return nil, err
	}
	if segment > 0 && (segment > len(a.ended) || segment == len(a.ended) && (a.ended[segment-1].finish != nil || turn.Status == service.Waiting && !a.begun)) {
		return nil, missing
	}
	if a.over() == nil && turn.Outcome != nil {
		a.Finish(turn.Outcome.RunFinish()) // the log is not kept to its end
	}
	return a, nil
}

// onResponse finds the response that the path names.
func onResponse(answerWith func(*responseCall, *answer) (any, error)) func(*responseCall) (any, error) {
	return func(c *responseCall) (any, error) {
		id := c.R.PathValue("id")
		a, err := c.findResponse(id)
		if errors.Is(err, service.ErrNotFound) {
			return nil, notFound("Response", id, "")
		}
		if err != nil {
			return nil, err
		}
		return answerWith(c, a)
	}
}

// readResponse answers with a response as it is, or with its events after one.
func (c *responseCall) readResponse(a *answer) (any, error) {
	q, after := c.R.URL.Query(), -1
	if text := q.Get("starting_after"); text != "" {
		var err error
		if after, err = strconv.Atoi(text); err != nil || after < 0 {
			return nil, badField("starting_after", "starting_after must be a number from 0 on")
		}
	}
	stream, err := strconv.ParseBool(cmp.Or(q.Get("stream"), "false"))
	if err != nil {
		return nil, badField("stream", "stream must be true or false")
	}
	if stream {
		again := c.newAnswer(a.turn, a.turnRecord, a.want)
		again.stream(newResponseStream(again, after))
		return nil, nil //nolint:nilnil // it is written
	}
	return newResponse(a), nil
}

// cancelResponse cancels a running response; an ended response stays as it is.
func (c *responseCall) cancelResponse(a *answer) (any, error) {
	if err := cancelTurn(a, "the client canceled the response"); err != nil {
		return nil, err
	}
	return onResponse(func(_ *responseCall, a *answer) (any, error) { return newResponse(a), nil })(c)
}

// cancelTurn cancels the turn if it still works on the response, or waits for the answers to its calls.
func cancelTurn(a *answer, reason string) error {
	e := a.over()
	if e != nil && (e.finish != nil || a.turn.Status != service.Waiting || a.want != len(a.ended)-1) {
		return nil
	}
	_, err := a.call.Service.CancelTurn(a.call.Context(), a.call.Caller, a.turn.ID, reason)
	return err
}

// deletedView is the answer to the deletion of something.
type deletedView struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Deleted bool   `json:"deleted"`
}

// deleteResponse makes a response unknown. Its turn remains, for those who read the log.
func (c *responseCall) deleteResponse(a *answer) (any, error) {
	if err := cancelTurn(a, "the client deleted the response"); err != nil {
		return nil, err
	}
	id := answerID(a.turn.ID, a.want)
	return deletedView{id, "response", true}, c.updateRecord(a.turn.SessionID, func(r *sessionRecord) error {
		r.Deleted = append(r.Deleted, id)
		return nil
	})
}

// listInput answers with the input of a response.
func (c *responseCall) listInput(a *answer) (any, error) {
	items, err := inputItems(a, a.want)
	if err != nil {
		return nil, err
	}
	return c.listPage(items)
}

// inputMark begins the numbers of items of the input.
const inputMark = "i"

// inputItems returns the input of a segment of a turn: the messages of the turn, or the
// answers that the segment began with.
func inputItems(a *answer, segment int) ([]json.RawMessage, error) {
	ctx, c := a.call.Context(), a.call
	var list []itemView
	if segment == 0 {
		messages, err := c.Service.TurnInput(ctx, c.Caller, a.turn.ID)
		if err != nil {
			return nil, err
		}
		for i := range messages {
			list = append(list, viewMessage(messagePrefix+a.core+"_"+inputMark+strconv.Itoa(i), &messages[i]))
		}
		return encodeAll(list)
	}
	answered, err := c.Service.ListInteractions(ctx, c.Caller, service.InteractionQuery{TurnID: a.turn.ID})
	if err != nil {
		return nil, err
	}
	for _, q := range a.ended[segment-1].questions {
		for _, i := range answered {
			if i.ID == q.InteractionRequest.ID {
				list = append(list, viewAnswer(a.asked[q], i))
			}
		}
	}
	return encodeAll(list)
}

// viewAnswer shows the answer to a question.
func viewAnswer(asked *item, i *service.Interaction) itemView {
	var given interaction.Answer
	_ = json.Unmarshal(i.Answer, &given) // nothing is answered then
	_, rest, _ := strings.Cut(asked.ID, "_")
	v := itemView{ID: outputPrefix + rest, Status: stateCompleted}
	switch asked.Type {
	case itemFunction:
		var output clienttool.Answer
		_ = json.Unmarshal(given.Result, &output) // as above
		v.Type, v.CallID, v.Output = itemOutput, asked.CallID, new(string)
		if output.Result != nil {
			v.Output = output.Result
		}
	case itemApproval:
		approved := given.Action == interaction.Resume
		v.Type, v.Status, v.RequestID, v.Approve, v.Reason = itemDecision, "", asked.ID, &approved, given.Reason
	default:
		text := string(given.Result)
		_ = json.Unmarshal(given.Result, &text) // otherwise it is JSON
		v.Type, v.Role, v.Content = itemMessage, surfacekit.RoleUser, &[]contentView{{Type: "input_text", Text: &text}}
	}
	return v
}

// sessionRecord is the data that a session stores for the surface.
type sessionRecord struct {
	// Deleted are the responses that were deleted.
	Deleted []string `json:"deleted,omitempty"`
	// Metadata is the metadata of a conversation. Items are the items that clients added to it;
	// a deleted one is null, because turns count them.
	Metadata map[string]string `json:"metadata,omitempty"`
	Items    []json.RawMessage `json:"items,omitempty"`
}

func (c *responseCall) sessionRecord(id string) (r sessionRecord, err error) {
	session, err := c.Service.GetSession(c.Context(), c.Caller, id)
	if err == nil {
		own.Decode(session.Metadata, &r) // a session without a record has the empty one
	}
	return r, err
}

// updateRecord changes the record of a session with a function, which is called again if
// another request changes the record at the same time.
func (c *responseCall) updateRecord(id string, change func(*sessionRecord) error) error {
	return c.Service.ChangeSessionMetadata(c.Context(), c.Caller, id, func(metadata json.RawMessage) (json.RawMessage, error) {
		var r sessionRecord
		own.Decode(metadata, &r) // a session without a record has the empty one
		if err := change(&r); err != nil {
			return nil, err
		}
		return own.Encode(r)
	})
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

// listPage returns the page of a list, from the oldest to the newest, that the query asks for.
func (c *responseCall) listPage(items []json.RawMessage) (any, error) {
	q, limit := c.R.URL.Query(), defaultPage
	if text := q.Get("limit"); text != "" {
		var err error
		if limit, err = strconv.Atoi(text); err != nil || limit < 1 || limit > maxPage {
			return nil, badField("limit", "limit must be a number from 1 to %d", maxPage)
		}
	}
	switch q.Get("order") {
	case "asc":
	case "", "desc":
		slices.Reverse(items)
	default:
		return nil, badField("order", "order must be asc or desc")
	}
	if after := q.Get("after"); after != "" {
		at := slices.IndexFunc(items, func(raw json.RawMessage) bool { return idOf(raw) == after })
		if at < 0 {
			return nil, badField("after", "Item with id '%s' not found.", clip.Text(after))
		}
		items = items[at+1:]
	}
	return newItemList(items, limit), nil
}

// newItemList returns the first items of a list.
func newItemList(items []json.RawMessage, limit int) itemList {
	page := itemList{Object: "list", Data: []json.RawMessage{}, HasMore: len(items) > limit}
	if page.Data = append(page.Data, items[:min(limit, len(items))]...); len(page.Data) > 0 {
		first, last := idOf(page.Data[0]), idOf(page.Data[len(page.Data)-1])
		page.FirstID, page.LastID = &first, &last
	}
	return page
}

func idOf(raw json.RawMessage) string {
	var i struct {
		ID string `json:"id"`
	}
	_ = json.Unmarshal(raw, &i) // our own
	return i.ID
}
