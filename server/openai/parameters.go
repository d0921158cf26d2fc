package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/internal/rawjson"
	"github.com/agentruntime/agentruntime/server"
)

// Use is what becomes of a parameter.
type Use string

// The uses.
const (
	Honored Use = "honored"
	// Checked parameters are accepted with values that change nothing.
	Checked  Use = "checked"
	Ignored  Use = "ignored"
	Rejected Use = "rejected"
)

// Parameter is a parameter of a request.
type Parameter struct {
	Name string
	Use  Use
	Note string
	// allows are the values of a Checked parameter, as JSON. holds is a value of the type of an
	// Ignored one.
	allows []string
	holds  any
}

// ChatParameters returns the parameters of POST /v1/chat/completions. Others are ignored,
// because proxies add their own.
func ChatParameters() []Parameter { return slices.Clone(chatParameters) }

// ResponseParameters returns the parameters of POST /v1/responses, like ChatParameters.
func ResponseParameters() []Parameter { return slices.Clone(responseParameters) }

// sampling are the parameters that both protocols hand to the model.
var sampling = []Parameter{
	{Name: "temperature", Use: Honored}, {Name: "top_p", Use: Honored},
	{Name: "parallel_tool_calls", Use: Honored, Note: "false: each answer of the model makes one call, also of a tool of the agent"},
	{Name: "metadata", Use: Honored, Note: "up to 16 pairs"},
	{Name: "user", Use: Honored, Note: "kept with the run"},
	{Name: "safety_identifier", Use: Honored, Note: "kept with the run"},
	{Name: "prompt_cache_key", Use: Ignored, holds: ""}, {Name: "prompt_cache_options", Use: Ignored, holds: object{}}, {Name: "prompt_cache_retention", Use: Ignored, holds: ""},
	{Name: "service_tier", Use: Ignored, holds: ""},
	{Name: "top_logprobs", Use: Checked, Note: "0", allows: []string{"0"}},
	{Name: "moderation", Use: Rejected},
}

var chatParameters = append([]Parameter{
	{Name: "model", Use: Honored, Note: "the ID of an agent"},
	{Name: "messages", Use: Honored},
	{Name: "stream", Use: Honored},
	{Name: "stream_options", Use: Honored, Note: "`include_usage`; with `stream` only"},
	{Name: "tools", Use: Honored, Note: "functions, which the client runs"},
	{Name: "tool_choice", Use: Honored, Note: "for the first model call of a run"},
	{Name: "response_format", Use: Honored},
	{Name: "max_completion_tokens", Use: Honored, Note: "per model call"},
	{Name: "max_tokens", Use: Honored, Note: "unless `max_completion_tokens` is given"},
	{Name: "reasoning_effort", Use: Honored},
	{Name: "verbosity", Use: Honored},
	{Name: "seed", Use: Honored}, {Name: "stop", Use: Honored},
	{Name: "presence_penalty", Use: Checked, Note: "0", allows: []string{"0", "0.0"}},
	{Name: "frequency_penalty", Use: Checked, Note: "0", allows: []string{"0", "0.0"}},
	{Name: "logit_bias", Use: Checked, Note: "`{}`", allows: []string{"{}"}},
	{Name: "n", Use: Checked, Note: "1", allows: []string{"1"}},
	{Name: "logprobs", Use: Checked, Note: "false", allows: []string{"false"}},
	{Name: "modalities", Use: Checked, Note: "`[\"text\"]`", allows: []string{`["text"]`}},
	{Name: "store", Use: Ignored, holds: false, Note: "stored completions are not served"},
	{Name: "audio", Use: Rejected}, {Name: "prediction", Use: Rejected}, {Name: "web_search_options", Use: Rejected},
	{Name: "functions", Use: Rejected, Note: "use `tools`"}, {Name: "function_call", Use: Rejected, Note: "use `tool_choice`"},
}, sampling...)

var responseParameters = append([]Parameter{
	{Name: "model", Use: Honored, Note: "the ID of an agent"},
	{Name: "input", Use: Honored},
	{Name: "instructions", Use: Honored, Note: "added to those of the agent, for this response only"},
	{Name: "stream", Use: Honored}, {Name: "stream_options", Use: Ignored, holds: object{}},
	{Name: "background", Use: Honored, Note: "not with `store: false`"},
	{Name: "store", Use: Honored},
	{Name: "previous_response_id", Use: Honored}, {Name: "conversation", Use: Honored},
	{Name: "tools", Use: Honored, Note: "functions, which the client runs; others are rejected"},
	{Name: "tool_choice", Use: Honored, Note: "for the first model call of a run"},
	{Name: "max_output_tokens", Use: Honored, Note: "per model call"},
	{Name: "max_tool_calls", Use: Rejected},
	{Name: "reasoning", Use: Honored, Note: "`effort` and `summary`"},
	{Name: "text", Use: Honored, Note: "`format` and `verbosity`"},
	{Name: "include", Use: Ignored, holds: []string{}},
	{Name: "truncation", Use: Checked, Note: "`disabled` or `auto`", allows: []string{`"disabled"`, `"auto"`}},
	{Name: "prompt", Use: Rejected},
	{Name: "context_management", Use: Rejected}, {Name: "image", Use: Rejected}, {Name: "access_programs", Use: Rejected}, {Name: "background_options", Use: Rejected},
}, sampling...)

// readBody reads a body into a request, and checks its other parameters.
func (c *call) readBody(into any, table []Parameter) ([]byte, error) {
	data, err := io.ReadAll(c.R.Body)
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

// checkParameters reports the first parameter of a body that is rejected, or ignored and of a wrong
// type.
func checkParameters(body map[string]json.RawMessage, table []Parameter) error {
	for i := range table {
		p := &table[i]
		value := bytes.TrimSpace(body[p.Name])
		if len(value) == 0 || string(value) == "null" {
			continue
		}
		switch {
		case p.Use == Rejected:
			return rejectParameter(p.Name, p.Note)
		case p.Use == Checked && p.allows != nil && !slices.Contains(p.allows, rawjson.CompactText(value)):
			return rejectParameter(p.Name, "allowed: "+strings.ReplaceAll(p.Note, "`", ""))
		case p.Use == Ignored:
			if err := json.Unmarshal(value, reflect.New(reflect.TypeOf(p.holds)).Interface()); err != nil {
				_, problem := rawjson.DescribeError(err, nil)
				return badField(p.Name, "%s: %s", p.Name, problem)
			}
		}
	}
	return nil
}

// rejectParameter returns the error of a parameter that is not supported; note may be empty.
func rejectParameter(param, note string) error {
	text := fmt.Sprintf("Unsupported parameter: '%s' is not supported by this server", param)
	if note != "" {
		text += "; " + note
	}
	return newRefusal(http.StatusBadRequest, "unsupported_parameter", param, "%s.", text)
}
