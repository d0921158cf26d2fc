package ask

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/tools"
)

// maxQuestion limits the size of a question, in bytes.
const maxQuestion = 16 << 10

// tool asks a person.
type tool struct {
	config     Config
	question   []tools.PlaceholderPart
	descriptor tools.Descriptor
}

var _ tools.Tool = (*tool)(nil)

func createTool(_ tools.Settings, c *Config) (tools.Tool, error) {
	if err := c.Validate().Err(); err != nil {
		return nil, err
	}
	parts, _ := c.compileQuestion() // it is valid
	t := &tool{config: *c, question: parts}
	t.config.Choices = slices.Clone(c.Choices)
	t.descriptor = tools.Descriptor{
		Description: cmp.Or(c.Description, t.defaultDescription()),
		Parameters:  t.parameterSchema(),
		// A question changes nothing, and a repeated call asks it under the same ID.
		Effect: tools.Read,
	}
	return t, nil
}

// Descriptor describes the tool as configured.
func (t *tool) Descriptor() tools.Descriptor { return t.descriptor }

func (t *tool) defaultDescription() string {
	if t.config.questionKind() == kindAuth {
		return "Asks the person to authorize you, and returns whether that was done."
	}
	return "Asks the person a question and returns the answer."
}

// parameterSchema returns the schema of the arguments, which include the question if none is
// configured.
func (t *tool) parameterSchema() json.RawMessage {
	if t.config.Question != "" {
		return t.config.Parameters
	}
	properties := map[string]any{"question": map[string]any{
		"type": "string", "minLength": 1, "maxLength": maxQuestion / 4,
		"description": "The question. The person may not have seen the conversation.",
	}}
	if t.offersChoices() {
		properties["choices"] = map[string]any{
			"type": "array", "minItems": 2, "maxItems": maxChoices, "uniqueItems": true,
			"items":       map[string]any{"type": "string", "minLength": 1, "maxLength": maxChoice},
			"description": "The possible answers, if there are only so many.",
		}
	}
	schema, _ := json.Marshal(map[string]any{ // texts and numbers
		"type": "object", "properties": properties, "required": []string{"question"}, "additionalProperties": false,
	})
	return schema
}

// offersChoices reports whether the model may offer choices.
func (t *tool) offersChoices() bool {
	c := &t.config
	return c.Question == "" && c.questionKind() == kindQuestion && len(c.Choices) == 0 && len(c.Schema) == 0
}

// Call asks the question. The answer is the result; it was checked when it arrived.
func (t *tool) Call(_ context.Context, call *tools.Call) (tools.Result, error) {
	var given struct {
		Question string   `json:"question"`
		Choices  []string `json:"choices"`
	}
	if t.config.Question == "" {
		if err := json.Unmarshal(call.Arguments, &given); err != nil {
			return tools.ErrorResult("tool_input_invalid: the question cannot be read"), nil
		}
	} else {
		question, err := t.renderQuestion(call.Arguments)
		if err != nil {
			return tools.ErrorResult("tool_input_invalid: " + err.Error()), nil
		}
		given.Question = question
	}
	if len(given.Question) > maxQuestion {
		return tools.ErrorResult(fmt.Sprintf("tool_input_invalid: the question has %d bytes; %d are allowed", len(given.Question), maxQuestion)), nil
	}
	if len(t.config.Choices) > 0 {
		given.Choices = t.config.Choices
	}
	q := interaction.Request{
		Action: tools.ActionAsk, Message: given.Question,
		ResponseSchema: t.config.answerSchema(given.Choices), Parameters: t.questionDetails(given.Choices),
	}
	if t.config.questionKind() == kindAuth {
		q.Action = tools.ActionAuthorize
		if t.config.URL != "" {
			q.Message += "\n" + t.config.URL
		}
	}
	if len(given.Choices) > 0 {
		q.Message += "\nChoices: " + strings.Join(given.Choices, " | ")
	}
	return tools.Result{Wait: &tools.Wait{Questions: []interaction.Request{q}, AnswerIsResult: true}}, nil
}

// questionDetails returns the data that a program needs to show the question.
func (t *tool) questionDetails(choices []string) json.RawMessage {
	about := map[string]any{"kind": t.config.questionKind()}
	if len(choices) > 0 {
		about["choices"] = choices
	}
	if t.config.URL != "" {
		about["url"] = t.config.URL
	}
	data, _ := json.Marshal(about) // texts
	return data
}

// renderQuestion returns the configured question with the arguments filled in. A missing argument
// becomes empty.
func (t *tool) renderQuestion(raw json.RawMessage) (string, error) {
	args, err := tools.DecodeArguments(raw)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, p := range t.question {
		if p.Name == "" {
			b.WriteString(p.Literal)
			continue
		}
		text, err := args.Text(p.Name)
		if err != nil {
			return "", fmt.Errorf("argument %s cannot be read", p.Name)
		}
		b.WriteString(text)
	}
	return b.String(), nil
}
