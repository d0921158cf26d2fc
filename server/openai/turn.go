package openai

import (
	"cmp"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/spec"
)

// turnRequest is what either protocol asks of an agent.
type turnRequest struct {
	agent string
	input
	// field is the parameter of the input, and earlier are messages before it.
	field   string
	earlier []model.Message
	// instructions are appended to the agent's instructions.
	instructions string
	functions    []function
	// choice is whether the first answer of the model must call a tool; nil leaves it open.
	choice *model.ToolChoice
	// maxCalls is how many calls an answer of the model may make; 0 leaves it open.
	maxCalls int
	params   model.Params
	output   *spec.OutputSchema
	record   turnRecord
}

// turnRecord is the data that a turn stores for the surface. A turn without it belongs to another
// protocol.
type turnRecord struct {
	// Unstored is set if the client wants nothing to be read later.
	Unstored bool `json:"unstored,omitempty"`
	// Thoughts is set if the client sees the model's reasoning. Form is set if the answer has a
	// required form, so that nothing else may be output.
	Thoughts bool `json:"thoughts,omitempty"`
	Form     bool `json:"form,omitempty"`
	// Asked identifies the messages of the request that began the turn.
	Asked string `json:"asked,omitempty"`
	// Echo is what responses repeat of the request.
	Echo *echo `json:"echo,omitempty"`
	// TookFrom and TookTo are the items of the conversation that the turn read first, as
	// Took messages.
	TookFrom int `json:"took_from,omitempty"`
	TookTo   int `json:"took_to,omitempty"`
	Took     int `json:"took,omitempty"`
	// User and Metadata are kept for those who read the turn.
	User     string            `json:"user,omitempty"`
	Metadata map[string]string `json:"metadata,omitempty"`
}

// resumeOrBegin continues the run that waits for the outputs in the request, or begins one in a new
// session. Outputs that a completion cannot give to a run are part of the history of a new run.
func (c *call) resumeOrBegin(asked *turnRequest, prefix string, body []byte) (*answer, error) {
	if len(asked.outputs) > 0 {
		a, err := c.resume(prefix, asked.agent, &asked.input)
		if prefix == chatPrefix && (errors.As(err, new(*service.StateError)) || errors.As(err, new(*service.ConflictError)) || errors.As(err, new(*server.Refusal))) {
			err = nil
		}
		if a != nil || err != nil {
			return a, err
		}
		if prefix == responsePrefix {
			if err := asked.checkOutputs(); err != nil {
				return nil, err
			}
		}
	}
	turn := &service.CreateTurn{ID: prefix + c.Service.NewID()}
	if err := c.composeTurn(asked, "", turn); err != nil {
		return nil, err
	}
	key, err := surfacekit.ReadKey(c.R, ownLabel, c.R.URL.Path)
	if err != nil {
		return nil, badField(surfacekit.IdempotencyHeader, "%s", err)
	}
	in := service.CreateSession{AgentID: asked.agent, Labels: map[string]string{ownLabel: strings.Trim(prefix, "-_")}}
	if key != "" {
		turn.IdempotencyKey, turn.IdempotencyBody = key, body
		in.IdempotencyKey, in.IdempotencyBody = key, body
	}
	made, err := surfacekit.BeginAlone(c.Context(), c.Service, c.Caller, turn, in)
	if err != nil {
		return nil, err
	}
	return c.newAnswer(made, asked.record, 0), nil
}

// beginIn begins a turn in a session.
func (c *call) beginIn(session *service.Session, asked *turnRequest, turn *service.CreateTurn) (*answer, error) {
	if n := len(asked.outputs); n > 0 {
		return nil, unknownCall(asked.outputs[n-1].callID)
	}
	current, err := c.Service.CurrentAgent(c.Context(), session, asked.agent)
	if err != nil {
		return nil, err
	}
	turn.ID, turn.SessionID = responsePrefix+c.Service.NewID(), session.ID
	if err := c.composeTurn(asked, current, turn); err != nil {
		return nil, err
	}
	made, err := c.Service.CreateTurn(c.Context(), c.Caller, *turn)
	if err != nil {
		return nil, err
	}
	return c.newAnswer(made, asked.record, 0), nil
}

// composeTurn sets the fields of the turn for a request. current is the agent of the conversation;
// empty for a new conversation.
func (c *call) composeTurn(r *turnRequest, current string, turn *service.CreateTurn) error {
	before, input, err := r.splitInput()
	if err != nil {
		return err
	}
	set := c.Service.SetFor(c.Context(), c.Caller.Tenant)
	agent, err := service.NewCatalog(set, c.Caller).Agent(r.agent)
	if err != nil {
		return unknownModel(r.agent)
	}
	if taken, ok := set.Agent(current); ok && current != r.agent {
		agent = taken
	}
	turn.AgentID, turn.Addressed, turn.Before, turn.Input, turn.Params = r.agent, true, before, input, r.params
	turn.Overrides = resolve.Overrides{Output: r.output, ToolChoice: r.choice, MaxCalls: r.maxCalls}
	if turn.Metadata, err = own.Encode(r.record); err != nil {
		return err
	}
	if !agent.UsesTools() {
		return r.checkRemote(turn)
	}
	brought := surfacekit.Brought{Surface: ownLabel, Instructions: r.instructions, Functions: r.functions, CutOff: r.params.MaxOutputTokens > 0}
	turn.Ephemeral, err = brought.Ephemeral(set, agent)
	return asBadField(err)
}

