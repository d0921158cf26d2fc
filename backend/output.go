package backend

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/agentruntime/agentruntime/internal/schema"
	"github.com/agentruntime/agentruntime/spec"
)

// OutputForm is the compiled form that a turn's final answer must have.
type OutputForm struct {
	Spec *spec.OutputSchema
	// schema is nil if answers only have to be JSON.
	schema *schema.Schema
}

// NewOutputForm compiles a schema. An invalid schema is an error only if answers must satisfy it;
// one that exceeds a limit always is.
func NewOutputForm(output *spec.OutputSchema) (*OutputForm, error) {
	compiled, err := schema.Compile(output.Schema)
	if err != nil && (output.OnMismatch != spec.MismatchAccepted || errors.As(err, new(*schema.LimitError))) {
		return nil, err
	}
	named := *output
	named.Name = output.DisplayName()
	return &OutputForm{Spec: &named, schema: compiled}, nil
}

// Check returns the JSON value of an answer, and the problem with it or "". A value inside a
// fenced block is accepted, because models without a JSON mode often write one.
func (f *OutputForm) Check(ctx context.Context, answer string) (value, problem string) {
	value = stripFence(answer)
	if !json.Valid([]byte(value)) {
		return value, "not a JSON value"
	}
	if f.schema == nil {
		return value, ""
	}
	found, err := f.schema.ValidateJSON(ctx, json.RawMessage(value))
	if err != nil {
		return value, err.Error()
	}
	texts := make([]string, len(found))
	for i, v := range found {
		texts[i] = v.Error()
	}
	return value, strings.Join(texts, "; ")
}

// stripFence returns the content of a Markdown code block, or else the trimmed
// text.
func stripFence(text string) string {
	text = strings.TrimSpace(text)
	inner, ok := strings.CutPrefix(text, "```")
	if !ok {
		return text
	}
	inner, ok = strings.CutSuffix(inner, "```")
	if !ok {
		return text
	}
	_, inner, ok = strings.Cut(inner, "\n") // the rest of the first line names a language
	if !ok {
		return text
	}
	return strings.TrimSpace(inner)
}
