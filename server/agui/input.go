package agui

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/rawjson"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
	"github.com/agentruntime/agentruntime/service"
)

// runInput is the body of a request to run an agent.
type runInput struct {
	ThreadID string `json:"threadId"`
	RunID    string `json:"runId"`
	// ProtocolVersion is absent in requests of clients before 1.0.
	ProtocolVersion *string         `json:"protocolVersion,omitempty"`
	ParentRunID     *string         `json:"parentRunId,omitempty"`
	State           json.RawMessage `json:"state,omitempty"`
	Messages        []message       `json:"messages"`
	Tools           []tool          `json:"tools,omitempty"`
	Context         []contextItem   `json:"context,omitempty"`
	ForwardedProps  json.RawMessage `json:"forwardedProps,omitempty"`
	Resume          []resumption    `json:"resume,omitempty"`
}

// message is a message of the history.
type message struct {
	ID         string          `json:"id"`
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content,omitempty"`
	ToolCalls  []toolCall      `json:"toolCalls,omitempty"`
	ToolCallID string          `json:"toolCallId,omitempty"`
	Error      *string         `json:"error,omitempty"`
}

type toolCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function functionCall `json:"function"`
}

type functionCall struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// tool is a tool that the client runs.
type tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
}

type contextItem struct {
	Description string `json:"description"`
	Value       string `json:"value"`
}

// resumption is the answer to an interrupt.
type resumption struct {
	InterruptID string          `json:"interruptId"`
	Status      string          `json:"status"`
	Payload     json.RawMessage `json:"payload,omitempty"`
}

// contentPart is a part of a message. Its fields depend on its type.
type contentPart struct {
	Type   string `json:"type"`
	Text   string `json:"text,omitempty"`
	Source *struct {
		Type     string `json:"type"`
		Value    string `json:"value"`
		MimeType string `json:"mimeType,omitempty"`
	} `json:"source,omitempty"`
	Metadata json.RawMessage `json:"metadata,omitempty"`
	// The other fields belong to the type binary, from before 1.0.
	MimeType string `json:"mimeType,omitempty"`
	URL      string `json:"url,omitempty"`
	Data     string `json:"data,omitempty"`
	Filename string `json:"filename,omitempty"`
}

func badField(field, format string, args ...any) error {
	return &service.InvalidError{Field: field, Problem: fmt.Sprintf(format, args...)}
}

// readInput reads and checks the body.
func (c *call) readInput() (*runInput, error) {
	in := new(runInput)
	if err := server.ReadJSON(c.R, in, false); err != nil {
		return nil, err
	}
	return in, in.check()
}

func (in *runInput) check() error {
	switch {
	case in.ThreadID == "":
		return badField("threadId", "is required")
	case in.RunID == "":
		return badField("runId", "is required")
	case in.Messages == nil:
		return badField("messages", "is required")
	}
	seen := map[string]bool{}
	for i := range in.Resume {
		if id := in.Resume[i].InterruptID; seen[id] {
			return badField(fmt.Sprintf("resume[%d].interruptId", i), "%q is answered twice", clip.Text(id))
		}
		seen[in.Resume[i].InterruptID] = true
		if status := in.Resume[i].Status; status != statusResolved && status != statusCanceled {
			return badField(fmt.Sprintf("resume[%d].status", i), "%q must be %s or %s", clip.Text(status), statusResolved, statusCanceled)
		}
	}
	return surfacekit.CheckFunctions(in.functions(), func(i int) string { return fmt.Sprintf("tools[%d]", i) })
}

// The values of resumption.Status.
const (
	statusResolved = "resolved"
	statusCanceled = "cancelled"
)

func (in *runInput) functions() []surfacekit.Function {
	list := make([]surfacekit.Function, len(in.Tools))
	for i, t := range in.Tools {
		list[i] = surfacekit.Function{Name: t.Name, Description: t.Description, Parameters: t.Parameters}
	}
	return list
}

// instructions returns the application's context as text for the model.
func (in *runInput) instructions() string {
	if len(in.Context) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("The application gives this context:")
	for _, item := range in.Context {
		fmt.Fprintf(&b, "\n\n%s:\n%s", item.Description, item.Value)
	}
	return b.String()
}

