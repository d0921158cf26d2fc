package chat

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
	"github.com/agentruntime/agentruntime/server/openai/internal/run"
)

// Request has the honored fields of a completion request.
type Request struct {
	Model         string    `json:"model"`
	Messages      []message `json:"messages"`
	Stream        *bool     `json:"stream,omitempty"`
	StreamOptions *struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options,omitempty"`
	Tools               []tool          `json:"tools,omitempty"`
	ToolChoice          json.RawMessage `json:"tool_choice,omitempty"`
	ResponseFormat      *format         `json:"response_format,omitempty"`
	MaxCompletionTokens *int            `json:"max_completion_tokens,omitempty"`
	MaxTokens           *int            `json:"max_tokens,omitempty"`
	Seed                *int            `json:"seed,omitempty"`
	Stop                json.RawMessage `json:"stop,omitempty"`
	ReasoningEffort     *string         `json:"reasoning_effort,omitempty"`
	Verbosity           *string         `json:"verbosity,omitempty"`
	run.Sampling
}

type message struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content,omitempty"`
	Refusal    *string         `json:"refusal,omitempty"`
	ToolCalls  []Call          `json:"tool_calls,omitempty"`
	ToolCallID string          `json:"tool_call_id,omitempty"`
}

// Call is a function call or a part of one.
type Call struct {
	// Index is set in chunks.
	Index    *int     `json:"index,omitempty"`
	ID       string   `json:"id,omitempty"`
	Type     string   `json:"type,omitempty"`
	Function function `json:"function"`
}

type function struct {
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments"`
}

type tool struct {
	Type     string        `json:"type"`
	Function *run.Function `json:"function,omitempty"`
}

// format is the form of the answer.
type format struct {
	Type   string `json:"type"`
	Schema struct {
		Name   string          `json:"name"`
		Schema json.RawMessage `json:"schema,omitempty"`
		Strict *bool           `json:"strict,omitempty"`
	} `json:"json_schema,omitzero"`
}

// ToTurn returns the requested turn.
func (r *Request) ToTurn() (*run.Request, error) {
	switch {
	case r.Model == "":
		return nil, run.MissingField("model")
	case len(r.Messages) == 0:
		return nil, run.MissingField("messages")
	case r.StreamOptions != nil && !run.IsSet(r.Stream):
		return nil, run.BadField("stream_options", "stream_options is only allowed with stream: true")
	}
	t := &run.Request{Agent: r.Model, Field: "messages", Record: run.Record{Thoughts: true}}
	t.Params.Seed = r.Seed
	form := run.Format{}
	if f := r.ResponseFormat; f != nil {
		form.Type, form.Name, form.Schema = f.Type, f.Schema.Name, f.Schema.Schema
	}
	tools := make([]run.Tool, len(r.Tools))
	for i, tool := range r.Tools {
		tools[i].Type = tool.Type
		if tool.Function != nil {
			tools[i].Function = *tool.Function
		}
	}
	return t, cmp.Or(
		r.Apply(t), t.SetLimit("max_tokens", r.MaxTokens), t.SetLimit("max_completion_tokens", r.MaxCompletionTokens),
		t.SetEffort("reasoning_effort", r.ReasoningEffort), t.SetVerbosity("verbosity", r.Verbosity),
		t.SetForm("response_format", &form), t.SetStop(r.Stop), t.SetFunctions(tools, ".function", r.ToolChoice), r.readMessages(&t.Input),
	)
}

// readMessages adds the messages in the model's form. Function calls and their results become text,
// because the turn did not make them. All results are outputs if there is one after the assistant's
// last message.
func (r *Request) readMessages(in *run.Input) error {
	open, answered := map[string]bool{}, false
	for i := range r.Messages {
		m, path := &r.Messages[i], fmt.Sprintf("messages[%d]", i)
		role, ok := surfacekit.Role(m.Role)
		if !ok {
			return run.BadField(path+".role", "%s.role %q must be system, developer, user, assistant or tool", path, clip.Text(m.Role))
		}
		parts, err := run.ReadContent(m.Content, path+".content")
		if err != nil {
			return err
		}
		if m.Role == surfacekit.RoleTool {
			if !open[m.ToolCallID] {
				return run.BadField(path+".tool_call_id", "%s.tool_call_id %q does not match an earlier call without a result", path, clip.Text(m.ToolCallID))
			}
			delete(open, m.ToolCallID)
			output := surfacekit.OutputText(parts)
			in.Outputs = append(in.Outputs, run.Output{CallID: m.ToolCallID, Output: output})
			parts, answered = []model.Part{surfacekit.ResultText(m.ToolCallID, 0, output)}, true
		} else if len(open) > 0 {
			return missingResults(path, open)
		}
		switch m.Role {
		case surfacekit.RoleAssistant:
			in.Said, answered = nil, false
		case surfacekit.RoleUser:
			in.Said = append(in.Said, parts...)
		}
		if m.Refusal != nil && *m.Refusal != "" {
			parts = append(parts, model.Text(*m.Refusal))
		}
		core := ""
		for j, call := range m.ToolCalls {
			if call.Type != "" && call.Type != "function" {
				field := fmt.Sprintf("%s.tool_calls[%d].type", path, j)
				return run.BadField(field, "%s %q must be function", field, clip.Text(call.Type))
			}
			open[call.ID] = true
			core, _ = run.SplitItemID(call.ID)
			parts = append(parts, surfacekit.CallText(call.ID, call.Function.Name, call.Function.Arguments))
		}
		in.AppendMessage(core, role, parts...)
	}
	if len(open) > 0 {
		return missingResults("messages", open)
	}
	if !answered {
		in.Outputs = nil
	}
	return nil
}

// missingResults returns an error for a call without a result.
func missingResults(param string, open map[string]bool) error {
	first := slices.Min(slices.Collect(maps.Keys(open)))
	return run.BadField(param, "the tool call %q has no result: a message with its tool_call_id must follow", clip.Text(first))
}
