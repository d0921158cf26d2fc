package openai

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
	chatPrefix         = "chatcmpl-"
	responsePrefix     = "resp_"
	conversationPrefix = "conv_"

	callPrefix     = "call_"
	messagePrefix  = "msg_"
	thoughtPrefix  = "rs_"
	functionPrefix = "fc_"
	toolPrefix     = "mcp_"
	approvalPrefix = "mcpr_"
	outputPrefix   = "fco_"
)

// answerID returns the id of the response or completion that a segment of a turn is.
func answerID(turnID string, segment int) string {
	if segment == 0 {
		return turnID
	}
	return turnID + "_" + strconv.Itoa(segment)
}

// splitAnswerID returns the turn and the segment of a response; false for another id.
func splitAnswerID(id string) (turnID string, segment int, ok bool) {
	rest, ok := strings.CutPrefix(id, responsePrefix)
	core, number, later := strings.Cut(rest, "_")
	if !ok || core == "" || !later {
		return id, 0, ok && core != ""
	}
	segment, err := strconv.Atoi(number)
	return responsePrefix + core, segment, err == nil && segment > 0
}

// coreOf returns the part of the id of a turn that the ids of its items repeat.
func coreOf(turnID string) string {
	return strings.TrimPrefix(strings.TrimPrefix(turnID, chatPrefix), responsePrefix)
}

func itemID(prefix, core string, number int) string {
	return prefix + core + "_" + strconv.Itoa(number)
}

// splitItemID returns the core and the number in the id of an item or a call; empty for
// another id.
func splitItemID(id string) (core, number string) {
	_, rest, _ := strings.Cut(id, "_")
	core, number, _ = strings.Cut(rest, "_")
	return core, number
}

// The types of items.
const (
	itemMessage  = "message"
	itemThought  = "reasoning"
	itemFunction = "function_call"
	itemTool     = "mcp_call"
	itemApproval = "mcp_approval_request"
	itemOutput   = "function_call_output"
	itemDecision = "mcp_approval_response"
)

// The states of items and responses.
const (
	stateQueued     = "queued"
	stateRunning    = "in_progress"
	stateCompleted  = "completed"
	stateIncomplete = "incomplete"
	stateFailed     = "failed"
	stateCanceled   = "cancelled"
)

// The phases of messages.
const (
	phaseInterim = "commentary"
	phaseFinal   = "final_answer"
)

// itemView is an item as clients know it. Its fields depend on its type.
type itemView struct {
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
	Content   *[]contentView `json:"content,omitempty"`
	Summary   *[]contentView `json:"summary,omitempty"`
	RequestID string         `json:"approval_request_id,omitempty"`
	Approve   *bool          `json:"approve,omitempty"`
	Reason    string         `json:"reason,omitempty"`
}

// contentView is a part of a message or a thought. Its fields depend on its type.
type contentView struct {
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

func outputText(text string) contentView {
	return contentView{Type: "output_text", Text: &text, Annotations: &[]string{}, Logprobs: &[]string{}}
}

func summaryText(text string) contentView { return contentView{Type: "summary_text", Text: &text} }

// null is a field without a value.
var null = json.RawMessage("null")

// item is an item of the output.
type item struct {
	itemView
	// index is the place of the item in its segment.
	index int
	// text is the text of a message or reasoning, or the output of a tool.
	text []byte
	// failed is set for a tool that failed.
	failed bool
}

// MarshalJSON writes the item as clients know it.
func (i *item) MarshalJSON() ([]byte, error) { return json.Marshal(i.view(true)) }

// view returns the item as it is shown; without its content when it has just begun.
func (i *item) view(whole bool) itemView {
	v, text := i.itemView, string(i.text)
	if !whole && i.Arguments != nil && i.Type != itemApproval {
		v.Arguments = new(string)
	}
	switch i.Type {
	case itemMessage:
		v.Role, v.Content = surfacekit.RoleAssistant, &[]contentView{}
		if whole {
			*v.Content = append(*v.Content, outputText(text))
		}
	case itemThought:
		v.Summary = &[]contentView{}
		if whole {
			*v.Summary = append(*v.Summary, summaryText(text))
		}
	case itemApproval:
		v.Status = ""
	case itemTool:
		v.Output, v.Error = null, null
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
func (i *item) publicID() string {
	if i.CallID != "" {
		return i.CallID
	}
	return i.ID
}

// toModel returns the item as messages for the model, for use in another conversation.
func (i *item) toModel() []model.Message {
	switch i.Type {
	case itemMessage:
		return []model.Message{model.Assistant(string(i.text))}
	case itemFunction:
		return []model.Message{{Role: model.RoleAssistant, Parts: []model.Part{surfacekit.CallText(i.CallID, i.Name, *i.Arguments)}}}
	case itemTool:
		parts := []model.Part{surfacekit.CallText(i.ID, i.Name, *i.Arguments), surfacekit.ResultText(i.ID, 0, string(i.text))}
		return []model.Message{{Role: model.RoleAssistant, Parts: parts}}
	default:
		return []model.Message{}
	}
}

// viewMessage shows a message of an input.
func viewMessage(id string, m *model.Message) itemView {
	v := itemView{Type: itemMessage, ID: id, Role: string(m.Role), Status: stateCompleted, Content: &[]contentView{}}
	for i := range m.Parts {
		*v.Content = append(*v.Content, viewPart(m.Role, &m.Parts[i]))
	}
	return v
}

func viewPart(role model.Role, p *model.Part) contentView {
	switch {
	case p.Type == model.PartImage && p.Blob != nil:
		return contentView{Type: "input_image", ImageURL: surfacekit.DataURL(p.Blob), Detail: "auto"}
	case p.Type == model.PartFile && p.Blob != nil && len(p.Blob.Data) > 0:
		return contentView{Type: "input_file", FileData: surfacekit.DataURL(p.Blob), Filename: p.Blob.Name}
	case p.Type == model.PartFile && p.Blob != nil:
		return contentView{Type: "input_file", FileURL: p.Blob.URI, Filename: p.Blob.Name}
	case role == model.RoleAssistant:
		return contentView{Type: "output_text", Text: &p.Text, Annotations: &[]string{}}
	default:
		return contentView{Type: "input_text", Text: &p.Text}
	}
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
