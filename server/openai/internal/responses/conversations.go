package responses

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
	"github.com/agentruntime/agentruntime/server/openai/internal/run"
	"github.com/agentruntime/agentruntime/service"
)

// maxItems is how many items a request may add to a conversation.
const maxItems = 20

// conversation is a session that holds responses.
type conversation struct {
	*service.Session
	record sessionRecord
	// turns are the turns of the session, oldest first. Failed turns are not part of the
	// conversation.
	turns []*conversationTurn
}

type conversationTurn struct {
	*service.Turn
	record run.Record
}

// ConversationView is a conversation in the protocol's form.
type ConversationView struct {
	ID        string            `json:"id"`
	Object    string            `json:"object"`
	CreatedAt int64             `json:"created_at"`
	Metadata  map[string]string `json:"metadata"`
}

// conversationRequest is the body of a request to create or change a conversation.
type conversationRequest struct {
	Items    []json.RawMessage `json:"items,omitempty"`
	Metadata map[string]string `json:"metadata,omitempty"`
}

func viewConversation(s *service.Session, record *sessionRecord) ConversationView {
	v := ConversationView{ID: s.ID, Object: "conversation", CreatedAt: s.CreatedAt.Unix(), Metadata: record.Metadata}
	if v.Metadata == nil {
		v.Metadata = map[string]string{}
	}
	return v
}

func createConversation(c *run.Call) (any, error) {
	r, err := readConversationRequest(c)
	if err != nil {
		return nil, err
	}
	id := run.ConversationPrefix + c.Service.NewID()
	record := sessionRecord{Metadata: r.Metadata}
	if _, err := addStored(id, &record, r.Items); err != nil {
		return nil, err
	}
	metadata, err := run.Encode(record, "items")
	if err != nil {
		return nil, err
	}
	made, err := c.Service.CreateSession(c.Context(), c.Caller, service.CreateSession{ID: id, Labels: map[string]string{run.Label: "conv"}, Metadata: metadata})
	if err != nil {
		return nil, err
	}
	return viewConversation(made, &record), nil
}

func readConversationRequest(c *run.Call) (r conversationRequest, err error) {
	if _, err = c.ReadBody(&r, nil); err == nil {
		err = run.CheckMetadata(r.Metadata)
	}
	return r, err
}

// addStored adds items to the session's own items and returns them.
func addStored(sessionID string, record *sessionRecord, items []json.RawMessage) ([]json.RawMessage, error) {
	if len(items) > maxItems {
		return nil, run.BadField("items", "items has %d elements; %d are allowed", len(items), maxItems)
	}
	for i, raw := range items {
		path := fmt.Sprintf("items[%d]", i)
		in := new(run.Input)
		var one run.InputItem
		if err := surfacekit.DecodeAt(raw, &one, path); err != nil {
			return nil, err
		}
		if err := in.AddItem(&one, path); err != nil {
			return nil, err
		}
		id := run.MessagePrefix + strings.TrimPrefix(sessionID, run.ConversationPrefix) + "_" + storedMark + strconv.Itoa(len(record.Items)+1)
		view, err := storedView(raw, &one, in, id)
		if err != nil {
			return nil, err
		}
		record.Items = append(record.Items, view)
	}
	return record.Items[len(record.Items)-len(items):], nil
}

// storedMark prefixes the numbers of items stored in the session.
const storedMark = "s"

// storedView returns an item in the form that a conversation stores and shows: a message with its
// parts in a list, and any other item unchanged, with an id.
func storedView(raw json.RawMessage, i *run.InputItem, in *run.Input, id string) (json.RawMessage, error) {
	if (i.Type == "" || i.Type == run.ItemMessage) && len(in.Messages) == 1 {
		return json.Marshal(run.ViewMessage(id, &in.Messages[0]))
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		return nil, err
	}
	fields["id"] = json.RawMessage(strconv.Quote(id))
	return json.Marshal(fields)
}

// findConversation returns the caller's conversation with an id. param is the parameter with the
// id; empty for an id in the path.
func findConversation(c *run.Call, id, param string) (*conversation, error) {
	found := new(conversation)
	var err error
	found.Session, err = c.Service.GetSession(c.Context(), c.Caller, id)
	if errors.Is(err, service.ErrNotFound) || err == nil && (found.Labels[run.Label] != "conv" || found.State == service.SessionArchived) {
		return nil, run.NotFound("Conversation", id, param)
	}
	if err != nil {
		return nil, err
	}
	run.Own.Decode(found.Metadata, &found.record)
	return found, nil
}

