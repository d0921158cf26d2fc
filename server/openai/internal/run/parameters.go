package run

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
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
)

// Use is how a parameter is handled.
type Use string

// The uses.
const (
	Honored Use = "honored"
	// Checked parameters are accepted with values that have no effect.
	Checked  Use = "checked"
	Ignored  Use = "ignored"
	Rejected Use = "rejected"
)

// Parameter is a parameter of a request.
type Parameter struct {
	Name string
	Use  Use
	Note string
	// Allows are the allowed values of a Checked parameter, as JSON. Holds is a value of the type
	// of an Ignored one.
	Allows []string
	Holds  any
}

// SamplingParameters are the parameters that both protocols pass to the model.
var SamplingParameters = []Parameter{
	{Name: "temperature", Use: Honored}, {Name: "top_p", Use: Honored},
	{Name: "parallel_tool_calls", Use: Honored, Note: "false: each answer of the model makes one call, also of a tool of the agent"},
	{Name: "metadata", Use: Honored, Note: "up to 16 pairs"},
	{Name: "user", Use: Honored, Note: "kept with the run"},
	{Name: "safety_identifier", Use: Honored, Note: "kept with the run"},
	{Name: "prompt_cache_key", Use: Ignored, Holds: ""}, {Name: "prompt_cache_options", Use: Ignored, Holds: map[string]any{}}, {Name: "prompt_cache_retention", Use: Ignored, Holds: ""},
	{Name: "service_tier", Use: Ignored, Holds: ""},
	{Name: "top_logprobs", Use: Checked, Note: "0", Allows: []string{"0"}},
	{Name: "moderation", Use: Rejected},
}

// ReadBody reads a body into a request, and checks its other parameters.
func (c *Call) ReadBody(into any, table []Parameter) ([]byte, error) {
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
		return nil, BadField("", "The body is not a JSON object.")
	}
	return data, checkParameters(all, table)
}

// checkParameters returns an error for the first parameter of a body that is rejected, or ignored
// and of a wrong type.
func checkParameters(body map[string]json.RawMessage, table []Parameter) error {
	for i := range table {
		p := &table[i]
		value := bytes.TrimSpace(body[p.Name])
		if len(value) == 0 || string(value) == "null" {
			continue
		}
		switch {
		case p.Use == Rejected:
			return RejectParameter(p.Name, p.Note)
		case p.Use == Checked && p.Allows != nil && !slices.Contains(p.Allows, rawjson.CompactText(value)):
			return RejectParameter(p.Name, "allowed: "+strings.ReplaceAll(p.Note, "`", ""))
		case p.Use == Ignored:
			if err := surfacekit.DecodeAt(value, reflect.New(reflect.TypeOf(p.Holds)).Interface(), p.Name); err != nil {
				return err
			}
		}
	}
	return nil
}

// RejectParameter returns the error of a parameter that is not supported; note may be empty.
func RejectParameter(param, note string) error {
	text := fmt.Sprintf("Unsupported parameter: '%s' is not supported by this server", param)
	if note != "" {
		text += "; " + note
	}
	return NewRefusal(http.StatusBadRequest, "unsupported_parameter", param, "%s.", text)
}
