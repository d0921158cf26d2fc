package vendorhttp

import (
	"slices"
	"strconv"

	"github.com/agentruntime/agentruntime/internal/toolname"
	"github.com/agentruntime/agentruntime/model"
)

// wireNames are the names sent to a server for tools whose own names it rejects.
type wireNames struct {
	rule toolname.Rule
	// byID maps tools to the names that differ, and ids is the reverse.
	byID, ids map[string]string
	// tools are the tools with these names.
	tools []model.Tool
}

// newWireNames returns the names for the given tools. They depend only on those tools' names.
func newWireNames(rule toolname.Rule, tools []model.Tool) *wireNames {
	n := &wireNames{rule: rule, byID: map[string]string{}, ids: map[string]string{}, tools: slices.Clone(tools)}
	taken := make(map[string]bool, len(tools))
	for i := range tools {
		taken[tools[i].Name] = true
	}
	for i := range n.tools {
		id := tools[i].Name
		if rule.Allows(id) {
			continue
		}
		wire := rule.Fit(id)
		for k := 2; taken[wire]; k++ {
			wire = rule.Fit(id + " " + strconv.Itoa(k))
		}
		taken[wire] = true
		n.byID[id], n.ids[wire], n.tools[i].Name = wire, id, wire
	}
	return n
}

// of returns the name of a tool, which may no longer exist or may be invented by a model.
func (n *wireNames) of(id string) string {
	if wire, ok := n.byID[id]; ok {
		return wire
	}
	return n.rule.Fit(id)
}

// namesFit reports whether the server accepts all names in a request.
func namesFit(rule toolname.Rule, req *model.Request) bool {
	for i := range req.Tools {
		if !rule.Allows(req.Tools[i].Name) {
			return false
		}
	}
	for i := range req.Messages {
		for j := range req.Messages[i].Parts {
			p := &req.Messages[i].Parts[j]
			if p.ToolCall != nil && !rule.Allows(p.ToolCall.Name) || p.ToolResult != nil && p.ToolResult.Name != "" && !rule.Allows(p.ToolResult.Name) {
				return false
			}
		}
	}
	return true
}

// adaptParts returns the parts of a message with the names in calls and results replaced.
func (n *wireNames) adaptParts(parts []model.Part) []model.Part {
	own := slices.Clone(parts)
	for i := range own {
		if c := own[i].ToolCall; c != nil {
			call := *c
			call.Name = n.of(c.Name)
			own[i].ToolCall = &call
		}
		if r := own[i].ToolResult; r != nil && r.Name != "" {
			result := *r
			result.Name = n.of(r.Name)
			own[i].ToolResult = &result
		}
	}
	return own
}

// restore returns a consumer of events that receives the original tool names.
func (n *wireNames) restore(yield func(model.Event, error) bool) func(model.Event, error) bool {
	if n == nil {
		return yield
	}
	return func(ev model.Event, err error) bool {
		if id, ok := n.ids[ev.Name]; ok && ev.Type == model.EventToolCallStart {
			ev.Name = id
		}
		return yield(ev, err)
	}
}

// UnusedName returns a name that no tool has: the given one, or else the first numbered one.
func UnusedName(name string, tools []model.Tool) string {
	unused := name
	for n := 2; slices.ContainsFunc(tools, func(t model.Tool) bool { return t.Name == unused }); n++ {
		unused = name + "_" + strconv.Itoa(n)
	}
	return unused
}
