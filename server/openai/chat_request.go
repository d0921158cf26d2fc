package openai

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
)

// chatRequest is the body of a request for a completion, as far as it is honored.
type chatRequest struct {
	Model         string        `json:"model"`
	Messages      []chatMessage `json:"messages"`
	Stream        *bool         `json:"stream,omitempty"`
	StreamOptions *struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options,omitempty"`
	Tools               []chatTool      `json:"tools,omitempty"`
	ToolChoice          json.RawMessage `json:"tool_choice,omitempty"`
	ResponseFormat      *chatFormat     `json:"response_format,omitempty"`
	MaxCompletionTokens *int            `json:"max_completion_tokens,omitempty"`
	MaxTokens           *int            `json:"max_tokens,omitempty"`
	Seed                *int            `json:"seed,omitempty"`
	Stop                json.RawMessage `json:"stop,omitempty"`
	ReasoningEffort     *string         `json:"reasoning_effort,omitempty"`
	Verbosity           *string         `json:"verbosity,omitempty"`
	samplingFields
}

type chatMessage struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content,omitempty"`
	Refusal    *string         `json:"refusal,omitempty"`
	ToolCalls  []chatCall      `json:"tool_calls,omitempty"`
	ToolCallID string          `json:"tool_call_id,omitempty"`
}

// chatCall is a call of a function, or a part of one.
type chatCall struct {
	// Index is set in chunks.
	Index    *int         `json:"index,omitempty"`
	ID       string       `json:"id,omitempty"`
	Type     string       `json:"type,omitempty"`
	Function chatFunction `json:"function"`
}

type chatFunction struct {
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments"`
}

type chatTool struct {
	Type     string    `json:"type"`
	Function *function `json:"function,omitempty"`
}

// chatFormat is the form of the answer.
type chatFormat struct {
	Type   string `json:"type"`
	Schema struct {
		Name   string          `json:"name"`
		Schema json.RawMessage `json:"schema,omitempty"`
		Strict *bool           `json:"strict,omitempty"`
	} `json:"json_schema,omitzero"`
}

// toTurn returns the turn that the request asks for.
func (r *chatRequest) toTurn() (*turnRequest, error) {
	switch {
	case r.Model == "":
		return nil, missingField("model")
	case len(r.Messages) == 0:
		return nil, missingField("messages")
	case r.StreamOptions != nil && !isSet(r.Stream):
		return nil, badField("stream_options", "stream_options is only allowed with stream: true")
	}
	t := &turnRequest{agent: r.Model, field: "messages", record: turnRecord{Thoughts: true}}
	t.params.Seed = r.Seed
	form := responseFormat{}
	if f := r.ResponseFormat; f != nil {
		form.Type, form.Name, form.Schema = f.Type, f.Schema.Name, f.Schema.Schema
	}
	tools := make([]responseTool, len(r.Tools))
	for i, tool := range r.Tools {
		tools[i].Type = tool.Type
		if tool.Function != nil {
			tools[i].function = *tool.Function
		}
	}
	return t, cmp.Or(
		r.apply(t), t.setLimit("max_tokens", r.MaxTokens), t.setLimit("max_completion_tokens", r.MaxCompletionTokens),
		t.setEffort("reasoning_effort", r.ReasoningEffort), t.setVerbosity("verbosity", r.Verbosity),
		t.setForm("response_format", &form), t.setStop(r.Stop), t.setFunctions(tools, ".function", r.ToolChoice), r.readMessages(&t.input),
	)
}

// readMessages adds the messages as the model reads them. The calls of functions and their
// results are text, because the turn did not make them. All results are outputs if there is one
// after the assistant's last message.
func (r *chatRequest) readMessages(in *input) error {
	open, answered := map[string]bool{}, false
	for i := range r.Messages {
		m, path := &r.Messages[i], fmt.Sprintf("messages[%d]", i)
		role, ok := surfacekit.Role(m.Role)
		if !ok {
			return badField(path+".role", "%s.role %q must be system, developer, user, assistant or tool", path, clip.Text(m.Role))
		}
		parts, err := readContent(m.Content, path+".content")
		if err != nil {
			return err
		}
		if m.Role == surfacekit.RoleTool {
			if !open[m.ToolCallID] {
				return badField(path+".tool_call_id", "%s.tool_call_id %q does not match an earlier call without a result", path, clip.Text(m.ToolCallID))
			}
			delete(open, m.ToolCallID)
			output := surfacekit.OutputText(parts)
			in.outputs = append(in.outputs, functionOutput{callID: m.ToolCallID, output: output})
			parts, answered = []model.Part{surfacekit.ResultText(m.ToolCallID, 0, output)}, true
		} else if len(open) > 0 {
			return missingResults(path, open)
		}
		switch m.Role {
		case surfacekit.RoleAssistant:
			in.said, answered = nil, false
		case surfacekit.RoleUser:
			in.said = append(in.said, parts...)
		}
		if m.Refusal != nil && *m.Refusal != "" {
			parts = append(parts, model.Text(*m.Refusal))
		}
		core := ""
		for j, call := range m.ToolCalls {
			if call.Type != "" && call.Type != "function" {
				field := fmt.Sprintf("%s.tool_calls[%d].type", path, j)
				return badField(field, "%s %q must be function", field, clip.Text(call.Type))
			}
			open[call.ID] = true
			core, _ = splitItemID(call.ID)
			parts = append(parts, surfacekit.CallText(call.ID, call.Function.Name, call.Function.Arguments))
		}
		in.appendMessage(core, role, parts...)
	}
	if len(open) > 0 {
		return missingResults("messages", open)
	}
	if !answered {
		in.outputs = nil
	}
	return nil
}

// missingResults reports a call without a result.
func missingResults(param string, open map[string]bool) error {
	first := slices.Min(slices.Collect(maps.Keys(open)))
	return badField(param, "the tool call %q has no result: a message with its tool_call_id must follow", clip.Text(first))
}