// readTurns reads the most recent turns of the conversation, up to a number; 0 reads all.
func readTurns(c *run.Call, of *conversation, most int) error {
	q := service.TurnQuery{SessionID: of.ID, Page: service.Page{Limit: service.MaxPage}}
	if most > 0 {
		q.Page.Limit = most
	}
	for {
		page, err := c.Service.ListTurns(c.Context(), c.Caller, q)
		if err != nil {
			return err
		}
		for _, turn := range page.Turns {
			one := &conversationTurn{Turn: turn}
			run.Own.Decode(turn.Metadata, &one.record) // turns of other protocols take no items
			of.turns = append(of.turns, one)
		}
		if q.Page.After = page.Next; page.Next == "" || most > 0 {
			slices.Reverse(of.turns)
			session, err := c.Service.GetSession(c.Context(), c.Caller, of.ID) // the turns may have taken new items
			if of.record = (sessionRecord{}); err == nil {
				run.Own.Decode(session.Metadata, &of.record)
			}
			return err
		}
	}
}

// taken returns how many of the items of the session its turns have taken.
func (v *conversation) taken() int {
	if len(v.turns) == 0 {
		return 0
	}
	last := v.turns[len(v.turns)-1]
	if last.Status == service.Failed || last.Status == service.Canceled {
		return last.record.TookFrom
	}
	return last.record.TookTo
}

// beginInConversation starts a turn in a conversation, answers its waiting turn, or repeats the
// newest turn's answer to a request with the same idempotency key.
func beginInConversation(c *run.Call, id string, asked *run.Request, body []byte) (*run.Answer, error) {
	v, err := findConversation(c, id, "conversation")
	if err != nil {
		return nil, err
	}
	if err := readTurns(c, v, 1); err != nil {
		return nil, err
	}
	if asked.Record.Key, err = c.ReadKey(); err != nil {
		return nil, err
	}
	if key := asked.Record.Key; key != "" {
		asked.Record.Body = surfacekit.HashKey(run.Label, string(body))
		if last := v.turns; len(last) > 0 && last[0].record.Key == key {
			if last[0].record.Body != asked.Record.Body {
				return nil, &service.KeyConflictError{Key: key, ID: last[0].ID}
			}
			return c.NewAnswer(last[0].Turn, last[0].record, 0), nil
		}
	}
	if len(v.turns) > 0 && v.turns[0].Status == service.Waiting {
		a, err := c.ReadAnswer(v.turns[0].Turn, v.turns[0].record, 0)
		if err != nil {
			return nil, err
		}
		if a.Want = len(a.Endings) - 1; a.Want >= 0 {
			return a.AnswerRequest(asked)
		}
	}
	var earlier run.Input
	asked.Record.TookFrom, asked.Record.TookTo = v.taken(), len(v.record.Items)
	for i, raw := range v.record.Items[asked.Record.TookFrom:] {
		var one run.InputItem
		if err := json.Unmarshal(raw, &one); err != nil {
			return nil, err
		}
		if isDeleted(raw) {
			continue
		}
		if err := earlier.AddItem(&one, fmt.Sprintf("items[%d]", i)); err != nil {
			return nil, err
		}
	}
	asked.Earlier, asked.Record.Took = earlier.Messages, len(earlier.Messages)
	asked.Record.Echo.Conversation = &run.ConversationRef{ID: id}
	turn := &service.CreateTurn{OnBusy: service.RejectBusy, IdempotencyKey: surfacekit.HashKey(run.Label, "after "+v.lastTurn()+" of "+id)}
	turn.IdempotencyBody = strconv.AppendQuote(nil, c.Service.NewID()) // so that only one response follows the turn that was read
	a, err := c.BeginIn(v.Session, asked, turn)
	if taken, ok := errors.AsType[*service.KeyConflictError](err); ok {
		return nil, &service.BusyError{SessionID: id, TurnID: taken.ID}
	}
	return a, err
}

// lastTurn returns the id of the newest turn; empty without one.
func (v *conversation) lastTurn() string {
	if len(v.turns) == 0 {
		return ""
	}
	return v.turns[len(v.turns)-1].ID
}

