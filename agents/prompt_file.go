package agents

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/agentruntime/agentruntime/model"
	"github.com/google/jsonschema-go/jsonschema"
	"go.yaml.in/yaml/v4"
)

// PromptFile is a Genkit .prompt file with front matter: a template of instructions and messages
// with an input of type In. The template may use fields, role and history; blocks, helpers and
// partials are rejected.
type PromptFile[In any] struct {
	// Description is taken from the front matter.
	Description string

	defaults map[string]any
	parts    []promptPart
}

// promptPart is a piece of a message with a role: a text or a field.
type promptPart struct {
	role  model.Role
	text  string
	field []string
}

// promptMatter is the front matter of a prompt.
type promptMatter struct {
	Name        string `yaml:"name"`
	Description string `yaml:"description"`
	Input       struct {
		Schema  map[string]any `yaml:"schema"`
		Default map[string]any `yaml:"default"`
	} `yaml:"input"`
	// The rest belongs to the declared agent.
	Model  any `yaml:"model"`
	Config any `yaml:"config"`
	Tools  any `yaml:"tools"`
	Output any `yaml:"output"`
}

// ParsePromptFile reads a .prompt file. Fields of its template and of its input schema must
// be fields of In. A model, config, tools and an output are rejected: the agent declares
// them.
func ParsePromptFile[In any](text []byte) (*PromptFile[In], error) {
	checkField, err := inputFields[In]()
	if err != nil {
		return nil, err
	}
	matter, body, err := splitMatter(text)
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, field := range []struct {
		name  string
		value any
	}{{"model", matter.Model}, {"config", matter.Config}, {"tools", matter.Tools}, {"output", matter.Output}} {
		if field.value != nil {
			errs = append(errs, fmt.Errorf("%s: it belongs to the declared agent", field.name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(matter.Input.Schema)) {
		name, _, _ = strings.Cut(name, "(")
		name, _, _ = strings.Cut(name, ",")
		errs = append(errs, checkField("input.schema", strings.TrimSuffix(strings.TrimSpace(name), "?")))
	}
	for _, name := range slices.Sorted(maps.Keys(matter.Input.Default)) {
		errs = append(errs, checkField("input.default", name))
	}
	f := &PromptFile[In]{Description: matter.Description, defaults: matter.Input.Default}
	if f.parts, err = parseTemplate(body); err != nil {
		errs = append(errs, err)
	}
	for i := range f.parts {
		if len(f.parts[i].field) > 0 {
			errs = append(errs, checkField("the template", f.parts[i].field[0]))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("read a prompt file: %w", err)
	}
	return f, nil
}

// inputFields returns a function that rejects names which are not fields of the input.
func inputFields[In any]() (checkField func(where, name string) error, err error) {
	schema, err := jsonschema.For[In](nil)
	if err != nil {
		return nil, fmt.Errorf("the input of a prompt file has no JSON Schema: %w", err)
	}
	if schema.Type != "object" || schema.AdditionalProperties != nil && schema.AdditionalProperties.Not == nil {
		return func(string, string) error { return nil }, nil
	}
	fields := strings.Join(slices.Sorted(maps.Keys(schema.Properties)), ", ")
	return func(where, name string) error {
		if schema.Properties[name] == nil {
			return fmt.Errorf("%s: the input has no field %q; its fields are %s", where, name, cmp.Or(fields, "none"))
		}
		return nil
	}, nil
}

// splitMatter returns the front matter and the template of a file.
func splitMatter(text []byte) (matter promptMatter, body string, err error) {
	body = strings.ReplaceAll(string(text), "\r\n", "\n")
	rest, ok := strings.CutPrefix(body, "---\n")
	if !ok {
		return matter, body, nil
	}
	front, body, ok := strings.Cut("\n"+rest, "\n---\n")
	if !ok {
		return matter, "", errors.New("the front matter of the prompt file does not end: write a line of ---")
	}
	d := yaml.NewDecoder(bytes.NewReader([]byte(front)))
	d.KnownFields(true)
	if err := d.Decode(&matter); err != nil && strings.TrimSpace(front) != "" {
		return matter, "", fmt.Errorf("read the front matter of the prompt file: %w", err)
	}
	return matter, strings.TrimPrefix(body, "\n"), nil
}

// promptRoles are the roles by the argument that sets them.
var promptRoles = map[string]model.Role{`"system"`: model.RoleSystem, `"user"`: model.RoleUser, `"model"`: model.RoleAssistant}

// parseTemplate returns the pieces of a template. Text before any role belongs to the user.
func parseTemplate(body string) (parts []promptPart, err error) {
	role, ended := model.RoleUser, false
	for body != "" {
		before, rest, found := strings.Cut(body, "{{")
		if before != "" {
			if ended && strings.TrimSpace(before) != "" {
				return nil, errors.New("{{history}} must be the end of the template")
			}
			parts = append(parts, promptPart{role: role, text: before})
		}
		if !found {
			return parts, nil
		}
		inner, rest, found := strings.Cut(rest, "}}")
		if !found {
			return nil, errors.New("a {{ of the template has no }}")
		}
		if name, ok := strings.CutPrefix(inner, "{"); ok {
			inner, rest = name, strings.TrimPrefix(rest, "}")
		}
		inner = strings.TrimSpace(inner)
		body = rest
		name, argument, _ := strings.Cut(inner, " ")
		switch {
		case strings.HasPrefix(inner, "!"): // a comment
		case inner == "history":
			ended = true
		case name == "role":
			if role = promptRoles[strings.ReplaceAll(strings.TrimSpace(argument), "'", `"`)]; role == "" {
				return nil, fmt.Errorf("{{%s}}: the role must be system, user or model", inner)
			}
		case argument != "" || inner == "" || strings.ContainsAny(inner[:1], "#/>&^@"):
			return nil, fmt.Errorf("{{%s}} is not supported: use fields, role and history", inner)
		case ended:
			return nil, errors.New("{{history}} must be the end of the template")
		default:
			parts = append(parts, promptPart{role: role, field: strings.Split(inner, ".")})
		}
	}
	return parts, nil
}

// Render returns the prompt for an input: system messages become the instructions, and the rest
// precedes the history. Fields missing from In get the file's defaults.
func (f *PromptFile[In]) Render(input In, history []model.Message) (*Prompt, error) {
	encoded, err := json.Marshal(input)
	if err != nil {
		return nil, fmt.Errorf("encode the input of a prompt: %w", err)
	}
	decoded, err := decodeCustom[any](encoded)
	given, isObject := decoded.(map[string]any)
	if err != nil || !isObject {
		return nil, errors.New("the input of a prompt must be an object")
	}
	for name, value := range f.defaults {
		if _, has := given[name]; !has {
			given[name] = value
		}
	}
	var said []model.Message
	var instructions strings.Builder
	for i := range f.parts {
		part := &f.parts[i]
		text := part.text
		if len(part.field) > 0 {
			if text, err = fieldText(given, part.field); err != nil {
				return nil, err
			}
		}
		switch last := len(said) - 1; {
		case part.role == model.RoleSystem:
			instructions.WriteString(text)
		case last >= 0 && said[last].Role == part.role:
			said[last].Parts[0].Text += text
		default:
			said = append(said, model.Message{Role: part.role, Parts: []model.Part{model.Text(text)}})
		}
	}
	prompt := &Prompt{Instructions: strings.TrimSpace(instructions.String()), History: []model.Message{}}
	for i := range said {
		if said[i].Parts[0].Text = strings.TrimSpace(said[i].Parts[0].Text); said[i].Parts[0].Text != "" {
			prompt.History = append(prompt.History, said[i])
		}
	}
	prompt.History = append(prompt.History, history...)
	return prompt, nil
}

// fieldText returns a field of an input as text; a missing field is empty.
func fieldText(at any, path []string) (string, error) {
	for _, name := range path {
		switch v := at.(type) {
		case map[string]any:
			at = v[name]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(v) {
				return "", nil
			}
			at = v[i]
		default:
			return "", nil
		}
	}
	switch v := at.(type) {
	case nil:
		return "", nil
	case string:
		return v, nil
	default:
		text, err := json.Marshal(v)
		return string(text), err
	}
}

// PromptedFile returns a declared agent whose instructions come from a .prompt file. input
// returns the template's input, once for each turn.
func PromptedFile[S, In any](name string, file *PromptFile[In], input func(ctx context.Context, t *Turn[S]) (In, error), o Options[S]) (*Agent[S], error) {
	if file == nil || input == nil {
		return nil, fmt.Errorf("agent %q: the prompt file or its input is nil", name)
	}
	if o.Description == "" {
		o.Description = file.Description
	}
	return Prompted(name, func(ctx context.Context, t *Turn[S]) (*Prompt, error) {
		in, err := input(ctx, t)
		if err != nil {
			return nil, err
		}
		return file.Render(in, t.History())
	}, o)
}
