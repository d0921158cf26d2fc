package aisdk

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
	"github.com/agentruntime/agentruntime/service"
)

// chatRequest is the body of a request to answer.
type chatRequest struct {
	ID string `json:"id"`
	// Messages is the history; Message is only its last message.
	Messages []uiMessage `json:"messages,omitempty"`
	Message  *uiMessage  `json:"message,omitempty"`
	// Trigger is submit-message or regenerate-message.
	Trigger   string  `json:"trigger,omitempty"`
	MessageID *string `json:"messageId,omitempty"`
	// Tools run in the page. Variables fill the agent's prompt. Applications add both fields.
	Tools     []surfacekit.Function `json:"tools,omitempty"`
	Variables json.RawMessage       `json:"variables,omitempty"`
}

// The triggers of requests.
const (
	triggerSubmit     = "submit-message"
	triggerRegenerate = "regenerate-message"
)

// uiMessage is a message of a chat.
type uiMessage struct {
	ID    string `json:"id"`
	Role  string `json:"role"`
	Parts []part `json:"parts"`
}

// part is a part of a message. Its fields depend on its type.
type part struct {
	Type      string `json:"type"`
	Text      string `json:"text,omitempty"`
	State     string `json:"state,omitempty"`
	MediaType string `json:"mediaType,omitempty"`
	URL       string `json:"url,omitempty"`
	Filename  string `json:"filename,omitempty"`

	// The other fields belong to tool calls.
	ToolName         string          `json:"toolName,omitempty"`
	ToolCallID       string          `json:"toolCallId,omitempty"`
	Input            json.RawMessage `json:"input,omitempty"`
	Output           json.RawMessage `json:"output,omitempty"`
	ErrorText        string          `json:"errorText,omitempty"`
	ProviderExecuted bool            `json:"providerExecuted,omitempty"`
	Approval         *approval       `json:"approval,omitempty"`
}

// approval is a request for approval, and its answer.
type approval struct {
	ID       string `json:"id"`
	Approved *bool  `json:"approved,omitempty"`
	Reason   string `json:"reason,omitempty"`
}

// The states of calls.
const (
	stateInput     = "input-available"
	stateOutput    = "output-available"
	stateError     = "output-error"
	stateRequested = "approval-requested"
)

// typeTool prefixes the types of calls of configured tools.
const typeTool = "tool-"

func badField(field, format string, args ...any) error {
	return &service.InvalidError{Field: field, Problem: fmt.Sprintf(format, args...)}
}

func (c *call) readRequest() (*chatRequest, error) {
	in := new(chatRequest)
	if err := server.ReadJSON(c.R, in, false); err != nil {
		return nil, err
	}
	return in, in.check()
}

func (in *chatRequest) check() error {
	if in.Message != nil {
		in.Messages = append(in.Messages, *in.Message)
	}
	switch {
	case in.ID == "":
		return badField("id", "is required")
	case len(in.Messages) == 0:
		return badField("messages", "is required")
	case in.Trigger != "" && in.Trigger != triggerSubmit && in.Trigger != triggerRegenerate:
		return badField("trigger", "%q must be %s or %s", clip.Text(in.Trigger), triggerSubmit, triggerRegenerate)
	}
	var variables map[string]json.RawMessage
	if len(in.Variables) > 0 && json.Unmarshal(in.Variables, &variables) != nil {
		return badField("variables", "must be an object")
	}
	return surfacekit.CheckFunctions(in.Tools, func(i int) string { return fmt.Sprintf("tools[%d]", i) })
}

func (in *chatRequest) last() *uiMessage { return &in.Messages[len(in.Messages)-1] }

// history returns the messages for the model.
func (in *chatRequest) history() ([]model.Message, error) {
	list := make([]model.Message, 0, len(in.Messages))
	for i := range in.Messages {
		m, path := &in.Messages[i], fmt.Sprintf("messages[%d]", i)
		role, ok := surfacekit.Role(m.Role)
		if !ok || m.Role == surfacekit.RoleTool {
			return nil, badField(path+".role", "%q must be user, assistant or system", clip.Text(m.Role))
		}
		var parts []model.Part
		for j := range m.Parts {
			more, err := m.Parts[j].toModel(role, fmt.Sprintf("%s.parts[%d]", path, j))
			if err != nil {
				return nil, err
			}
			parts = append(parts, more...)
		}
		if len(parts) > 0 {
			list = append(list, model.Message{ID: m.ID, Role: role, Parts: parts})
		} else if role == model.RoleUser && i == len(in.Messages)-1 { // pages keep earlier rejected ones
			return nil, badField(path+".parts", "has neither text nor files")
		}
	}
	return list, nil
}

// toModel returns a part in the model's form; none for parts that it does not read.
func (p *part) toModel(role model.Role, path string) ([]model.Part, error) {
	switch {
	case p.Type == "text" && p.Text != "":
		return []model.Part{model.Text(p.Text)}, nil
	case p.Type == "file" && role == model.RoleUser:
		blob, err := surfacekit.BlobPart("", model.Blob{URI: p.URL, MediaType: p.MediaType, Name: p.Filename}, path+".url")
		return []model.Part{blob}, err
	case p.isCall() && role == model.RoleAssistant:
		parts := []model.Part{surfacekit.CallText(p.ToolCallID, p.toolName(), string(p.Input))}
		if p.State == stateOutput || p.State == stateError {
			parts = append(parts, surfacekit.ResultText(p.ToolCallID, 0, p.outputText()))
		}
		return parts, nil
	default:
		return nil, nil
	}
}

func (p *part) isCall() bool { return p.Type == "dynamic-tool" || strings.HasPrefix(p.Type, typeTool) }

func (p *part) toolName() string {
	if name, ok := strings.CutPrefix(p.Type, typeTool); ok {
		return name
	}
	return p.ToolName
}

// outputText returns the output of a call: a string unchanged, anything else as JSON.
func (p *part) outputText() string {
	var text string
	switch {
	case p.State == stateError:
		return p.ErrorText
	case json.Unmarshal(p.Output, &text) == nil:
		return text
	default:
		return string(p.Output)
	}
}
