package openai

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
)

// encodeTools returns a set of tools as a JSON array.
func (d *dialect) encodeTools(tools []model.Tool) ([]byte, error) {
	list := make([]any, len(tools))
	for i := range tools {
		t := &tools[i]
		mapped, err := d.schemas.Map(t.Parameters)
		if err != nil {
			return nil, vendorhttp.InvalidRequest("the parameters of tool "+t.Name+" are not a JSON object", err)
		}
		description := describeTool(t, mapped.Note)
		list[i] = d.declare(declaration{Name: t.Name, Description: description, Parameters: mapped.Schema})
	}
	return vendorhttp.EncodeRequest(list)
}

// encodeShortTools is encodeTools with descriptions that all models accept: "Expected a string
// with maximum length 1024" (sentry-mcp#106).
func (d *dialect) encodeShortTools(tools []model.Tool) ([]byte, error) {
	short := slices.Clone(tools)
	for i := range short {
		short[i].Description = cutText(short[i].Description, longestDescription)
	}
	return d.encodeTools(short)
}

// longestDescription is the maximum length of a function's description for all models, and
// longestOutput that of the result schema in it, in bytes.
const (
	longestDescription = 1024
	longestOutput      = 700
)

// describeTool returns the description of a tool, with the schema of its result, for which the APIs
// have no field, and a note on its arguments. A description that all models accept is truncated to
// make room.
func describeTool(t *model.Tool, note string) string {
	var further string
	var schema bytes.Buffer
	if len(t.Output) > 0 && json.Compact(&schema, t.Output) == nil && schema.Len() <= longestOutput {
		further = "Returns JSON of this schema: " + schema.String()
	}
	if note != "" && len(further)+len(paragraph)+len(note) > longestDescription {
		further = "" // the arguments matter more
	}
	if note != "" {
		further = strings.TrimPrefix(further+paragraph+note, paragraph)
	}
	if further == "" || t.Description == "" {
		return t.Description + further
	}
	description := t.Description
	if len(description) <= longestDescription {
		description = cutText(description, longestDescription-len(paragraph)-len(further))
	}
	return strings.TrimPrefix(description+paragraph+further, paragraph)
}

// cutText truncates text to at most limit bytes.
func cutText(text string, limit int) string {
	switch {
	case len(text) <= limit:
		return text
	case limit <= len("…"):
		return ""
	default:
		return clip.Head(text, limit-len("…")) + "…"
	}
}