// appState returns the state of the application; nil for null and the empty object, which clients
// without a state send.
func (in *runInput) appState() json.RawMessage {
	state, _ := rawjson.Compact(in.State) // it is part of a valid JSON body
	if text := string(state); text == "" || text == "null" || text == "{}" {
		return nil
	}
	return state
}

// history returns the messages for the model, without reasoning and activities. Tool results carry
// the ids of their calls.
func (in *runInput) history() ([]model.Message, error) {
	list := make([]model.Message, 0, len(in.Messages))
	for i := range in.Messages {
		m, path := &in.Messages[i], fmt.Sprintf("messages[%d]", i)
		if m.Role == "reasoning" || m.Role == "activity" {
			continue
		}
		role, ok := surfacekit.Role(m.Role)
		if !ok {
			return nil, badField(path+".role", "unknown role %q", clip.Text(m.Role))
		}
		parts, err := readContent(m.Content, path+".content")
		if err != nil {
			return nil, err
		}
		id := m.ID
		if m.Role == surfacekit.RoleTool {
			id, parts = m.ToolCallID, []model.Part{surfacekit.ResultText(m.ToolCallID, 0, m.result(parts))}
		}
		if m.Role == surfacekit.RoleAssistant {
			parts = m.spoken(parts)
		}
		if len(parts) > 0 {
			list = append(list, model.Message{ID: id, Role: role, Parts: parts})
		} else if m.Role == surfacekit.RoleUser && i == len(in.Messages)-1 { // clients keep earlier rejected ones
			return nil, badField(path+".content", "has neither text nor files")
		}
	}
	return list, nil
}

// spoken returns the text of an assistant message, and its calls as text.
func (m *message) spoken(parts []model.Part) (texts []model.Part) {
	if text := model.PartsText(parts); text != "" {
		texts = append(texts, model.Text(text))
	}
	for _, call := range m.ToolCalls {
		texts = append(texts, surfacekit.CallText(call.ID, call.Function.Name, call.Function.Arguments))
	}
	return texts
}

// result returns the text of a tool result.
func (m *message) result(parts []model.Part) string {
	if m.Error != nil && *m.Error != "" {
		return *m.Error
	}
	return surfacekit.OutputText(parts)
}

// readContent returns the parts of a message, whose content is a text or a list. Parts of
// unknown types are left out.
func readContent(raw json.RawMessage, path string) ([]model.Part, error) {
	return surfacekit.ReadContent(raw, path, badField(path, "must be text or a list of parts"), (*contentPart).toModel)
}

// toModel returns the part in the model's form; the zero part for an unknown type.
func (p *contentPart) toModel(path string) (model.Part, error) {
	kind := model.PartFile
	switch p.Type {
	case "text":
		return model.Text(p.Text), nil
	case "image":
		kind = model.PartImage
	case "audio", "video", "document":
	case "binary":
		address := p.URL
		if p.Data != "" {
			address = "data:" + p.MimeType + ";base64," + p.Data
		}
		return surfacekit.BlobPart("", model.Blob{URI: address, MediaType: p.MimeType, Name: p.Filename}, path)
	default:
		return model.Part{}, nil
	}
	var named struct {
		Filename string `json:"filename"`
	}
	_ = json.Unmarshal(p.Metadata, &named) // the name is optional
	switch {
	case p.Source == nil:
		return model.Part{}, badField(path+".source", "is required")
	case p.Source.Type == "data":
		return surfacekit.BlobPart(kind, model.Blob{URI: "data:" + p.Source.MimeType + ";base64," + p.Source.Value, Name: named.Filename}, path)
	case p.Source.Type == "url":
		return surfacekit.BlobPart(kind, model.Blob{URI: p.Source.Value, MediaType: p.Source.MimeType, Name: named.Filename}, path)
	default:
		return model.Part{}, badField(path+".source.type", "%q must be data or url: files of providers are not supported", clip.Text(p.Source.Type))
	}
}
