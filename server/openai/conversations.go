package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/service"
)

// maxItems is how many items a request may add to a conversation.
const maxItems = 20

// conversation is a session in which responses are made.
type conversation struct {
	*service.Session
	record sessionRecord
	// turns are those of the session, from the oldest to the newest, of which failed ones
	// are no part of the conversation.
	turns []*conversationTurn
}

type conversationTurn struct {
	*service.Turn
	record turnRecord
}

// conversationView is a conversation as it is shown.
type conversationView struct {
	ID        string            `json:"id"`
	Object    string            `json:"object"`
	CreatedAt int64             `json:"created_at"`
	Metadata  map[string]string `json:"metadata"`
}

// conversationRequest is the body of a request that makes or changes a conversation.
type conversationRequest struct {
	Items    []json.RawMessage `json:"items,omitempty"`
	Metadata map[string]string `json:"metadata,omitempty"`
}

func viewConversation(s *service.Session, record *sessionRecord) conversationView {
	v := conversationView{ID: s.ID, Object: "conversation", CreatedAt: s.CreatedAt.Unix(), Metadata: record.Metadata}
	if v.Metadata == nil {
		v.Metadata = map[string]string{}
	}
	return v
}

func (c *call) createConversation() error {
	var r conversationRequest
	if _, err := c.readBody(&r, nil); err != nil {
		return err
	}
	id := conversationPrefix + c.settings.Service.NewID()
	record := sessionRecord{Metadata: r.Metadata}
	if _, err := c.addStored(id, &record, r.Items); err != nil {
		return err
	}
	if err := (&samplingFields{Metadata: r.Metadata}).apply(new(turnRequest)); err != nil {
		return err
	}
	metadata, err := own.Encode(record)
	if err != nil {
		return err
	}
	made, err := c.settings.Service.CreateSession(c.r.Context(), c.caller, service.CreateSession{ID: id, Labels: map[string]string{ownLabel: "conv"}, Metadata: metadata})
	if err != nil {
		return err
	}
	return server.WriteJSON(c.w, http.StatusOK, viewConversation(made, &record))
}

// addStored adds items to those that the session itself keeps, and returns them.
func (c *call) addStored(sessionID string, record *sessionRecord, items []json.RawMessage) ([]json.RawMessage, error) {
	if len(items) > maxItems {
		return nil, badField("items", "items has %d elements; %d are allowed", len(items), maxItems)
	}
	for i, raw := range items {
		path := fmt.Sprintf("items[%d]", i)
		in := new(input)
		var one inputItem
		if err := json.Unmarshal(raw, &one); err != nil {
			return nil, badField(path, "%s must be an item", path)
		}
		if err := in.addItem(&one, path); err != nil {
			return nil, err
		}
		record.Added++
		view, err := storedView(raw, &one, in, messagePrefix+coreOf(sessionID[len(conversationPrefix):])+"_"+storedMark+strconv.Itoa(record.Added))
		if err != nil {
			return nil, err
		}
		record.Items = append(record.Items, view)
	}
	return record.Items[len(record.Items)-len(items):], nil
}

// storedMark begins the numbers of items that the session keeps.
const storedMark = "s"

// storedView returns an item as a conversation keeps and shows it: a message with its parts
// in a list, and any other item as it is, with an id.
func storedView(raw json.RawMessage, i *inputItem, in *input, id string) (json.RawMessage, error) {
	if (i.Type == "" || i.Type == itemMessage) && len(in.messages) == 1 {
		return json.Marshal(viewMessage(id, &in.messages[0]))
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		return nil, err
	}
	fields["id"] = json.RawMessage(strconv.Quote(id))
	return json.Marshal(fields)
}

// findConversation returns the conversation of the caller with an id.
func (c *call) findConversation(id string) (*conversation, error) {
	found := new(conversation)
	var err error
	found.Session, err = c.settings.Service.GetSession(c.r.Context(), c.caller, id)
	if errors.Is(err, service.ErrNotFound) || err == nil && (found.Labels[ownLabel] != "conv" || found.State == service.SessionArchived) {
		return nil, notFound("Conversation", id)
	}
	if err != nil {
		return nil, err
	}
	own.Decode(found.Metadata, &found.record)
	return found, nil
}

