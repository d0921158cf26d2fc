package run

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
)

// Prefixes of ids. The id of a turn is also the id of its first response or completion; later
// responses append the segment number, and items the item number.
const (
	ChatPrefix         = "chatcmpl-"
	ResponsePrefix     = "resp_"
	ConversationPrefix = "conv_"

	callPrefix     = "call_"
	MessagePrefix  = "msg_"
	thoughtPrefix  = "rs_"
	functionPrefix = "fc_"
	toolPrefix     = "mcp_"
	approvalPrefix = "mcpr_"
	OutputPrefix   = "fco_"
)

// AnswerID returns the id of the response or completion for a segment of a turn.
func AnswerID(turnID string, segment int) string {
	if segment == 0 {
		return turnID
	}
	return turnID + "_" + strconv.Itoa(segment)
}

// SplitAnswerID returns the turn and the segment of a response; false for any other id.
func SplitAnswerID(id string) (turnID string, segment int, ok bool) {
	rest, ok := strings.CutPrefix(id, ResponsePrefix)
	core, number, later := strings.Cut(rest, "_")
	if !ok || core == "" || !later {
		return id, 0, ok && core != ""
	}
	segment, err := strconv.Atoi(number)
	return ResponsePrefix + core, segment, err == nil && segment > 0
}

// CoreOf returns the part of a turn's id that the ids of its items repeat.
func CoreOf(turnID string) string {
	return strings.TrimPrefix(strings.TrimPrefix(turnID, ChatPrefix), ResponsePrefix)
}

func itemID(prefix, core string, number int) string {
	return prefix + core + "_" + strconv.Itoa(number)
}

// SplitItemID returns the core and the number in the id of an item or a call; empty for any other
// id.
func SplitItemID(id string) (core, number string) {
	_, rest, _ := strings.Cut(id, "_")
	core, number, _ = strings.Cut(rest, "_")
	return core, number
}

// The types of items.
const (
	ItemMessage  = "message"
	ItemThought  = "reasoning"
	ItemFunction = "function_call"
	ItemTool     = "mcp_call"
	ItemApproval = "mcp_approval_request"
	ItemOutput   = "function_call_output"
	ItemDecision = "mcp_approval_response"
)

// States of items and responses.
const (
	StateQueued     = "queued"
	StateRunning    = "in_progress"
	StateCompleted  = "completed"
	StateIncomplete = "incomplete"
	StateFailed     = "failed"
	StateCanceled   = "cancelled"
)

// The phases of messages.
const (
	phaseInterim = "commentary"
	phaseFinal   = "final_answer"
)

// ItemView is an item in the client's form. Its fields depend on its type.
type ItemView struct {
	Type      string         `json:"type"`
	ID        string         `json:"id"`
	Role      string         `json:"role,omitempty"`
	CallID    string         `json:"call_id,omitempty"`
	Label     string         `json:"server_label,omitempty"`
	Name      string         `json:"name,omitempty"`
	Arguments *string        `json:"arguments,omitempty"`
	Output    any            `json:"output,omitempty"`
	Error     any            `json:"error,omitempty"`
	Status    string         `json:"status,omitempty"`
	Phase     string         `json:"phase,omitempty"`
	Content   *[]ContentView `json:"content,omitempty"`
	Summary   *[]ContentView `json:"summary,omitempty"`
	RequestID string         `json:"approval_request_id,omitempty"`
	Approve   *bool          `json:"approve,omitempty"`
	Reason    string         `json:"reason,omitempty"`
}

// ContentView is a part of a message or a thought. Its fields depend on its type.
type ContentView struct {
	Type        string    `json:"type"`
	Text        *string   `json:"text,omitempty"`
	Annotations *[]string `json:"annotations,omitempty"`
	Logprobs    *[]string `json:"logprobs,omitempty"`
	ImageURL    string    `json:"image_url,omitempty"`
	Detail      string    `json:"detail,omitempty"`
	FileData    string    `json:"file_data,omitempty"`
	FileURL     string    `json:"file_url,omitempty"`
	Filename    string    `json:"filename,omitempty"`
}

