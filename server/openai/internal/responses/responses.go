// Package responses serves responses and conversations.
package responses

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
	"github.com/agentruntime/agentruntime/server/openai/internal/run"
	"github.com/agentruntime/agentruntime/service"
	clienttool "github.com/agentruntime/agentruntime/tools/client"
)

// Routes returns the routes of responses and conversations.
func Routes(b *surfacekit.Base) []server.Route {
	route := func(pattern, scope string, answer func(*run.Call) (any, error)) server.Route {
		return run.NewRoute(b, pattern, scope, answer)
	}
	return []server.Route{
		server.Typed[Request, Response](route("POST /v1/responses", settings.ScopeRunsWrite, createResponse)).WithNewTurn().WithStream(),
		server.Typed[surfacekit.None, Response](route("GET /v1/responses/{id}", settings.ScopeRunsRead, onResponse(readResponse))).WithStream(),
		server.Typed[surfacekit.None, Response](route("POST /v1/responses/{id}/cancel", settings.ScopeRunsWrite, onResponse(cancelResponse))).WithAudit(server.AuditCancelTurn),
		server.Typed[surfacekit.None, DeletedView](route("DELETE /v1/responses/{id}", settings.ScopeRunsWrite, onResponse(deleteResponse))).WithAudit(server.AuditUpdateSession),
		server.Typed[surfacekit.None, ItemList](route("GET /v1/responses/{id}/input_items", settings.ScopeRunsRead, onResponse(listInput))),
		server.Typed[conversationRequest, ConversationView](route("POST /v1/conversations", settings.ScopeSessionsWrite, createConversation)).WithAudit(server.AuditCreateSession),
		server.Typed[surfacekit.None, ConversationView](route("GET /v1/conversations/{id}", settings.ScopeSessionsRead, onConversation(readConversation))),
		server.Typed[conversationRequest, ConversationView](route("POST /v1/conversations/{id}", settings.ScopeSessionsWrite, onConversation(updateConversation))).WithAudit(server.AuditUpdateSession),
		server.Typed[surfacekit.None, DeletedView](route("DELETE /v1/conversations/{id}", settings.ScopeSessionsWrite, onConversation(deleteConversation))).WithAudit(server.AuditUpdateSession),
		server.Typed[surfacekit.None, ItemList](route("GET /v1/conversations/{id}/items", settings.ScopeSessionsRead, onConversation(listItems))),
		server.Typed[conversationRequest, ItemList](route("POST /v1/conversations/{id}/items", settings.ScopeSessionsWrite, onConversation(createItems))).WithAudit(server.AuditUpdateSession),
		server.Typed[surfacekit.None, json.RawMessage](route("GET /v1/conversations/{id}/items/{item}", settings.ScopeSessionsRead, onConversation(readItem))),
		server.Typed[surfacekit.None, ConversationView](route("DELETE /v1/conversations/{id}/items/{item}", settings.ScopeSessionsWrite, onConversation(deleteItem))).WithAudit(server.AuditUpdateSession),
	}
}

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

// DeletedView is the response to a deletion.
type DeletedView struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Deleted bool   `json:"deleted"`
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

// inputMark prefixes the numbers of input items.
const inputMark = "i"

// inputItems returns the input of a turn's segment: the turn's messages, or the answers that began
// the segment.
func inputItems(a *run.Answer, segment int) ([]json.RawMessage, error) {
	ctx, c := a.Call.Context(), a.Call
	var list []run.ItemView
	if segment == 0 {
		messages, err := c.Service.TurnInput(ctx, c.Caller, a.Turn.ID)
		if err != nil {
			return nil, err
		}
		for i := range messages {
			list = append(list, run.ViewMessage(run.MessagePrefix+a.Core+"_"+inputMark+strconv.Itoa(i), &messages[i]))
		}
		return run.EncodeAll(list)
	}
	answered, err := c.Service.ListInteractions(ctx, c.Caller, service.InteractionQuery{TurnID: a.Turn.ID})
	if err != nil {
		return nil, err
	}
	for _, q := range a.Endings[segment-1].Questions {
		for _, i := range answered {
			if i.ID == q.InteractionRequest.ID {
				list = append(list, viewAnswer(a.Shown[q], i))
			}
		}
	}
	return run.EncodeAll(list)
}

