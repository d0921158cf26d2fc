package run

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/spec"
)

// Request is a request to an agent, in either protocol.
type Request struct {
	Agent string
	Input
	// Field is the parameter of the input. Earlier are messages before it.
	Field   string
	Earlier []model.Message
	// Instructions are appended to the agent's instructions.
	Instructions string
	functions    []Function
	// choice decides whether the model's first answer must call a tool; nil leaves it open.
	choice *model.ToolChoice
	// maxCalls limits the calls in an answer of the model; 0 keeps the default limit.
	maxCalls int
	Params   model.Params
	output   *spec.OutputSchema
	Record   Record
}

// longest returns the longest of the parameters stored with the turn.
func (r *Request) longest() string {
	param, most := "user", len(r.Record.User)
	e := r.Record.Echo
	if e == nil {
		return param
	}
	tools, _ := json.Marshal(e.Tools) // they were decoded from JSON
	for name, size := range map[string]int{
		"instructions": len(r.Instructions), "tools": len(tools), "tool_choice": len(e.ToolChoice), "text.format": len(e.Text.Format.Schema),
	} {
		if size > most {
			param, most = name, size
		}
	}
	return param
}

// SplitInput returns the history and the input of the turn.
func (r *Request) SplitInput() (before, input []model.Message, err error) {
	if len(r.Messages) == 0 {
		return nil, nil, MissingField(r.Field)
	}
	r.Record.Asked = hashMessages(r.Messages)
	before, input, ok := surfacekit.SplitInput(r.Messages)
	if !ok {
		return nil, nil, BadField(r.Field, "%s must not end with a message of the assistant", r.Field)
	}
	return append(r.Earlier, before...), input, nil
}

// checkRemote rejects settings that only a remote agent decides. Instructions become a message to
// it.
func (r *Request) checkRemote(turn *service.CreateTurn) error {
	names := r.Params.SetAmong("temperature", "top_p", "seed", "stop", "verbosity")
	switch {
	case len(r.functions) > 0, r.choice != nil, r.maxCalls > 0:
		names = append(names, "tools")
	case r.output != nil:
		names = append(names, "the format of the answer")
	case r.Params.MaxOutputTokens > 0:
		names = append(names, "the output limit")
	case r.Params.ReasoningEffort != nil:
		names = append(names, "the reasoning effort")
	}
	if len(names) > 0 {
		return BadField("model", "agent %q runs elsewhere, which alone decides about %s", clip.Text(r.Agent), strings.Join(names, ", "))
	}
	if r.Instructions != "" {
		turn.Input = append([]model.Message{model.System(r.Instructions)}, turn.Input...)
	}
	return nil
}

// IsSet reports whether an optional boolean is true.
func IsSet(b *bool) bool { return b != nil && *b }

// Sampling has the fields that both protocols pass to the model or store with the run.
type Sampling struct {
	Temperature      *float64          `json:"temperature,omitempty"`
	TopP             *float64          `json:"top_p,omitempty"`
	Parallel         *bool             `json:"parallel_tool_calls,omitempty"`
	Metadata         map[string]string `json:"metadata,omitempty"`
	User             *string           `json:"user,omitempty"`
	SafetyIdentifier *string           `json:"safety_identifier,omitempty"`
}

// Apply checks the fields and passes them to the model or the record.
func (f *Sampling) Apply(r *Request) error {
	r.Params.Temperature, r.Params.TopP, r.Record.Metadata = f.Temperature, f.TopP, f.Metadata
	if f.Parallel != nil && !*f.Parallel {
		r.maxCalls = 1
	}
	for _, user := range []*string{f.SafetyIdentifier, f.User} {
		if user != nil {
			r.Record.User = *user
		}
	}
	return cmp.Or(checkRange("temperature", f.Temperature, 2), checkRange("top_p", f.TopP, 1), CheckMetadata(f.Metadata))
}

func checkRange(param string, value *float64, most float64) error {
	if value != nil && (*value < 0 || *value > most) {
		return BadField(param, "%s must be from 0 to %g", param, most)
	}
	return nil
}

// limits of metadata.
const (
	maxPairs     = 16
	MaxPairName  = 64
	MaxPairValue = 512
)

// CheckMetadata returns an error for metadata with too many or too long pairs.
func CheckMetadata(metadata map[string]string) error {
	if len(metadata) > maxPairs {
		return BadField("metadata", "metadata has %d pairs; %d are allowed", len(metadata), maxPairs)
	}
	for name, value := range metadata {
		if utf8.RuneCountInString(name) > MaxPairName || utf8.RuneCountInString(value) > MaxPairValue {
			return BadField("metadata", "metadata must have keys of at most %d and values of at most %d characters", MaxPairName, MaxPairValue)
		}
	}
	return nil
}

// SetLimit sets the output limit; nil leaves it unchanged.
func (r *Request) SetLimit(param string, limit *int) error {
	switch {
	case limit == nil:
	case *limit < 1:
		return BadField(param, "%s must be at least 1", param)
	default:
		r.Params.MaxOutputTokens = *limit
	}
	return nil
}

// SetStop sets the texts that end the answer: a text or a list. It may be missing.
func (r *Request) SetStop(raw json.RawMessage) error {
	var stop string
	list := []string{}
	if len(raw) == 0 {
		return nil
	}
	if json.Unmarshal(raw, &stop) == nil {
		list = []string{stop}
	} else if json.Unmarshal(raw, &list) != nil {
		return BadField("stop", "stop must be a string or a list of strings")
	}
	r.Params.Stop = slices.DeleteFunc(list, func(s string) bool { return s == "" })
	return nil
}

// SetVerbosity sets the verbosity of the answer; nil leaves it to the model.
func (r *Request) SetVerbosity(param string, level *string) error {
	if level == nil {
		return nil
	}
	if !slices.Contains([]string{"low", "medium", "high"}, *level) {
		return BadField(param, "%s must be low, medium or high", param)
	}
	r.Params.Verbosity = *level
	return nil
}

// SetEffort sets the effort of a level; nil leaves it to the agent.
func (r *Request) SetEffort(param string, level *string) error {
	if level == nil {
		return nil
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
		return BadField(param, "%s must be none, minimal, low, medium, high, xhigh or max", param)
	}
	r.Params.ReasoningEffort = &effort
	return nil
}

var formName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// SetForm sets the form of the answer.
func (r *Request) SetForm(param string, form *Format) error {
	switch form.Type {
	case "", "text":
		return nil
	case "json_object":
		r.output = &spec.OutputSchema{Schema: json.RawMessage(`{"type":"object"}`)}
	case "json_schema":
		if len(form.Schema) == 0 || string(form.Schema) == "null" || !formName.MatchString(form.Name) {
			return BadField(param, "%s needs a schema, and a name of 1 to 64 letters, digits, '_' or '-'", param)
		}
		if problem := surfacekit.CheckSchema(form.Schema, false); problem != "" {
			return BadField(param, "%s: the schema %s", param, problem)
		}
		r.output = &spec.OutputSchema{Name: form.Name, Schema: form.Schema}
	default:
		return BadField(param+".type", "%s.type %q must be text, json_object or json_schema", param, clip.Text(form.Type))
	}
	r.Record.Form = true
	return nil
}
