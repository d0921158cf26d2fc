package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/cli/internal/terminal"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/agenttool"
	"github.com/agentruntime/agentruntime/internal/nearest"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/tools/toolset"
)

// ToolAnswer explains why an agent has a tool or not.
type ToolAnswer struct {
	Agent string `json:"agent"`
	Tool  string `json:"tool"`
	// Offered is set if the model is offered the tool.
	Offered bool `json:"offered"`
	// Reason is one of: offered, excluded, not allowed, denied, unknown,
	// unresolved.
	Reason string `json:"reason"`
	// Source is the source of the tool, with its place.
	Source      string `json:"source,omitempty"`
	SourcePath  string `json:"source_path,omitempty"`
	SourcePlace string `json:"source_place,omitempty"`
	// Rule and its place are the deciding catalog entry.
	Rule      string `json:"rule,omitempty"`
	RulePath  string `json:"rule_path,omitempty"`
	RulePlace string `json:"rule_place,omitempty"`
	// Gate is what the plugins' gates can decide before a call, and Access the outcome: allow,
	// depends, ask or deny.
	Gate      string `json:"gate,omitempty"`
	GatePath  string `json:"gate_path,omitempty"`
	GatePlace string `json:"gate_place,omitempty"`
	Access    string `json:"access,omitempty"`
	// Hint helps with a tool that no source offers.
	Hint string `json:"hint,omitempty"`
	// Diagnostics say why an unresolved agent has no answer.
	Diagnostics diag.List `json:"diagnostics,omitempty"`
}

// NewToolAnswer explains why the agent that e explains has a tool or not.
func NewToolAnswer(where Positions, e *resolve.Explanation, id string) *ToolAnswer {
	a := &ToolAnswer{Agent: e.Agent.ID, Tool: id}
	c := e.Tool(id)
	if c == nil {
		a.Reason, a.Hint = "unknown", nearestTool(e, id)
		return a
	}
	a.Reason, a.Offered = reason(c), c.Offered()
	a.Source, a.SourcePath = c.Source.String(), sourcePath(e, c)
	a.SourcePlace = where(diag.UnusedDefinition, a.SourcePath)
	a.Rule = c.Rule.Rule()
	if c.Rule.Field != "" {
		a.RulePath = e.Origin.Path(e.Path, diag.Index(string(c.Rule.Field), c.Rule.Index))
		a.RulePlace = where(diag.InvalidPattern, a.RulePath)
	}
	if c.Verdict.Rule != "" {
		a.Access = c.Verdict.Access.String()
		a.gate(where, e, &c.Verdict)
	}
	return a
}

// gate records the rule that decides and its place.
func (a *ToolAnswer) gate(where Positions, e *resolve.Explanation, v *plugins.Verdict) {
	a.Gate = fmt.Sprintf("plugin %s: %s", v.Plugin, v.Rule)
	a.GatePath, a.GatePlace = "", ""
	if v.Path != "" {
		a.GatePath = e.Origin.Path(e.Path, v.Path)
		a.GatePlace = where(diag.InvalidPattern, a.GatePath)
	}
}

func reason(c *resolve.ToolChoice) string {
	switch {
	case c.Rule.Visible && c.Verdict.Access == plugins.AccessDeny:
		return "denied"
	case c.Rule.Visible:
		return "offered"
	case c.Rule.Field != "":
		return "excluded"
	default:
		return "not allowed"
	}
}

// nearestTool names the tool that was probably meant.
func nearestTool(e *resolve.Explanation, id string) string {
	if e.Tool(agenttool.DelegateID(id)) != nil {
		return fmt.Sprintf("the tool that calls agent %s is %q", id, agenttool.DelegateID(id))
	}
	ids := make([]string, len(e.Tools))
	for i := range e.Tools {
		ids[i] = e.Tools[i].ID
	}
	if near, ok := nearest.Of(id, ids); ok {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return ""
}

// sourcePath returns where a tool was declared.
func sourcePath(e *resolve.Explanation, c *resolve.ToolChoice) string {
	field, list := "delegates", e.Agent.Delegates
	switch c.Source.Kind {
	case toolset.SourceGlobal:
		return diag.Key("tools", cmp.Or(c.Source.Name, c.ID))
	case toolset.SourcePlugin:
		field, list = "plugin_ids", e.Agent.PluginIDs
	case toolset.SourceHandoff:
		field, list = "handoffs", e.Agent.Handoffs
	case toolset.SourceDelegate:
	}
	if i := slices.Index(list, c.Source.Name); i >= 0 {
		return e.Origin.Path(e.Path, diag.Index(field, i))
	}
	return e.Path
}

// Text returns the answer for people.
func (a *ToolAnswer) Text() string {
	var b strings.Builder
	if a.Offered {
		fmt.Fprintf(&b, "agent %s has tool %s%s\n", a.Agent, a.Tool, a.however())
	} else {
		fmt.Fprintf(&b, "agent %s does not have tool %s: %s\n", a.Agent, a.Tool, a.because())
	}
	a.rows(&b)
	terminal.WriteRow(&b, "hint", a.Hint, "", "")
	return b.String()
}

// rows writes the reasons for the answer.
func (a *ToolAnswer) rows(b *strings.Builder) {
	terminal.WriteRow(b, "source", a.Source, a.SourcePath, a.SourcePlace)
	terminal.WriteRow(b, "catalog", a.Rule, a.RulePath, a.RulePlace)
	terminal.WriteRow(b, "gate", a.Gate, a.GatePath, a.GatePlace)
}

// however describes in words what prevents the agent from using the tool.
func (a *ToolAnswer) however() string {
	switch a.Access {
	case plugins.AccessAsk.String():
		return ", but every call of it needs the consent of a person"
	case plugins.AccessDepends.String():
		return ", but whether a call of it is allowed depends on the arguments"
	default:
		return ""
	}
}

// because explains in words why the agent does not have the tool.
func (a *ToolAnswer) because() string {
	switch a.Reason {
	case "excluded":
		return "its catalog excludes it"
	case "not allowed":
		return "its catalog does not allow it"
	case "denied":
		return "every call of it is denied"
	default:
		return "no registry, delegate or plugin of this agent offers it"
	}
}
