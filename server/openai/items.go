package openai

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/agentruntime/agentruntime/interaction"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
	"github.com/agentruntime/agentruntime/service"
	clienttool "github.com/agentruntime/agentruntime/tools/client"
)

// itemReader finds items of responses by their ids.
type itemReader struct {
	call  *call
	folds map[string]*fold
}

func newItemReader(c *call) *itemReader { return &itemReader{c, map[string]*fold{}} }

// find returns the messages for the model that an item stands for; nil if the caller has
// no such item.
func (r *itemReader) find(id string) ([]model.Message, error) {
	core, number := splitItemID(id)
	if n, err := strconv.Atoi(strings.TrimPrefix(number, inputMark)); err == nil && strings.HasPrefix(number, inputMark) {
		list, err := r.call.settings.Service.TurnInput(r.call.r.Context(), r.call.caller, responsePrefix+core)
		if errors.Is(err, service.ErrNotFound) || err == nil && (n < 0 || n >= len(list)) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		return list[n : n+1], nil
	}
	f, err := r.fold(core)
	if f == nil || err != nil {
		return nil, err
	}
	for _, e := range f.ended {
		for _, i := range e.items {
			if i.id == id {
				return i.toModel(), nil
			}
		}
	}
	return nil, nil
}

// fold returns the items of a turn; nil if the caller has no such turn.
func (r *itemReader) fold(core string) (*fold, error) {
	if f, ok := r.folds[core]; ok {
		return f, nil
	}
	turn, record, err := r.call.findTurn(responsePrefix + core)
	var f *fold
	if err == nil {
		f, err = r.call.foldSoFar(turn, record, 0)
	}
	if errors.Is(err, service.ErrNotFound) {
		err = nil
	}
	r.folds[core] = f
	return f, err
}

// toModel returns the item as the model reads it in a conversation that it is no part of.
func (i *item) toModel() []model.Message {
	parts := []model.Part{}
	switch i.kind {
	case itemMessage:
		parts = append(parts, model.Text(string(i.text)))
	case itemFunction:
		parts = append(parts, surfacekit.CallText(i.callID, i.name, i.arguments))
	case itemTool:
		parts = append(parts, surfacekit.CallText(i.id, i.name, i.arguments), surfacekit.ResultText(i.id, 0, string(i.text)))
	default:
		return []model.Message{}
	}
	return []model.Message{{Role: model.RoleAssistant, Parts: parts}}
}

// inputMark begins the numbers of items of the input.
const inputMark = "i"

// inputView is an item of an input or a conversation as it is shown.
type inputView struct {
	Type      string        `json:"type"`
	ID        string        `json:"id"`
	Role      string        `json:"role,omitempty"`
	Status    string        `json:"status,omitempty"`
	Content   []contentView `json:"content,omitempty"`
	CallID    string        `json:"call_id,omitempty"`
	Output    *string       `json:"output,omitempty"`
	RequestID string        `json:"approval_request_id,omitempty"`
	Approve   *bool         `json:"approve,omitempty"`
	Reason    string        `json:"reason,omitempty"`
}

// contentView is a part of a message. Its fields depend on its type.
type contentView struct {
	Type        string    `json:"type"`
	Text        *string   `json:"text,omitempty"`
	Annotations *[]string `json:"annotations,omitempty"`
	ImageURL    string    `json:"image_url,omitempty"`
	Detail      string    `json:"detail,omitempty"`
	FileData    string    `json:"file_data,omitempty"`
	FileURL     string    `json:"file_url,omitempty"`
	Filename    string    `json:"filename,omitempty"`
}

// viewMessage shows a message of an input.
func viewMessage(id string, m *model.Message) inputView {
	v := inputView{Type: itemMessage, ID: id, Role: string(m.Role), Status: stateCompleted, Content: []contentView{}}
	for i := range m.Parts {
		v.Content = append(v.Content, viewPart(m.Role, &m.Parts[i]))
	}
	return v
}

func viewPart(role model.Role, p *model.Part) contentView {
	address := func(b *model.Blob) string {
		if len(b.Data) == 0 {
			return b.URI
		}
		return "data:" + b.MediaType + ";base64," + base64.StdEncoding.EncodeToString(b.Data)
	}
	switch {
	case p.Type == model.PartImage && p.Blob != nil:
		return contentView{Type: "input_image", ImageURL: address(p.Blob), Detail: "auto"}
	case p.Type == model.PartFile && p.Blob != nil && len(p.Blob.Data) > 0:
		return contentView{Type: "input_file", FileData: address(p.Blob), Filename: p.Blob.Name}
	case p.Type == model.PartFile && p.Blob != nil:
		return contentView{Type: "input_file", FileURL: p.Blob.URI, Filename: p.Blob.Name}
	case role == model.RoleAssistant:
		return contentView{Type: "output_text", Text: &p.Text, Annotations: &[]string{}}
	default:
		return contentView{Type: "input_text", Text: &p.Text}
	}
}

// inputItems returns the input of a segment of a turn: the messages of the turn, or the
// answers that the segment began with.
func (c *call) inputItems(turn *service.Turn, f *fold, segment int) ([]json.RawMessage, error) {
	var list []inputView
	if segment == 0 {
		messages, err := c.settings.Service.TurnInput(c.r.Context(), c.caller, turn.ID)
		if err != nil {
			return nil, err
		}
		for i := range messages {
			list = append(list, viewMessage(messagePrefix+f.core+"_"+inputMark+strconv.Itoa(i), &messages[i]))
		}
		return encodeAll(list)
	}
	answered, err := c.settings.Service.ListInteractions(c.r.Context(), c.caller, service.InteractionQuery{TurnID: turn.ID})
	if err != nil {
		return nil, err
	}
	for _, q := range f.ended[segment-1].questions {
		for _, i := range answered {
			if i.ID == q.ID {
				list = append(list, viewAnswer(q, i))
			}
		}
	}
	return encodeAll(list)
}

// viewAnswer shows the answer to a question.
func viewAnswer(q *question, i *service.Interaction) inputView {
	var given interaction.Answer
	_ = json.Unmarshal(i.Answer, &given) // nothing is answered then
	_, rest, _ := strings.Cut(q.item.id, "_")
	v := inputView{ID: outputPrefix + rest, Status: stateCompleted}
	switch q.item.kind {
	case itemFunction:
		var output clienttool.Answer
		_ = json.Unmarshal(given.Result, &output) // as above
		v.Type, v.CallID, v.Output = "function_call_output", q.item.callID, new(string)
		if output.Result != nil {
			v.Output = output.Result
		}
	case itemApproval:
		approved := given.Action == interaction.Resume
		v.Type, v.Status, v.RequestID, v.Approve, v.Reason = "mcp_approval_response", "", q.item.id, &approved, given.Reason
	default:
		text := string(given.Result)
		_ = json.Unmarshal(given.Result, &text) // otherwise it is JSON
		v.Type, v.Role, v.Content = itemMessage, surfacekit.RoleUser, []contentView{{Type: "input_text", Text: &text}}
	}
	return v
}

func encodeAll[T any](list []T) ([]json.RawMessage, error) {
	all := make([]json.RawMessage, len(list))
	for i := range list {
		data, err := json.Marshal(list[i])
		if err != nil {
			return nil, err
		}
		all[i] = data
	}
	return all, nil
}
