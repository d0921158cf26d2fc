// Package explain has the answers of the command explain: records for programs that also render as
// text for people.
package explain

import (
	"fmt"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/toolgrant"
	"github.com/agentruntime/agentruntime/resolve"
)

// Agent is the output of explain for an agent.
type Agent struct {
	*resolve.Summary
	// Decisions are the places that decide the fields of an extending or patched agent.
	Decisions []config.Decision `json:"decisions,omitempty"`
	// Request lists the tools of a client's turn; nil without such a turn.
	Request *RequestGrant `json:"request,omitempty"`
}

// Positions returns the position of a path in the files as file:line:column, or "" if no file has it.
// code is the code of a diagnostic about the path.
type Positions func(code diag.Code, path string) string

// Text returns the explanation for people, without the diagnostics. where is nil if there are no
// files.
func (x *Agent) Text(where Positions) string {
	var b strings.Builder
	fmt.Fprintf(&b, "agent %s", x.Agent)
	if where != nil {
		if at := where(diag.UnusedDefinition, x.Path); at != "" {
			fmt.Fprintf(&b, " (%s)", at)
		}
	}
	b.WriteByte('\n')
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "  %-8s %s\n", name, value)
		}
	}
	row("runs on", x.runsOn())
	for i := range x.ModelFacts {
		fact := &x.ModelFacts[i]
		name := ""
		if i == 0 {
			name = "facts"
		}
		fmt.Fprintf(&b, "  %-8s %s: %s %s (%s)\n", name, fact.Model, fact.Field, fact.Value, fact.Source)
	}
	row("plugins", strings.Join(x.Plugins, ", "))
	row("tools", x.offered())
	b.WriteString(x.decided())
	b.WriteString(x.granted())
	for i := range x.Stages {
		stage := &x.Stages[i]
		fmt.Fprintf(&b, "\n%d. %s (%s)\n", i+1, stage.Name, stage.Duration.Round(time.Microsecond))
		for _, c := range stage.Choices {
			fmt.Fprintf(&b, "   %-10s %s", c.Action, c.Subject)
			if c.Detail != "" {
				fmt.Fprintf(&b, " — %s", c.Detail)
			}
			b.WriteByte('\n')
		}
	}
	if len(x.Diagnostics) > 0 {
		b.WriteByte('\n')
	}
	return b.String()
}

// decided lists the places that decided the fields.
func (x *Agent) decided() string {
	if len(x.Decisions) == 0 {
		return ""
	}
	width := 0
	for i := range x.Decisions {
		width = max(width, len(x.Decisions[i].Field))
	}
	var b strings.Builder
	b.WriteString("\ndecided by\n")
	for i := range x.Decisions {
		d := &x.Decisions[i]
		fmt.Fprintf(&b, "   %-*s  %s", width, d.Field, d.Place)
		if d.Cleared {
			b.WriteString(", cleared")
		}
		if d.Patched {
			b.WriteString(", by a patch")
		}
		if d.From != "" {
			fmt.Fprintf(&b, ", of agent %s", d.From)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// granted lists the turn's tools.
func (x *Agent) granted() string {
	if x.Request == nil {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\nthe request, toolSource %q\n", x.Request.Source)
	for _, c := range x.Request.Choices {
		action := "left out"
		if c.Granted {
			action = "granted"
		}
		fmt.Fprintf(&b, "   %-10s %s — %s\n", action, c.Tool, c.Rule)
	}
	return b.String()
}

func (x *Agent) runsOn() string {
	switch {
	case x.Endpoint != "":
		return "the endpoint " + x.Endpoint
	case x.Pool != nil:
		return fmt.Sprintf("pool %s of %s%s", x.Model, strings.Join(x.Pool, ", "), x.retries())
	case x.Upstream != "":
		return fmt.Sprintf("model %s: %s at provider %s%s", x.Model, x.Upstream, x.Provider, x.retries())
	default:
		return ""
	}
}

func (x *Agent) retries() string {
	if x.Retried {
		return ", with retries"
	}
	return ""
}

// offered describes which tools the model is offered.
func (x *Agent) offered() string {
	switch {
	case x.Endpoint != "":
		return ""
	case len(x.Tools) == 0:
		return "none: none is registered"
	case len(x.Offered) == 0:
		return fmt.Sprintf("none of %d is offered", len(x.Tools))
	default:
		return fmt.Sprintf("%d of %d offered: %s", len(x.Offered), len(x.Tools), strings.Join(x.Offered, ", "))
	}
}

// Flowchart returns the stages as a Mermaid flowchart with redacted labels.
func (x *Agent) Flowchart(redact func(string) string) string {
	var b strings.Builder
	b.WriteString("flowchart LR\n")
	for i := range x.Stages {
		stage := &x.Stages[i]
		fmt.Fprintf(&b, "  subgraph s%d[\"%d. %s\"]\n    direction TB\n", i+1, i+1, stage.Name)
		for j, c := range stage.Choices {
			text := c.Action + " " + c.Subject
			if c.Detail != "" {
				text += ": " + c.Detail
			}
			fmt.Fprintf(&b, "    s%dn%d[\"%s\"]\n", i+1, j+1, mermaidText(redact(text)))
			if j > 0 {
				fmt.Fprintf(&b, "    s%dn%d --> s%dn%d\n", i+1, j, i+1, j+1)
			}
		}
		b.WriteString("  end\n")
		if i > 0 {
			fmt.Fprintf(&b, "  s%d --> s%d\n", i, i+1)
		}
	}
	return b.String()
}

// mermaidText escapes characters that would end a label or be taken as markup.
func mermaidText(text string) string {
	return strings.NewReplacer(
		"#", "#35;", `"`, "#quot;", "<", "#lt;", ">", "#gt;", "`", "#96;", "\n", " ",
	).Replace(text)
}

// RequestGrant lists the tools that a request gives an agent.
type RequestGrant struct {
	*toolgrant.Grant
	Source string `json:"toolSource,omitempty"`
}
