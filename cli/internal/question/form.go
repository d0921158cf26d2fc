package question

import (
	"encoding/json"
	"strings"

	"github.com/agentruntime/agentruntime/cli/internal/terminal"
	"github.com/agentruntime/agentruntime/event/interaction"
)

// answerForm describes how to type the answer to a question.
type answerForm struct {
	// preset is the answer for an empty line, or nil.
	preset json.RawMessage
	// required rejects an empty line; secret hides the answer.
	required, secret bool
}

// formOf derives the form of a question from its answer's schema, or from parameters that a program
// may have used for it.
func formOf(q *interaction.Request) answerForm {
	var schema struct {
		Default   json.RawMessage `json:"default"`
		Format    string          `json:"format"`
		WriteOnly bool            `json:"writeOnly"`
		MinLength int             `json:"minLength"`
		// Properties are the fields of the answer. An answer with one field is typed as that
		// field's value.
		Properties map[string]struct {
			Format    string `json:"format"`
			WriteOnly bool   `json:"writeOnly"`
		} `json:"properties"`
	}
	var said struct {
		Default  json.RawMessage `json:"default"`
		Required bool            `json:"required"`
		Secret   bool            `json:"secret"`
	}
	_ = json.Unmarshal(q.ResponseSchema, &schema) // missing fields are not asked
	_ = json.Unmarshal(q.Parameters, &said)       // as above
	form := answerForm{
		preset: schema.Default, required: said.Required || schema.MinLength > 0,
		secret: said.Secret || schema.WriteOnly || schema.Format == formatPassword,
	}
	if form.preset == nil && string(said.Default) != "null" {
		form.preset = said.Default
	}
	for _, p := range schema.Properties {
		form.secret = form.secret || p.WriteOnly || p.Format == formatPassword
	}
	return form
}

// formatPassword is the format of hidden text.
const formatPassword = "password"

// HiddenText replaces a secret answer.
const HiddenText = "••••••••"

// ask returns the prompt for the form.
func (f *answerForm) ask(redact func(string) string) string {
	switch {
	case f.secret && f.preset != nil:
		return "  your answer, which is not shown, or Enter for the default: "
	case f.secret:
		return "  your answer, which is not shown: "
	case f.preset != nil:
		return "  your answer, as JSON or text, or Enter for " + terminal.OneLine(redact(string(f.preset))) + ": "
	default:
		return "  your answer, as JSON or text: "
	}
}

// lacks reports whether a line is empty but an answer is required.
func (f *answerForm) lacks(line string) bool {
	return f.required && f.preset == nil && strings.TrimSpace(line) == ""
}
