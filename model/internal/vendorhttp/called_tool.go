package vendorhttp

import (
	"iter"
	"regexp"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/model"
)

// decoratedName matches tool names that models decorate as in their templates: default_api.look by
// Gemini, functions.look:0 by Kimi, and look<|channel|>json by GPT-OSS.
var decoratedName = regexp.MustCompile(`^(?:(?:functions?|default_api|tools?)[.:])?([\w.:/-]+?)(?::\d+)?(?:<\|.*)?$`)

// calledTool returns the tool that a model calls by a name. An unknown name is matched without
// template decorations, then ignoring case if exactly one tool matches. Other names stay unchanged.
func calledTool(name string, tools []model.Tool) string {
	name = strings.TrimSpace(name)
	if slices.ContainsFunc(tools, func(t model.Tool) bool { return t.Name == name }) {
		return name
	}
	bare := name
	if found := decoratedName.FindStringSubmatch(name); found != nil {
		bare = found[1]
	}
	folded, count := name, 0
	for i := range tools {
		switch tool := tools[i].Name; {
		case tool == bare:
			return tool
		case strings.EqualFold(tool, bare):
			folded = tool
			count++
		}
	}
	if count == 1 {
		return folded
	}
	return name
}

// nameTools replaces the names of calls with those of the tools. If a call's name is blank, it
// returns the events before the call and an error.
func nameTools(events []model.Event, tools []model.Tool) ([]model.Event, error) {
	for i := range events {
		ev := &events[i]
		if ev.Type != model.EventToolCallStart {
			continue
		}
		if ev.Name = calledTool(ev.Name, tools); ev.Name == "" {
			return events[:i], Malformed("a tool call has no name", nil)
		}
	}
	return events, nil
}

// OnlyCall returns the only call that is open; the zero value if none or several are.
func OnlyCall[T any](calls iter.Seq[T], isOpen func(T) bool) (only T) {
	open := 0
	for call := range calls {
		if isOpen(call) {
			only = call
			open++
		}
	}
	if open != 1 {
		return *new(T)
	}
	return only
}
