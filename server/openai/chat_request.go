package openai

import (
	"encoding/json"
	"fmt"
	"io"
	"regexp"

	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
	"github.com/agentruntime/agentruntime/spec"
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

// samplingFields are what both protocols hand to the model or keep with the run.
type samplingFields struct {
	Temperature      *float64          `json:"temperature,omitempty"`
	TopP             *float64          `json:"top_p,omitempty"`
	Parallel         *bool             `json:"parallel_tool_calls,omitempty"`
	Metadata         map[string]string `json:"metadata,omitempty"`
	User             *string           `json:"user,omitempty"`
	SafetyIdentifier *string           `json:"safety_identifier,omitempty"`
}

type chatMessage struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content,omitempty"`
	Refusal    *string         `json:"refusal,omitempty"`
	ToolCalls  []chatCall      `json:"tool_calls,omitempty"`
	ToolCallID string          `json:"tool_call_id,omitempty"`
}

// chatCall is a call of a function.
type chatCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function chatFunction `json:"function"`
}

type chatFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type chatTool struct {
	Type     string    `json:"type"`
	Function *function `json:"function,omitempty"`
}

// chatFormat is the form of the answer.
type chatFormat struct {
	Type   string      `json:"type"`
	Schema *formSchema `json:"json_schema,omitempty"`
}

type formSchema struct {
	Name   string          `json:"name"`
	Schema json.RawMessage `json:"schema,omitempty"`
}

// readBody reads a body into a request, and checks its other parameters.
func (c *call) readBody(into any, table []Parameter) ([]byte, error) {
	data, err := io.ReadAll(c.r.Body)
	if err != nil {
		return nil, err
	}
	if len(data) == 0 {
		data = []byte("{}")
	}
	if err := server.DecodeJSON(data, into, false); err != nil {
		return nil, err
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, badField("", "The body is not a JSON object.")
	}
	return data, checkParameters(all, table)
}

// limits of metadata.
const (
	maxPairs     = 16
	maxPairName  = 64
	maxPairValue = 512
)

// check checks the fields, and hands them to the model or the record.
func (f *samplingFields) apply(r *turnRequest) error {
	if len(f.Metadata) > maxPairs {
		return badField("metadata", "metadata has %d pairs; %d are allowed", len(f.Metadata), maxPairs)
	}
	for name, value := range f.Metadata {
		if len(name) > maxPairName || len(value) > maxPairValue {
			return badField("metadata", "metadata must have keys of at most %d and values of at most %d characters", maxPairName, maxPairValue)
		}
	}
	r.params.Temperature, r.params.TopP = f.Temperature, f.TopP
	r.record.Metadata = f.Metadata
	if f.Parallel != nil && !*f.Parallel {
		r.maxCalls = 1
	}
	for _, user := range []*string{f.SafetyIdentifier, f.User} {
		if user != nil {
			r.record.User = *user
		}
	}
	return nil
}

// readEffort returns the effort of a level; nil for the agent's own.
func readEffort(param string, level *string) (*spec.Effort, error) {
	if level == nil {
		return nil, nil //nolint:nilnil // the agent's own
	}
	name := *level
	switch name {
	case "minimal":
		name = "low"
	case "xhigh":
		name = "max"
	}
	effort, ok := spec.ParseEffort(name)
	if !ok {
		return nil, badField(param, "%s must be none, minimal, low, medium, high, xhigh or max", param)
	}
	return &effort, nil
}

func readLimit(param string, limits ...*int) (int, error) {
	for _, n := range limits {
		if n != nil && *n < 1 {
			return 0, badField(param, "%s must be at least 1", param)
		}
		if n != nil {
			return *n, nil
		}
	}
	return 0, nil
}

var formName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// readForm returns the form of an answer; nil for text.
func readForm(param, kind string, form *formSchema) (*spec.OutputSchema, error) {
	switch kind {
	case "", "text":
		return nil, nil //nolint:nilnil // there is none
	case "json_object":
		return &spec.OutputSchema{Schema: json.RawMessage(`{"type":"object"}`)}, nil
	case "json_schema":
		if form == nil || len(form.Schema) == 0 || !formName.MatchString(form.Name) {
			return nil, badField(param, "%s needs a schema, and a name of 1 to 64 letters, digits, '_' or '-'", param)
		}
		return &spec.OutputSchema{Name: form.Name, Schema: form.Schema}, nil
	default:
		return nil, badField(param+".type", "%s.type %q must be text, json_object or json_schema", param, clip.Text(kind))
	}
}

