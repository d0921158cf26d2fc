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

// sampling are the parameters that both protocols hand to the model.
var sampling = []Parameter{
	{Name: "temperature", Use: Honored}, {Name: "top_p", Use: Honored},
	{Name: "parallel_tool_calls", Use: Honored, Note: "false: each answer of the model makes one call, also of a tool of the agent"},
	{Name: "metadata", Use: Honored, Note: "up to 16 pairs"},
	{Name: "user", Use: Honored, Note: "kept with the run"},
	{Name: "safety_identifier", Use: Honored, Note: "kept with the run"},
	{Name: "prompt_cache_key", Use: Ignored, holds: ""}, {Name: "prompt_cache_options", Use: Ignored, holds: map[string]any{}}, {Name: "prompt_cache_retention", Use: Ignored, holds: ""},
	{Name: "service_tier", Use: Ignored, holds: ""},
	{Name: "top_logprobs", Use: Checked, Note: "0", allows: []string{"0"}},
	{Name: "moderation", Use: Rejected},
}

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
