package openai

import (
	"encoding/json"
	"fmt"
	"regexp"

	"github.com/agentruntime/agentruntime/internal/clip"
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

// readToolChoice reports whether the model may call the functions.
func readToolChoice(raw json.RawMessage) (bool, error) {
	var word string
	if len(raw) == 0 || string(raw) == "null" {
		return true, nil
	}
	if json.Unmarshal(raw, &word) == nil && (word == "auto" || word == "none") {
		return word == "auto", nil
	}
	return false, unsupported("tool_choice", "allowed: auto or none")
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
