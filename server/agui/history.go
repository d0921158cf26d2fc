package agui

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/agentruntime/agentruntime/internal/rawjson"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
	"github.com/agentruntime/agentruntime/service"
)

// readHistory returns the messages of the thread and the input of its current turn; nil for a
// thread without any. If the history is too large for one event, the oldest messages are left out.
func (x *exchange) readHistory(turn *service.Turn) ([]json.RawMessage, error) {
	if x.session == nil {
		return nil, nil
	}
	list, err := x.SessionMessages(x.session)
	if err != nil {
		return nil, err
	}
	if turn != nil {
		input, err := x.Service.TurnInput(x.Context(), x.Caller, turn.ID)
		if err != nil {
			return nil, err
		}
		list = slices.Concat(list, input)
	}
	var views []object
	for i := range list {
		views = append(views, viewMessage(&list[i], i)...)
	}
	shown := []json.RawMessage{}
	size := 0
	for _, view := range slices.Backward(views) {
		data, err := json.Marshal(view)
		if err != nil {
			return nil, err
		}
		if size += len(data); size > server.MaxLastFrame {
			break
		}
		shown = append(shown, data)
	}
	slices.Reverse(shown)
	return shown, nil
}

// viewMessage returns a message in the client's form: several if it has thoughts or results.
func viewMessage(m *model.Message, index int) []object {
	id := cmp.Or(m.ID, "message/"+strconv.Itoa(index))
	switch m.Role {
	case model.RoleAssistant:
		return viewAnswer(m, id)
	case model.RoleTool:
		var views []object
		for i := range m.Parts {
			if r := m.Parts[i].ToolResult; r != nil {
				callID := surfacekit.TurnOf(id) + "/" + r.CallID
				views = append(views, object{"id": resultID(callID), "role": surfacekit.RoleTool, "toolCallId": callID, "content": strings.ToValidUTF8(r.Text(), "\uFFFD")})
			}
		}
		return views
	default:
		return []object{{"id": id, "role": m.Role, "content": viewContent(m)}}
	}
}

// viewAnswer returns a message of the model.
func viewAnswer(m *model.Message, id string) (views []object) {
	var calls []toolCall
	thoughts := 0
	for i := range m.Parts {
		p := &m.Parts[i]
		switch {
		case p.ToolCall != nil:
			calls = append(calls, toolCall{surfacekit.TurnOf(id) + "/" + p.ToolCall.ID, "function", functionCall{p.ToolCall.Name, string(rawjson.Object(p.ToolCall.Arguments))}})
		case p.Reasoning != nil && p.Reasoning.Text != "":
			thoughts++
			views = append(views, object{"id": id + "/r" + strconv.Itoa(thoughts), "role": "reasoning", "content": p.Reasoning.Text})
		}
	}
	answer := object{"id": id, "role": surfacekit.RoleAssistant}
	if text := m.Text(); text != "" || len(calls) == 0 {
		answer["content"] = text
	}
	if len(calls) > 0 {
		answer["toolCalls"] = calls
	}
	return append(views, answer)
}

// viewContent returns the content of a message of the user: text, or parts if it has files.
func viewContent(m *model.Message) any {
	if !slices.ContainsFunc(m.Parts, func(p model.Part) bool { return p.Blob != nil }) {
		return m.Text()
	}
	parts := []object{}
	for i := range m.Parts {
		p := &m.Parts[i]
		switch {
		case p.Type == model.PartText:
			parts = append(parts, object{"type": "text", "text": p.Text})
		case p.Blob != nil:
			parts = append(parts, viewFile(p.Blob))
		}
	}
	return parts
}

func viewFile(b *model.Blob) object {
	kind, _, _ := strings.Cut(b.MediaType, "/")
	if kind != "image" && kind != "audio" && kind != "video" {
		kind = "document"
	}
	source := object{"type": "url", "value": b.URI}
	if len(b.Data) > 0 {
		_, data, _ := strings.Cut(surfacekit.DataURL(b), ",")
		source = object{"type": "data", "value": data}
	}
	if b.MediaType != "" {
		source["mimeType"] = b.MediaType
	}
	return object{"type": kind, "source": source}
}

// object is an event or a message.
type object map[string]any

// resultID returns the id of the message with the result of a call.
func resultID(callID string) string { return callID + "/result" }
