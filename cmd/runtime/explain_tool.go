package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/nearest"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/tools"
)

// toolAnswer says why an agent has, or does not have, a tool.
type toolAnswer struct {
	Agent string `json:"agent"`
	Tool  string `json:"tool"`
	// Offered tells whether the model is told of the tool.
	Offered bool `json:"offered"`
	// Reason is one of: offered, excluded, not allowed, denied, unknown.
	Reason string `json:"reason"`
	// Source and SourcePath say where the tool comes from.
	Source     string `json:"source,omitempty"`
	SourcePath string `json:"source_path,omitempty"`
	// Rule and RulePath say what decided.
	Rule     string `json:"rule,omitempty"`
	RulePath string `json:"rule_path,omitempty"`
	// Gate is what the plugins' gates can tell before a call.
	Gate string `json:"gate,omitempty"`
	// Hint helps with a tool that no source offers.
	Hint string `json:"hint,omitempty"`

	redact func(string) string
}

func newToolAnswer(l *loaded, e *resolve.Explanation, id string) *toolAnswer {
	a := &toolAnswer{Agent: e.Agent.ID, Tool: id, redact: l.file.Redact}
	c := e.Tool(id)
	if c == nil {
		a.Reason = "unknown"
		a.Rule = "no registry, delegate or plugin of this agent offers it"
		ids := make([]string, len(e.Tools))
		for i := range e.Tools {
			ids[i] = e.Tools[i].ID
		}
		if near, ok := nearest.Of(id, ids); ok {
			a.Hint = fmt.Sprintf("did you mean %q?", near)
		}
		return a
	}
	a.Source, a.SourcePath = c.Source.String(), l.where(diag.UnusedDefinition, sourcePath(e, c))
	a.Rule, a.Offered = c.Rule.Rule(), c.Offered()
	if c.Rule.Field != "" {
		rel := diag.Index(string(c.Rule.Field), c.Rule.Index)
		a.RulePath = l.where(diag.InvalidPattern, e.Origin.Path(e.Path, rel))
	}
	if c.Verdict.Rule != "" {
		a.Gate = fmt.Sprintf("plugin %s: %s by %s", c.Verdict.Plugin, c.Verdict.Access, c.Verdict.Rule)
	}
	a.Reason = reason(c)
	return a
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

// sourcePath returns where a tool was declared.
func sourcePath(e *resolve.Explanation, c *resolve.ToolChoice) string {
	list, name := "delegates", c.Source.Name
	switch c.Source.Kind {
	case tools.SourceGlobal:
		return diag.Key("tools", c.ID)
	case tools.SourceDelegate:
		for i, id := range e.Agent.Delegates {
			if id == name {
				return e.Origin.Path(e.Path, diag.Index(list, i))
			}
		}
	case tools.SourcePlugin:
		for i, id := range e.Agent.PluginIDs {
			if id == name {
				return e.Origin.Path(e.Path, diag.Index("plugin_ids", i))
			}
		}
	}
	return e.Path
}

// render writes the answer in a format.
func (a *toolAnswer) render(s streams, format string) error {
	var b strings.Builder
	if format == "json" {
		if err := writeJSON(&b, a); err != nil {
			return err
		}
	} else {
		a.text(&b)
	}
	_, err := io.WriteString(s.out, a.redact(b.String()))
	return err
}

func (a *toolAnswer) text(b *strings.Builder) {
	verb := "does not have"
	if a.Offered {
		verb = "has"
	}
	fmt.Fprintf(b, "agent %s %s tool %s: %s\n", a.Agent, verb, a.Tool, a.Reason)
	row := func(name, value, path string) {
		if value == "" {
			return
		}
		fmt.Fprintf(b, "  %-8s %s\n", name, value)
		if path != "" {
			fmt.Fprintf(b, "           at %s\n", path)
		}
	}
	row("source", a.Source, a.SourcePath)
	row("catalog", a.Rule, a.RulePath)
	row("gate", a.Gate, "")
	row("hint", a.Hint, "")
}
