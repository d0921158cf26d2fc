package ask

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/hostlist"
	"github.com/agentruntime/agentruntime/internal/schema"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

// The limits of choices.
const (
	maxChoices = 32
	maxChoice  = 200
)

// Validate checks the record by itself. Paths are relative to the tool.
func (c *Config) Validate() diag.List {
	_, list := c.compileQuestion()
	list = append(list, spec.CheckShorthand("parameters", c.Parameters)...)
	return slices.Concat(list, spec.CheckShorthand("schema", c.Schema), c.checkAnswer(), c.checkAuth())
}

// compileQuestion compiles the question.
func (c *Config) compileQuestion() ([]tools.PlaceholderPart, diag.List) {
	if c.Question == "" {
		if len(c.Parameters) > 0 {
			return nil, diag.List{diag.New(diag.InvalidValue, "parameters", "parameters are the arguments of a question, and question is not set").
				WithHint("write a question with {{name}} in it, or leave out parameters: then the model writes the question")}
		}
		return nil, nil
	}
	parts, err := tools.ParsePlaceholders(c.Question)
	if err != nil {
		return nil, diag.List{diag.New(diag.InvalidValue, "question", "%s", err)}
	}
	names := make(map[string]bool)
	for _, p := range parts {
		if p.Name != "" {
			names[p.Name] = true
		}
	}
	declared := tools.DeclaredParameters(c.Parameters)
	return parts, declared.Check("question", names)
}

// checkAnswer checks the settings for the answer.
func (c *Config) checkAnswer() diag.List {
	var list diag.List
	if len(c.Choices) > 0 && len(c.Schema) > 0 {
		list = append(list, diag.New(diag.InvalidValue, "schema", "schema and choices exclude each other"))
	}
	if len(c.Choices) == 1 || len(c.Choices) > maxChoices {
		list = append(list, diag.New(diag.InvalidValue, "choices", "choices has %d entries; it must have from 2 to %d", len(c.Choices), maxChoices))
	}
	seen := make(map[string]bool)
	for i, choice := range c.Choices {
		switch folded := strings.ToLower(strings.TrimSpace(choice)); {
		case folded == "" || len(choice) > maxChoice:
			list = append(list, diag.New(diag.InvalidValue, diag.Index("choices", i), "a choice must have from 1 to %d bytes", maxChoice))
		case seen[folded]:
			list = append(list, diag.New(diag.InvalidValue, diag.Index("choices", i), "the choice is there twice"))
		default:
			seen[folded] = true
		}
	}
	if len(c.Schema) > 0 {
		if _, err := schema.Compile(c.Schema); err != nil {
			list = append(list, diag.New(diag.InvalidSchema, "schema", "schema is not a valid JSON Schema: %v", err))
		}
	}
	return list
}

// checkAuth checks the kind and the settings specific to one kind.
func (c *Config) checkAuth() diag.List {
	var list diag.List
	switch c.questionKind() {
	case kindQuestion:
		if c.URL != "" {
			list = append(list, diag.New(diag.InvalidValue, "url", "url is for the kind auth").WithHint("add kind: auth"))
		}
		return list
	case kindAuth:
	default:
		return diag.List{diag.New(diag.InvalidValue, "kind", "kind is %q; allowed are question and auth", c.Kind)}
	}
	if len(c.Choices) > 0 {
		list = append(list, diag.New(diag.InvalidValue, "choices", "choices are for the kind question: the answer of auth is whether the agent was authorized"))
	}
	if len(c.Schema) > 0 {
		list = append(list, diag.New(diag.InvalidValue, "schema", "schema is for the kind question: the answer of auth is whether the agent was authorized"))
	}
	if c.URL != "" && !isSafe(c.URL) {
		list = append(list, diag.New(diag.InvalidValue, "url", "url must be an https URL without a user"))
	}
	return list
}

// isSafe reports whether a person can be sent to an address to authorize an agent.
func isSafe(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.User != nil || u.Hostname() == "" {
		return false
	}
	return u.Scheme == "https" || u.Scheme == "http" && hostlist.IsLoopback(u.Hostname())
}

// answerSchema returns the schema of an answer, with the choices that the model
// offers, if any.
func (c *Config) answerSchema(offered []string) json.RawMessage {
	choices := c.Choices
	if len(choices) == 0 {
		choices = offered
	}
	switch {
	case c.questionKind() == kindAuth:
		return json.RawMessage(`{"type":"object","properties":{"authenticated":{"type":"boolean","description":"Whether the agent was authorized."}},` +
			`"required":["authenticated"],"additionalProperties":false}`)
	case len(choices) > 0:
		list, _ := json.Marshal(map[string]any{"enum": choices}) // texts
		return list
	case len(c.Schema) > 0:
		return c.Schema
	default:
		return json.RawMessage(`{"type":"string","minLength":1}`)
	}
}