// listAll returns all items of the conversation, from the oldest to the newest.
func listAll(c *run.Call, v *conversation) ([]json.RawMessage, error) {
	if err := readTurns(c, v, 0); err != nil {
		return nil, err
	}
	var all []json.RawMessage
	for _, turn := range v.turns {
		if turn.Status == service.Failed || turn.Status == service.Canceled || turn.record.Echo == nil {
			continue
		}
		all = append(all, v.record.Items[turn.record.TookFrom:turn.record.TookTo]...)
		a, err := c.ReadAnswer(turn.Turn, turn.record, 0)
		if err != nil {
			return nil, err
		}
		for segment, e := range a.Endings {
			given, err := inputItems(a, segment)
			if err != nil {
				return nil, err
			}
			if segment == 0 {
				given = given[min(turn.record.Took, len(given)):]
			}
			made, err := run.EncodeAll(e.Items)
			if err != nil {
				return nil, err
			}
			all = slices.Concat(all, given, made)
		}
	}
	return slices.DeleteFunc(append(all, v.record.Items[v.taken():]...), isDeleted), nil
}

// isDeleted reports whether a client deleted an item of the session.
func isDeleted(item json.RawMessage) bool { return string(item) == "null" }

// onConversation finds the conversation in the path.
func onConversation(answerWith func(*run.Call, *conversation) (any, error)) func(*run.Call) (any, error) {
	return func(c *run.Call) (any, error) {
		v, err := findConversation(c, c.R.PathValue("id"), "")
		if err != nil {
			return nil, err
		}
		return answerWith(c, v)
	}
}

func readConversation(_ *run.Call, v *conversation) (any, error) {
	return viewConversation(v.Session, &v.record), nil
}

func updateConversation(c *run.Call, v *conversation) (any, error) {
	r, err := readConversationRequest(c)
	if err != nil {
		return nil, err
	}
	if r.Items != nil {
		return nil, run.RejectParameter("items", "post them to the items of the conversation")
	}
	v.record.Metadata = r.Metadata
	return viewConversation(v.Session, &v.record), updateRecord(c, v.ID, func(kept *sessionRecord) error {
		kept.Metadata = r.Metadata
		return nil
	})
}

// deleteConversation hides a conversation. Its responses remain.
func deleteConversation(c *run.Call, v *conversation) (any, error) {
	_, err := c.Service.UpdateSession(c.Context(), c.Caller, v.ID, service.SessionPatch{State: new(service.SessionArchived)})
	return DeletedView{v.ID, "conversation.deleted", true}, err
}

func listItems(c *run.Call, v *conversation) (any, error) {
	all, err := listAll(c, v)
	if err != nil {
		return nil, err
	}
	return listPage(c, all)
}

func createItems(c *run.Call, v *conversation) (any, error) {
	r, err := readConversationRequest(c)
	if err != nil {
		return nil, err
	}
	if r.Items == nil {
		return nil, run.MissingField("items")
	}
	var added []json.RawMessage
	err = updateRecord(c, v.ID, func(kept *sessionRecord) (err error) {
		added, err = addStored(v.ID, kept, r.Items)
		return err
	})
	return newItemList(added, maxItems), err
}

func readItem(c *run.Call, v *conversation) (any, error) {
	all, err := listAll(c, v)
	if err != nil {
		return nil, err
	}
	id := c.R.PathValue("item")
	at := slices.IndexFunc(all, func(raw json.RawMessage) bool { return IDOf(raw) == id })
	if at < 0 {
		return nil, run.NotFound("Item", id, "")
	}
	return all[at], nil
}

// deleteItem deletes an item that no response has read; others are part of the log.
func deleteItem(c *run.Call, v *conversation) (any, error) {
	if _, err := readItem(c, v); err != nil {
		return nil, err
	}
	id := c.R.PathValue("item")
	at := slices.IndexFunc(v.record.Items, func(raw json.RawMessage) bool { return IDOf(raw) == id })
	if at < v.taken() {
		return nil, run.BadField("item_id", "Item '%s' is part of a response and cannot be deleted.", clip.Text(id))
	}
	return viewConversation(v.Session, &v.record), updateRecord(c, v.ID, func(kept *sessionRecord) error {
		kept.Items[at] = run.Null
		return nil
	})
}