// splitInput returns the history and the input of the turn.
func (r *turnRequest) splitInput() (before, input []model.Message, err error) {
	if len(r.messages) == 0 {
		return nil, nil, missingField(r.field)
	}
	r.record.Asked = hashMessages(r.messages)
	before, input, ok := surfacekit.SplitInput(r.messages)
	if !ok {
		return nil, nil, badField(r.field, "%s must not end with a message of the assistant", r.field)
	}
	return append(r.earlier, before...), input, nil
}

// checkRemote rejects settings that a remote agent alone decides about. Instructions become a
// message to it.
func (r *turnRequest) checkRemote(turn *service.CreateTurn) error {
	names := r.params.SetAmong("temperature", "top_p", "seed", "stop", "verbosity")
	switch {
	case len(r.functions) > 0, r.choice != nil, r.maxCalls > 0:
		names = append(names, "tools")
	case r.output != nil:
		names = append(names, "the format of the answer")
	case r.params.MaxOutputTokens > 0:
		names = append(names, "the output limit")
	case r.params.ReasoningEffort != nil:
		names = append(names, "the reasoning effort")
	}
	if len(names) > 0 {
		return badField("model", "agent %q runs elsewhere, which alone decides about %s", clip.Text(r.agent), strings.Join(names, ", "))
	}
	if r.instructions != "" {
		turn.Input = append([]model.Message{model.System(r.instructions)}, turn.Input...)
	}
	return nil
}

// isSet reports whether an optional switch is on.
func isSet(b *bool) bool { return b != nil && *b }

// samplingFields are what both protocols hand to the model or keep with the run.
type samplingFields struct {
	Temperature      *float64          `json:"temperature,omitempty"`
	TopP             *float64          `json:"top_p,omitempty"`
	Parallel         *bool             `json:"parallel_tool_calls,omitempty"`
	Metadata         map[string]string `json:"metadata,omitempty"`
	User             *string           `json:"user,omitempty"`
	SafetyIdentifier *string           `json:"safety_identifier,omitempty"`
}

// apply checks the fields, and hands them to the model or the record.
func (f *samplingFields) apply(r *turnRequest) error {
	r.params.Temperature, r.params.TopP, r.record.Metadata = f.Temperature, f.TopP, f.Metadata
	if f.Parallel != nil && !*f.Parallel {
		r.maxCalls = 1
	}
	for _, user := range []*string{f.SafetyIdentifier, f.User} {
		if user != nil {
			r.record.User = *user
		}
	}
	return cmp.Or(checkRange("temperature", f.Temperature, 2), checkRange("top_p", f.TopP, 1), checkMetadata(f.Metadata))
}

func checkRange(param string, value *float64, most float64) error {
	if value != nil && (*value < 0 || *value > most) {
		return badField(param, "%s must be from 0 to %g", param, most)
	}
	return nil
}

// limits of metadata.
const (
	maxPairs     = 16
	maxPairName  = 64
	maxPairValue = 512
)

func checkMetadata(metadata map[string]string) error {
	if len(metadata) > maxPairs {
		return badField("metadata", "metadata has %d pairs; %d are allowed", len(metadata), maxPairs)
	}
	for name, value := range metadata {
		if utf8.RuneCountInString(name) > maxPairName || utf8.RuneCountInString(value) > maxPairValue {
			return badField("metadata", "metadata must have keys of at most %d and values of at most %d characters", maxPairName, maxPairValue)
		}
	}
	return nil
}

// setLimit sets the limit of the output; nil leaves it as it is.
func (r *turnRequest) setLimit(param string, limit *int) error {
	switch {
	case limit == nil:
	case *limit < 1:
		return badField(param, "%s must be at least 1", param)
	default:
		r.params.MaxOutputTokens = *limit
	}
	return nil
}

// setStop sets the texts that end the answer: a text or a list; without any it is left open.
func (r *turnRequest) setStop(raw json.RawMessage) error {
	var stop string
	list := []string{}
	if len(raw) == 0 {
		return nil
	}
	if json.Unmarshal(raw, &stop) == nil {
		list = []string{stop}
	} else if json.Unmarshal(raw, &list) != nil {
		return badField("stop", "stop must be a string or a list of strings")
	}
	r.params.Stop = slices.DeleteFunc(list, func(s string) bool { return s == "" })
	return nil
}

// setVerbosity sets the verbosity of the answer; nil leaves it to the model.
func (r *turnRequest) setVerbosity(param string, level *string) error {
	if level == nil {
		return nil
	}
	if !slices.Contains([]string{"low", "medium", "high"}, *level) {
		return badField(param, "%s must be low, medium or high", param)
	}
	r.params.Verbosity = *level
	return nil
}

// setEffort sets the effort of a level; nil leaves it to the agent.
func (r *turnRequest) setEffort(param string, level *string) error {
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
		return badField(param, "%s must be none, minimal, low, medium, high, xhigh or max", param)
	}
	r.params.ReasoningEffort = &effort
	return nil
}

var formName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// setForm sets the form of the answer.
func (r *turnRequest) setForm(param string, form *responseFormat) error {
	switch form.Type {
	case "", "text":
		return nil
	case "json_object":
		r.output = &spec.OutputSchema{Schema: json.RawMessage(`{"type":"object"}`)}
	case "json_schema":
		if len(form.Schema) == 0 || string(form.Schema) == "null" || !formName.MatchString(form.Name) {
			return badField(param, "%s needs a schema, and a name of 1 to 64 letters, digits, '_' or '-'", param)
		}
		if problem := surfacekit.CheckSchema(form.Schema, false); problem != "" {
			return badField(param, "%s: the schema %s", param, problem)
		}
		r.output = &spec.OutputSchema{Name: form.Name, Schema: form.Schema}
	default:
		return badField(param+".type", "%s.type %q must be text, json_object or json_schema", param, clip.Text(form.Type))
	}
	r.record.Form = true
	return nil
}