// readTurns reads the turns of the conversation, newest first, up to a number; 0 reads all.
func (c *call) readTurns(of *conversation, most int) error {
	q := service.TurnQuery{SessionID: of.ID, Page: service.Page{Limit: service.MaxPage}}
	if most > 0 {
		q.Page.Limit = most
	}
	for {
		page, err := c.settings.Service.ListTurns(c.r.Context(), c.caller, q)
		if err != nil {
			return err
		}
		for _, turn := range page.Turns {
			one := &conversationTurn{Turn: turn}
			own.Decode(turn.Metadata, &one.record) // a turn of another protocol takes no items
			of.turns = append(of.turns, one)
		}
		if q.Page.After = page.Next; page.Next == "" || most > 0 {
			slices.Reverse(of.turns)
			return nil
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

// beginInConversation begins a turn in a conversation, or gives the one that waits there
// what it waits for.
func (c *call) beginInConversation(id string, asked *turnRequest, in *input) (*answer, error) {
	v, err := c.findConversation(id)
	if err != nil {
		return nil, err
	}
	if err := c.readTurns(v, 1); err != nil {
		return nil, err
	}
	if len(v.turns) > 0 && v.turns[0].Status == service.Waiting {
		last := v.turns[0]
		f, err := c.foldSoFar(last.Turn, last.record, 0)
		if err != nil {
			return nil, err
		}
		if f.want = len(f.ended) - 1; f.want >= 0 {
			return c.answerQuestions(last.Turn, f, in.outputs, in.said)
		}
	}
	if len(in.outputs) > 0 {
		return nil, badField("input", "No tool call found for function call output with call_id '%s'.", clip.Text(in.outputs[len(in.outputs)-1].callID))
	}
	if err := asked.setInput(in); err != nil {
		return nil, err
	}
	earlier := new(input)
	asked.record.TookFrom, asked.record.TookTo = v.taken(), len(v.record.Items)
	for i, raw := range v.record.Items[asked.record.TookFrom:] {
		var one inputItem
		if err := json.Unmarshal(raw, &one); err != nil {
			return nil, err
		}
		if err := earlier.addItem(&one, fmt.Sprintf("items[%d]", i)); err != nil {
			return nil, err
		}
	}
	asked.record.Took = len(earlier.messages)
	asked.before = append(earlier.messages, asked.before...)
	asked.record.Echo.Conversation = &conversationRef{id}
	return c.beginIn(v.Session, asked, func(turn *service.CreateTurn) { turn.OnBusy = service.RejectBusy })
}

// listAll returns all items of the conversation, from the oldest to the newest.
func (c *call) listAll(v *conversation) ([]json.RawMessage, error) {
	if err := c.readTurns(v, 0); err != nil {
		return nil, err
	}
	var all []json.RawMessage
	for _, turn := range v.turns {
		if turn.Status == service.Failed || turn.Status == service.Canceled || turn.record.Echo == nil {
			continue
		}
		all = append(all, v.record.Items[turn.record.TookFrom:turn.record.TookTo]...)
		f, err := c.foldSoFar(turn.Turn, turn.record, 0)
		if err != nil {
			return nil, err
		}
		for segment, e := range f.ended {
			given, err := c.inputItems(turn.Turn, f, segment)
			if err != nil {
				return nil, err
			}
			if segment == 0 {
				given = given[min(turn.record.Took, len(given)):]
			}
			made, err := encodeAll(e.items)
			if err != nil {
				return nil, err
			}
			all = slices.Concat(all, given, made)
		}
	}
	return append(all, v.record.Items[v.taken():]...), nil
}

func (c *call) pathConversation() (*conversation, error) {
	return c.findConversation(c.r.PathValue("id"))
}

func (c *call) readConversation() error {
	v, err := c.pathConversation()
	if err != nil {
		return err
	}
	return server.WriteJSON(c.w, http.StatusOK, viewConversation(v.Session, &v.record))
}

func (c *call) updateConversation() error {
	var r conversationRequest
	if _, err := c.readBody(&r, nil); err != nil {
		return err
	}
	if err := (&samplingFields{Metadata: r.Metadata}).apply(new(turnRequest)); err != nil {
		return err
	}
	v, err := c.pathConversation()
	if err != nil {
		return err
	}
	v.record.Metadata = r.Metadata
	if err := c.saveRecord(v); err != nil {
		return err
	}
	return server.WriteJSON(c.w, http.StatusOK, viewConversation(v.Session, &v.record))
}

func (c *call) saveRecord(v *conversation) error {
	return c.updateRecord(v.ID, func(r *sessionRecord) { *r = v.record })
}

// deleteConversation makes a conversation unknown. Its responses remain.
func (c *call) deleteConversation() error {
	v, err := c.pathConversation()
	if err != nil {
		return err
	}
	archived := service.SessionArchived
	if _, err := c.settings.Service.UpdateSession(c.r.Context(), c.caller, v.ID, service.SessionPatch{State: &archived}); err != nil {
		return err
	}
	return server.WriteJSON(c.w, http.StatusOK, deletedView{v.ID, "conversation.deleted", true})
}

func (c *call) listItems() error {
	v, err := c.pathConversation()
	if err != nil {
		return err
	}
	all, err := c.listAll(v)
	if err != nil {
		return err
	}
	return c.writeList(all)
}

func (c *call) createItems() error {
	var r conversationRequest
	if _, err := c.readBody(&r, nil); err != nil {
		return err
	}
	v, err := c.pathConversation()
	if err != nil {
		return err
	}
	added, err := c.addStored(v.ID, &v.record, r.Items)
	if err == nil {
		err = c.saveRecord(v)
	}
	if err != nil {
		return err
	}
	list := itemList{Object: "list", Data: added}
	if list.Data == nil {
		list.Data = []json.RawMessage{}
	}
	if n := len(added); n > 0 {
		first, last := idOf(added[0]), idOf(added[n-1])
		list.FirstID, list.LastID = &first, &last
	}
	return server.WriteJSON(c.w, http.StatusOK, list)
}

func (c *call) readItem() error {
	v, err := c.pathConversation()
	if err != nil {
		return err
	}
	all, err := c.listAll(v)
	if err != nil {
		return err
	}
	id := c.r.PathValue("item")
	for _, raw := range all {
		if idOf(raw) == id {
			return server.WriteJSON(c.w, http.StatusOK, raw)
		}
	}
	return notFound("Item", id)
}

// deleteItem deletes an item that no response has read; others are part of the log.
func (c *call) deleteItem() error {
	v, err := c.pathConversation()
	if err != nil {
		return err
	}
	all, err := c.listAll(v)
	if err != nil {
		return err
	}
	id := c.r.PathValue("item")
	isIt := func(raw json.RawMessage) bool { return idOf(raw) == id }
	if !slices.ContainsFunc(all, isIt) {
		return notFound("Item", id)
	}
	at := slices.IndexFunc(v.record.Items, isIt)
	if at < v.taken() {
		return badField("", "Item '%s' is part of a response and cannot be deleted.", clip.Text(id))
	}
	v.record.Items = slices.Delete(v.record.Items, at, at+1)
	if err := c.saveRecord(v); err != nil {
		return err
	}
	return server.WriteJSON(c.w, http.StatusOK, viewConversation(v.Session, &v.record))
}