// toTurn returns the turn that the request asks for, with all messages as its history, of
// which tail are those after the last message of the assistant.
func (r *chatRequest) toTurn() (t *turnRequest, err error) {
	t = &turnRequest{agent: r.Model, record: turnRecord{Thoughts: true}}
	if err = r.apply(t); err != nil {
		return nil, err
	}
	if t.params.MaxOutputTokens, err = readLimit("max_completion_tokens", r.MaxCompletionTokens, r.MaxTokens); err != nil {
		return nil, err
	}
	if t.params.ReasoningEffort, err = readEffort("reasoning_effort", r.ReasoningEffort); err != nil {
		return nil, err
	}
	if r.ResponseFormat != nil {
		if t.output, err = readForm("response_format", r.ResponseFormat.Type, r.ResponseFormat.Schema); err != nil {
			return nil, err
		}
		t.record.Form = t.output != nil
	}
	t.params.Seed = r.Seed
	if r.Verbosity != nil {
		t.params.Verbosity = *r.Verbosity
	}
	var stop string
	if json.Unmarshal(r.Stop, &stop) == nil && stop != "" {
		t.params.Stop = []string{stop}
	} else if len(r.Stop) > 0 && json.Unmarshal(r.Stop, &t.params.Stop) != nil {
		return nil, badField("stop", "stop must be a string or a list of strings")
	}
	list, err := r.readFunctions()
	if err == nil {
		err = t.chooseFunctions(list, r.ToolChoice)
	}
	if err != nil {
		return nil, err
	}
	t.before, t.input, err = r.readMessages()
	return t, err
}

// check reports required fields that are missing, and options that exclude each other.
func (r *chatRequest) check() error {
	switch {
	case r.Model == "":
		return missingField("model")
	case len(r.Messages) == 0:
		return missingField("messages")
	case r.StreamOptions != nil && !r.streams():
		return badField("stream_options", "stream_options is only allowed with stream: true")
	default:
		return nil
	}
}

func (r *chatRequest) streams() bool { return r.Stream != nil && *r.Stream }

func (r *chatRequest) readFunctions() ([]function, error) {
	path := func(i int) string { return fmt.Sprintf("tools[%d].function", i) }
	list := make([]function, 0, len(r.Tools))
	for i := range r.Tools {
		if r.Tools[i].Type != "function" || r.Tools[i].Function == nil {
			return nil, badField(fmt.Sprintf("tools[%d].type", i), "tools[%d].type %q must be function", i, clip.Text(r.Tools[i].Type))
		}
		list = append(list, *r.Tools[i].Function)
	}
	return list, checkFunctions(list, path)
}

// readMessages returns the history and the input. The calls of functions and their results
// are shown to the model as text, because the turn did not make them.
func (r *chatRequest) readMessages() (before, input []model.Message, err error) {
	all := make([]model.Message, 0, len(r.Messages))
	open := map[string]bool{}
	for i := range r.Messages {
		m, path := &r.Messages[i], fmt.Sprintf("messages[%d]", i)
		role, ok := surfacekit.Role(m.Role)
		if !ok {
			return nil, nil, badField(path+".role", "%s.role %q must be system, developer, user, assistant or tool", path, clip.Text(m.Role))
		}
		parts, err := readContent(m.Content, path+".content")
		if err != nil {
			return nil, nil, err
		}
		if m.Role == surfacekit.RoleTool {
			if !open[m.ToolCallID] {
				return nil, nil, badField(path+".tool_call_id", "%s.tool_call_id %q is not that of a call before it that has no result", path, clip.Text(m.ToolCallID))
			}
			delete(open, m.ToolCallID)
			parts = []model.Part{surfacekit.ResultText(m.ToolCallID, 0, model.PartsText(parts))}
		} else if len(open) > 0 {
			return nil, nil, missingResults(path, open)
		}
		if m.Refusal != nil && *m.Refusal != "" {
			parts = append(parts, model.Text(*m.Refusal))
		}
		for _, call := range m.ToolCalls {
			open[call.ID] = true
			parts = append(parts, surfacekit.CallText(call.ID, call.Function.Name, call.Function.Arguments))
		}
		if len(parts) == 0 {
			parts = []model.Part{model.Text("")}
		}
		all = append(all, model.Message{Role: role, Parts: parts})
	}
	if len(open) > 0 {
		return nil, nil, missingResults("messages", open)
	}
	before, input, ok := surfacekit.SplitInput(all)
	if !ok {
		return nil, nil, badField("messages", "messages must not end with one of the assistant")
	}
	return before, input, nil
}

// missingResults reports a call without a result.
func missingResults(param string, open map[string]bool) error {
	id := ""
	for each := range open {
		if id == "" || each < id {
			id = each
		}
	}
	return badField(param, "the tool call %q has no result: a message with its tool_call_id must follow", clip.Text(id))
}

// results returns the results of functions after the last message of the assistant, and
// what the user says besides.
func (r *chatRequest) results() (list []functionOutput, said []model.Part, err error) {
	last := 0
	for i := range r.Messages {
		if r.Messages[i].Role == surfacekit.RoleAssistant {
			last = i
		}
	}
	for i := last; i < len(r.Messages); i++ {
		m := &r.Messages[i]
		parts, err := readContent(m.Content, fmt.Sprintf("messages[%d].content", i))
		if err != nil {
			return nil, nil, err
		}
		switch m.Role {
		case surfacekit.RoleTool:
			list = append(list, functionOutput{callID: m.ToolCallID, output: model.PartsText(parts)})
		case surfacekit.RoleUser:
			said = append(said, parts...)
		}
	}
	return list, said, nil
}
