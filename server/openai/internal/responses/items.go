package responses

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
	"github.com/agentruntime/agentruntime/server/openai/internal/run"
	"github.com/agentruntime/agentruntime/service"
	clienttool "github.com/agentruntime/agentruntime/tools/client"
)

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
		page.FirstID, page.LastID = new(IDOf(page.Data[0])), new(IDOf(page.Data[len(page.Data)-1]))
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
		v.Type, v.Status, v.RequestID, v.Approve, v.Reason = run.ItemDecision, "", asked.ID, new(given.Action == interaction.Resume), given.Reason
	default:
		text := string(given.Result)
		_ = json.Unmarshal(given.Result, &text) // otherwise it is JSON
		v.Type, v.Role, v.Content = run.ItemMessage, surfacekit.RoleUser, &[]run.ContentView{{Type: "input_text", Text: &text}}
	}
	return v
}
