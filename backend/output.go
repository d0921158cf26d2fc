package backend

import (
	"encoding/json"
	"strings"

	"github.com/agentruntime/agentruntime/internal/schema"
	"github.com/agentruntime/agentruntime/spec"
)

// OutputForm is the form that a turn's final answer must have, ready for use.
type OutputForm struct {
	Spec *spec.OutputSchema
	// schema is nil when answers are only to be JSON.
	schema *schema.Schema
}

// NewOutputForm compiles a form. A schema that cannot be compiled is an error only
// where answers must satisfy it.
func NewOutputForm(output *spec.OutputSchema) (*OutputForm, error) {
	compiled, err := schema.Compile(output.Schema)
	if err != nil && output.OnMismatch != spec.MismatchAccepted {
		return nil, err
	}
	named := *output
	named.Name = output.DisplayName()
	return &OutputForm{Spec: &named, schema: compiled}, nil
}

// Check returns the JSON value that an answer consists of, and what is wrong
// with it; "" when nothing is. A value inside a fenced block counts: models that
// were not made to answer in JSON often write one.
func (f *OutputForm) Check(answer string) (value, problem string) {
	value = stripFence(answer)
	if !json.Valid([]byte(value)) {
		return value, "it is no JSON value"
	}
	if f.schema == nil {
		return value, ""
	}
	found, err := f.schema.ValidateJSON(json.RawMessage(value))
	if err != nil {
		return value, err.Error()
	}
	texts := make([]string, len(found))
	for i, v := range found {
		texts[i] = v.Error()
	}
	return value, strings.Join(texts, "; ")
}

// stripFence returns what stands inside a Markdown code block, when the text is
// one, else the text without the blanks around it.
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
