package aisdk

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/rawjson"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
	"github.com/agentruntime/agentruntime/service"
	clienttool "github.com/agentruntime/agentruntime/tools/client"
)

// chatView is a chat with its history, for a page that loads.
type chatView struct {
	ID       string      `json:"id"`
	Messages []uiMessage `json:"messages"`
}

// readChat answers with the history of a chat.
func (c *call) readChat() (any, error) {
	id := c.R.PathValue("chat")
	session, err := c.newChats().Get(c.Context(), id)
	if err != nil {
		return nil, err
	}
	list, err := c.SessionMessages(session)
	if err != nil {
		return nil, err
	}
	view := chatView{ID: id, Messages: viewMessages(list)}
	latest, err := surfacekit.LatestTurn(c.Context(), c.Service, c.Caller, session.ID)
	if err == nil && latest != nil && latest.Status != service.Succeeded {
		err = c.addLatest(&view, latest)
	}
	return view, err
}

// addLatest adds a turn that has not succeeded. The text of a running turn is left to the stream.
func (c *call) addLatest(view *chatView, turn *service.Turn) error {
	ctx, s := c.Context(), c.Service
	read := s.TurnInput
	if turn.Status == service.Waiting {
		read = s.TurnMessages
	}
	list, err := read(ctx, c.Caller, turn.ID)
	if err != nil {
		return err
	}
	added := viewMessages(list)
	asked, err := s.ListInteractions(ctx, c.Caller, service.InteractionQuery{TurnID: turn.ID})
	if err != nil {
		return err
	}
	for _, i := range asked {
		if i.State == service.InteractionPending {
			showQuestion(added, event.ShownID(turn.ID)+"/", i)
		}
	}
	view.Messages = append(view.Messages, added...)
	return nil
}

// showQuestion shows a question in the waiting call.
func showQuestion(list []uiMessage, prefix string, i *service.Interaction) {
	for m := range list {
		for p := range list[m].Parts {
			part := &list[m].Parts[p]
			if part.ToolCallID != prefix+i.Request.CallID {
				continue
			}
			if i.Request.Action == clienttool.Action {
				part.ProviderExecuted = false
				return
			}
			part.State, part.Approval = stateRequested, &approval{ID: prefix + i.Request.ID}
			return
		}
	}
}

// viewMessages returns messages in the page's form: the whole output of a turn is one message.
func viewMessages(list []model.Message) []uiMessage {
	views := []uiMessage{}
	for i := range list {
		m := &list[i]
		id := m.ID
		switch m.Role {
		case model.RoleAssistant:
			id = surfacekit.TurnOf(id)
			if n := len(views); n == 0 || views[n-1].Role != surfacekit.RoleAssistant || views[n-1].ID != id {
				views = append(views, uiMessage{ID: id, Role: surfacekit.RoleAssistant})
			}
			last := &views[len(views)-1]
			last.Parts = append(last.Parts, viewParts(m)...)
		case model.RoleTool:
			if n := len(views); n > 0 {
				addResults(&views[n-1], m)
			}
		default:
			views = append(views, uiMessage{ID: id, Role: string(m.Role), Parts: viewSaid(m)})
		}
	}
	return views
}

// viewSaid returns the parts of a user message.
func viewSaid(m *model.Message) []part {
	parts := []part{}
	for i := range m.Parts {
		switch p := &m.Parts[i]; {
		case p.Type == model.PartText:
			parts = append(parts, part{Type: "text", Text: p.Text})
		case p.Blob != nil:
			parts = append(parts, part{Type: "file", MediaType: p.Blob.MediaType, URL: surfacekit.DataURL(p.Blob), Filename: p.Blob.Name})
		}
	}
	return parts
}

// viewParts returns the parts of a model answer.
func viewParts(m *model.Message) []part {
	parts := []part{{Type: "step-start"}}
	for i := range m.Parts {
		switch p := &m.Parts[i]; {
		case p.Type == model.PartText:
			parts = append(parts, part{Type: "text", Text: p.Text, State: "done"})
		case p.Reasoning != nil && p.Reasoning.Text != "":
			parts = append(parts, part{Type: "reasoning", Text: p.Reasoning.Text, State: "done"})
		case p.ToolCall != nil:
			view := part{
				Type: typeTool + p.ToolCall.Name, State: stateInput, ToolCallID: surfacekit.TurnOf(m.ID) + "/" + p.ToolCall.ID,
				Input: rawjson.Object(p.ToolCall.Arguments), ProviderExecuted: true,
			}
			if isDynamic(p.ToolCall.Name) {
				view.Type, view.ToolName = "dynamic-tool", p.ToolCall.Name
			}
			parts = append(parts, view)
		}
	}
	return parts
}

// addResults adds the results of calls to the message that made them.
func addResults(view *uiMessage, m *model.Message) {
	for i := range m.Parts {
		r := m.Parts[i].ToolResult
		if r == nil {
			continue
		}
		at := slices.IndexFunc(view.Parts, func(p part) bool { return p.ToolCallID == surfacekit.TurnOf(m.ID)+"/"+r.CallID })
		if at < 0 {
			continue
		}
		p, text := &view.Parts[at], strings.ToValidUTF8(r.Text(), "\uFFFD")
		if r.IsError {
			p.State, p.ErrorText = stateError, text
			continue
		}
		p.State = stateOutput
		p.Output, _ = json.Marshal(outputOf(text)) // a text, or JSON
	}
}
