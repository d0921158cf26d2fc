package openai

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"

	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/service"
)

// function is a function that the client runs.
type function struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
	Strict      *bool           `json:"strict,omitempty"`
}

// maxFunctions is how many a request may bring along, and perGroup how many each of its
// groups has.
const (
	maxFunctions = 128
	perGroup     = 64
)

var functionName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// checkFunctions checks the functions of a request.
func checkFunctions(list []function, path func(i int) string) error {
	if len(list) > maxFunctions {
		return badField("tools", "tools has %d elements; %d are allowed", len(list), maxFunctions)
	}
	seen := make(map[string]bool, len(list))
	for i := range list {
		name := list[i].Name
		if !functionName.MatchString(name) {
			return badField(path(i)+".name", "%s.name %q must be 1 to 64 letters, digits, '_' or '-'", path(i), clip.Text(name))
		}
		if seen[name] {
			return badField(path(i)+".name", "%s.name %q is used twice", path(i), name)
		}
		seen[name] = true
	}
	return nil
}

// toolChoice is whether the model may or must call functions: a word or an object, of
// either protocol.
type toolChoice struct {
	Type     string       `json:"type"`
	Name     string       `json:"name"`
	Function *toolChoice  `json:"function"`
	Mode     string       `json:"mode"`
	Tools    []toolChoice `json:"tools"`
	Allowed  *toolChoice  `json:"allowed_tools"`
}

func (t *toolChoice) functionName() string {
	if t.Function != nil {
		return t.Function.Name
	}
	return t.Name
}

// chooseFunctions sets the functions that the model may call, and whether its first answer
// must call one.
func (r *turnRequest) chooseFunctions(list []function, raw json.RawMessage) error {
	r.functions = list
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	var choice toolChoice
	if json.Unmarshal(raw, &choice.Mode) != nil && json.Unmarshal(raw, &choice) != nil {
		return badField("tool_choice", "tool_choice must be a string or an object")
	}
	if choice.Allowed != nil {
		choice.Allowed.Type = choice.Type
		choice = *choice.Allowed
	}
	known := func(name string) error {
		if slices.ContainsFunc(list, func(f function) bool { return f.Name == name }) {
			return nil
		}
		return badField("tool_choice", "tool_choice names %q, which is not among tools", clip.Text(name))
	}
	switch choice.Type {
	case "":
	case "function":
		r.choice = &model.ToolChoice{Mode: model.ToolsNamed, Name: choice.functionName()}
		return known(r.choice.Name)
	case "allowed_tools":
		allowed := make([]string, len(choice.Tools))
		for i := range choice.Tools {
			allowed[i] = choice.Tools[i].functionName()
			if err := known(allowed[i]); err != nil {
				return err
			}
		}
		r.functions = slices.DeleteFunc(slices.Clone(list), func(f function) bool { return !slices.Contains(allowed, f.Name) })
	default:
		return rejectParameter("tool_choice", "allowed: none, auto, required, function or allowed_tools")
	}
	switch choice.Mode {
	case "", "auto":
	case "none":
		r.functions = nil
	case "required":
		r.choice = &model.ToolChoice{Mode: model.ToolsRequired}
	default:
		return rejectParameter("tool_choice", "allowed: none, auto, required, function or allowed_tools")
	}
	return nil
}

// functionTools returns the functions as tools that a turn brings along, in the form of
// package agentruns, whose TurnTools makes them.
func functionTools(list []function) ([]service.EphemeralTool, error) {
	const kind = "mcp_local"
	type tool struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		InputSchema json.RawMessage `json:"inputSchema,omitempty"`
	}
	var made []service.EphemeralTool
	for first := 0; first < len(list); first += perGroup {
		var group []tool
		for _, f := range list[first:min(first+perGroup, len(list))] {
			group = append(group, tool{f.Name, f.Description, f.Parameters})
		}
		config, err := json.Marshal(map[string]any{"kind": kind, "name": fmt.Sprintf("openai_%d", first), "tools": group})
		if err != nil {
			return nil, err
		}
		made = append(made, service.EphemeralTool{Kind: kind, Config: config})
	}
	return made, nil
}
