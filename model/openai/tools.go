package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/model"
)

// declaration is what both APIs say of a function.
type declaration struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
	// Strict is always written: the Responses API takes its absence for true,
	// and then refuses most schemas.
	Strict bool `json:"strict"`
}

// encodeTools returns a set of tools as a JSON array.
func (d *dialect) encodeTools(tools []model.Tool) ([]byte, error) {
	list := make([]any, len(tools))
	for i := range tools {
		t := &tools[i]
		mapped, err := d.schemas.Map(t.Parameters)
		if err != nil {
			return nil, invalidRequest(fmt.Sprintf("the parameters of tool %s are not a JSON object", t.Name), err)
		}
		description := descriptionOf(t)
		if told := mapped.Describe(description); len(told) <= longestDescription {
			description = told
		}
		list[i] = d.declare(declaration{Name: t.Name, Description: description, Parameters: mapped.Schema})
	}
	encoded, err := encodeJSON(list)
	if err != nil {
		return nil, invalidRequest("the tools cannot be encoded", err)
	}
	return encoded, nil
}

// encodeShortTools is encodeTools with descriptions that all models accept: "Expected a string
// with maximum length 1024" (sentry-mcp#106).
func (d *dialect) encodeShortTools(tools []model.Tool) ([]byte, error) {
	short := slices.Clone(tools)
	for i := range short {
		if text := short[i].Description; len(text) > longestDescription {
			short[i].Description = clip.Head(text, longestDescription-len("…")) + "…"
		}
	}
	return d.encodeTools(short)
}

// longestDescription is the longest description of a function that the vendor
// takes, in bytes.
const longestDescription = 1024

// descriptionOf returns the description of a tool. The APIs have no place for the
// schema of the result, so it follows the description, if there is room.
func descriptionOf(t *model.Tool) string {
	var schema bytes.Buffer
	if len(t.Output) == 0 || json.Compact(&schema, t.Output) != nil {
		return t.Description
	}
	text := "Returns JSON of this schema: " + schema.String()
	if t.Description != "" {
		text = t.Description + paragraph + text
	}
	if len(text) > longestDescription {
		return t.Description
	}
	return text
}

// encodeJSON encodes a value so that a model reads texts as they were written.
func encodeJSON(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// invalidRequest returns the error for a request that cannot be sent.
func invalidRequest(what string, err error) error {
	return &model.Error{Class: model.InvalidRequest, Message: what, Err: err}
}