// viewAnswer shows the answer to a question.
func viewAnswer(asked *run.Item, i *service.Interaction) run.ItemView {
	var given interaction.Answer
	_ = json.Unmarshal(i.Answer, &given) // nothing is answered then
	_, rest, _ := strings.Cut(asked.ID, "_")
	v := run.ItemView{ID: run.OutputPrefix + rest, Status: run.StateCompleted}
	switch asked.Type {
	case run.ItemFunction:
		var output clienttool.Answer
		_ = json.Unmarshal(given.Result, &output) // as above
		v.Type, v.CallID, v.Output = run.ItemOutput, asked.CallID, new(string)
		if output.Result != nil {
			v.Output = output.Result
		}
	case run.ItemApproval:
		approved := given.Action == interaction.Resume
		v.Type, v.Status, v.RequestID, v.Approve, v.Reason = run.ItemDecision, "", asked.ID, &approved, given.Reason
	default:
		text := string(given.Result)
		_ = json.Unmarshal(given.Result, &text) // otherwise it is JSON
		v.Type, v.Role, v.Content = run.ItemMessage, surfacekit.RoleUser, &[]run.ContentView{{Type: "input_text", Text: &text}}
	}
	return v
}

// sessionRecord is the data that a session stores for the surface.
type sessionRecord struct {
	// Deleted are the ids of deleted responses.
	Deleted []string `json:"deleted,omitempty"`
	// Metadata is the metadata of a conversation. Items are the items that clients added to it;
	// deleted ones become null, because turns count them.
	Metadata map[string]string `json:"metadata,omitempty"`
	Items    []json.RawMessage `json:"items,omitempty"`
}

// updateRecord changes the record of a session with a function, which is called again if another
// request changes the record concurrently.
func updateRecord(c *run.Call, id string, change func(*sessionRecord) error) error {
	return c.Service.ChangeSessionMetadata(c.Context(), c.Caller, id, func(metadata json.RawMessage) (json.RawMessage, error) {
		var r sessionRecord
		run.Own.Decode(metadata, &r) // without a record, r stays empty
		if err := change(&r); err != nil {
			return nil, err
		}
		return run.Encode(r, "items")
	})
}

// ItemList is a page of a list.
type ItemList struct {
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

// listPage returns the page of a list, oldest first, that the query selects.
func listPage(c *run.Call, items []json.RawMessage) (any, error) {
	q, limit := c.R.URL.Query(), defaultPage
	if text := q.Get("limit"); text != "" {
		var err error
		if limit, err = strconv.Atoi(text); err != nil || limit < 1 || limit > maxPage {
			return nil, run.BadField("limit", "limit must be a number from 1 to %d", maxPage)
		}
	}
	switch q.Get("order") {
	case "asc":
	case "", "desc":
		slices.Reverse(items)
	default:
		return nil, run.BadField("order", "order must be asc or desc")
	}
	if after := q.Get("after"); after != "" {
		at := slices.IndexFunc(items, func(raw json.RawMessage) bool { return IDOf(raw) == after })
		if at < 0 {
			return nil, run.BadField("after", "Item with id '%s' not found.", clip.Text(after))
		}
		items = items[at+1:]
	}
	return newItemList(items, limit), nil
}

// newItemList returns the first items of a list.
func newItemList(items []json.RawMessage, limit int) ItemList {
	page := ItemList{Object: "list", Data: []json.RawMessage{}, HasMore: len(items) > limit}
	if page.Data = append(page.Data, items[:min(limit, len(items))]...); len(page.Data) > 0 {
		first, last := IDOf(page.Data[0]), IDOf(page.Data[len(page.Data)-1])
		page.FirstID, page.LastID = &first, &last
	}
	return page
}

// IDOf returns the id of an item.
func IDOf(raw json.RawMessage) string {
	var i struct {
		ID string `json:"id"`
	}
	_ = json.Unmarshal(raw, &i) // our own
	return i.ID
}
