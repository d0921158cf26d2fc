package run

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
)

// SetFunctions sets the functions that the model may call. suffix completes the path of each.
func (r *Request) SetFunctions(tools []Tool, suffix string, choice json.RawMessage) error {
	list := make([]Function, len(tools))
	for i := range tools {
		if tools[i].Type != "function" {
			field := fmt.Sprintf("tools[%d].type", i)
			return BadField(field, "%s %q must be function: the agent has the tools of the server", field, clip.Text(tools[i].Type))
		}
		list[i] = tools[i].Function
	}
	if err := surfacekit.CheckFunctions(list, func(i int) string { return fmt.Sprintf("tools[%d]%s", i, suffix) }); err != nil {
		return asBadField(err)
	}
	r.functions = list
	return r.chooseFunctions(choice)
}

// toolChoice decides whether the model may or must call functions: a word or an object, of either
// protocol.
type toolChoice struct {
	Type     string       `json:"type"`
	Name     string       `json:"name"`
	Function *toolChoice  `json:"function"`
	Mode     string       `json:"mode"`
	Tools    []toolChoice `json:"tools"`
	Allowed  *toolChoice  `json:"allowed_tools"`
}

// functionName returns the name of one of the functions.
func (t *toolChoice) functionName(list []Function) (string, error) {
	name := t.Name
	if t.Function != nil {
		name = t.Function.Name
	}
	if slices.ContainsFunc(list, func(f Function) bool { return f.Name == name }) {
		return name, nil
	}
	return "", BadField("tool_choice", "tool_choice names %q, which is not among tools", clip.Text(name))
}

// chooseFunctions restricts the functions that the model may call, and sets whether its first
// answer must call one.
func (r *Request) chooseFunctions(raw json.RawMessage) (err error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	var choice toolChoice
	if json.Unmarshal(raw, &choice.Mode) != nil && json.Unmarshal(raw, &choice) != nil {
		return BadField("tool_choice", "tool_choice must be a string or an object")
	}
	if choice.Allowed != nil {
		choice.Allowed.Type = choice.Type
		choice = *choice.Allowed
	}
	unsupported := RejectParameter("tool_choice", "allowed: none, auto, required, function or allowed_tools")
	switch choice.Type {
	case "":
	case "function":
		r.choice = &model.ToolChoice{Mode: model.ToolsNamed}
		r.choice.Name, err = choice.functionName(r.functions)
		return err
	case "allowed_tools":
		if len(choice.Tools) == 0 {
			return BadField("tool_choice", "tool_choice must name the tools that are allowed")
		}
		allowed := make([]string, len(choice.Tools))
		for i := range choice.Tools {
			if allowed[i], err = choice.Tools[i].functionName(r.functions); err != nil {
				return err
			}
		}
		r.functions = slices.DeleteFunc(r.functions, func(f Function) bool { return !slices.Contains(allowed, f.Name) })
	default:
		return unsupported
	}
	switch choice.Mode {
	case "", "auto":
	case "none":
		r.functions = nil
	case "required":
		r.choice = &model.ToolChoice{Mode: model.ToolsRequired}
	default:
		return unsupported
	}
	return nil
}