// OutputText returns the content of a message.
func OutputText(text string) ContentView {
	return ContentView{Type: "output_text", Text: &text, Annotations: &[]string{}, Logprobs: &[]string{}}
}

// SummaryText returns the content of reasoning.
func SummaryText(text string) ContentView { return ContentView{Type: "summary_text", Text: &text} }

// Null is a field without a value.
var Null = json.RawMessage("null")

// Item is an item of the output.
type Item struct {
	ItemView
	// Index is the place of the item in its segment.
	Index int `json:"-"`
	// Text is the text of a message or reasoning, or the output of a tool.
	Text []byte `json:"-"`
	// failed is set for a tool that failed.
	failed bool
}

// MarshalJSON writes the item in the client's form.
func (i *Item) MarshalJSON() ([]byte, error) { return json.Marshal(i.View(true)) }

// View returns the item in the client's form; if whole is false, without its content.
func (i *Item) View(whole bool) ItemView {
	v, text := i.ItemView, string(i.Text)
	if !whole && i.Arguments != nil && i.Type != ItemApproval {
		v.Arguments = new(string)
	}
	switch i.Type {
	case ItemMessage:
		v.Role, v.Content = surfacekit.RoleAssistant, &[]ContentView{}
		if whole {
			*v.Content = append(*v.Content, OutputText(text))
		}
	case ItemThought:
		v.Summary = &[]ContentView{}
		if whole {
			*v.Summary = append(*v.Summary, SummaryText(text))
		}
	case ItemApproval:
		v.Status = ""
	case ItemTool:
		v.Output, v.Error = Null, Null
		switch {
		case whole && i.failed:
			v.Error = text
		case whole:
			v.Output = text
		}
	}
	return v
}

// publicID returns the id by which a client answers the item.
func (i *Item) publicID() string {
	if i.CallID != "" {
		return i.CallID
	}
	return i.ID
}

// ToModel returns the item as messages for the model, for use in another conversation.
func (i *Item) ToModel() []model.Message {
	switch i.Type {
	case ItemMessage:
		return []model.Message{model.Assistant(string(i.Text))}
	case ItemFunction:
		return []model.Message{{Role: model.RoleAssistant, Parts: []model.Part{surfacekit.CallText(i.CallID, i.Name, *i.Arguments)}}}
	case ItemTool:
		parts := []model.Part{surfacekit.CallText(i.ID, i.Name, *i.Arguments), surfacekit.ResultText(i.ID, 0, string(i.Text))}
		return []model.Message{{Role: model.RoleAssistant, Parts: parts}}
	default:
		return []model.Message{}
	}
}

// ViewMessage returns an input message in the client's form.
func ViewMessage(id string, m *model.Message) ItemView {
	v := ItemView{Type: ItemMessage, ID: id, Role: string(m.Role), Status: StateCompleted, Content: &[]ContentView{}}
	for i := range m.Parts {
		*v.Content = append(*v.Content, viewPart(m.Role, &m.Parts[i]))
	}
	return v
}

func viewPart(role model.Role, p *model.Part) ContentView {
	switch {
	case p.Type == model.PartImage && p.Blob != nil:
		return ContentView{Type: "input_image", ImageURL: surfacekit.DataURL(p.Blob), Detail: "auto"}
	case p.Type == model.PartFile && p.Blob != nil && len(p.Blob.Data) > 0:
		return ContentView{Type: "input_file", FileData: surfacekit.DataURL(p.Blob), Filename: p.Blob.Name}
	case p.Type == model.PartFile && p.Blob != nil:
		return ContentView{Type: "input_file", FileURL: p.Blob.URI, Filename: p.Blob.Name}
	case role == model.RoleAssistant:
		return ContentView{Type: "output_text", Text: &p.Text, Annotations: &[]string{}}
	default:
		return ContentView{Type: "input_text", Text: &p.Text}
	}
}

// EncodeAll encodes each element of a list.
func EncodeAll[T any](list []T) ([]json.RawMessage, error) {
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
