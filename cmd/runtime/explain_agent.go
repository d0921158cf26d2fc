package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/resolve"
)

// explanation is what explain says of an agent.
type explanation struct {
	Agent       string               `json:"agent"`
	Resolves    bool                 `json:"resolves"`
	Path        string               `json:"path"`
	Model       string               `json:"model,omitempty"`
	Upstream    string               `json:"upstream_model,omitempty"`
	Provider    string               `json:"provider,omitempty"`
	Pool        []string             `json:"pool,omitempty"`
	Endpoint    string               `json:"endpoint,omitempty"`
	Retried     bool                 `json:"retried"`
	MaxRounds   int                  `json:"max_rounds"`
	Plugins     []string             `json:"plugins"`
	Tools       []resolve.ToolChoice `json:"tools"`
	Offered     []string             `json:"offered_tools"`
	Stages      []resolve.Stage      `json:"stages"`
	Diagnostics diag.List            `json:"diagnostics"`

	redact func(string) string
}

func newExplanation(l *loaded, e *resolve.Explanation, list diag.List) *explanation {
	x := &explanation{
		Agent: e.Agent.ID, Resolves: !list.HasErrors() && !e.Diagnostics.HasErrors(), Path: e.Path,
		Model: e.Agent.ModelID, Retried: e.Retried, MaxRounds: e.Agent.Rounds(),
		Plugins: []string{}, Offered: []string{}, Tools: e.Tools, Stages: e.Trace.Stages,
		Diagnostics: l.file.Complete(nil, e.Diagnostics), redact: l.file.Redact,
	}
	if x.Tools == nil {
		x.Tools = []resolve.ToolChoice{}
	}
	if x.Diagnostics == nil {
		x.Diagnostics = diag.List{}
	}
	if e.Model != nil {
		x.Upstream, x.Provider = e.Model.UpstreamModel, e.Model.ProviderID
	}
	if e.Pool != nil {
		for i := range e.Pool.Members {
			x.Pool = append(x.Pool, e.Pool.Members[i].ModelID)
		}
	}
	if e.Agent.Endpoint != nil {
		x.Endpoint = e.Agent.Endpoint.BaseURL
	}
	for _, p := range e.Plugins {
		x.Plugins = append(x.Plugins, p.ID)
	}
	for i := range e.Tools {
		if e.Tools[i].Offered() {
			x.Offered = append(x.Offered, e.Tools[i].ID)
		}
	}
	return x
}

// render writes the explanation in a format.
func (x *explanation) render(s streams, format string) error {
	var b strings.Builder
	switch format {
	case "json":
		if err := writeJSON(&b, x); err != nil {
			return err
		}
	case "mermaid":
		x.mermaid(&b)
	default:
		x.text(&b)
	}
	_, err := io.WriteString(s.out, x.redact(b.String()))
	return err
}

func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

func (x *explanation) text(b *strings.Builder) {
	fmt.Fprintf(b, "agent %s\n", x.Agent)
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(b, "  %-9s %s\n", name, value)
		}
	}
	row("runs on", x.runsOn())
	row("plugins", strings.Join(x.Plugins, ", "))
	row("tools", fmt.Sprintf("%d of %d offered: %s", len(x.Offered), len(x.Tools), strings.Join(x.Offered, ", ")))
	for i := range x.Stages {
		stage := &x.Stages[i]
		fmt.Fprintf(b, "\n%d. %s (%s)\n", i+1, stage.Name, stage.Duration.Round(time.Microsecond))
		for _, c := range stage.Choices {
			fmt.Fprintf(b, "   %-10s %s", c.Action, c.Subject)
			if c.Detail != "" {
				fmt.Fprintf(b, " — %s", c.Detail)
			}
			b.WriteByte('\n')
		}
	}
	for _, d := range x.Diagnostics {
		fmt.Fprintf(b, "\n%s[%s]: %s\n", d.Severity, d.Code, d.Message)
	}
}

func (x *explanation) runsOn() string {
	switch {
	case x.Endpoint != "":
		return "the endpoint " + x.Endpoint
	case x.Pool != nil:
		return fmt.Sprintf("pool %s of %s%s", x.Model, strings.Join(x.Pool, ", "), x.retriedText())
	case x.Upstream != "":
		return fmt.Sprintf("model %s: %s at provider %s%s", x.Model, x.Upstream, x.Provider, x.retriedText())
	default:
		return ""
	}
}

func (x *explanation) retriedText() string {
	if x.Retried {
		return ", with retries"
	}
	return ""
}

// mermaid writes the stages as a flowchart.
func (x *explanation) mermaid(b *strings.Builder) {
	b.WriteString("flowchart LR\n")
	previous := ""
	for i := range x.Stages {
		stage := &x.Stages[i]
		fmt.Fprintf(b, "  subgraph s%d[\"%d. %s\"]\n    direction TB\n", i+1, i+1, stage.Name)
		for j, c := range stage.Choices {
			text := c.Action + " " + c.Subject
			if c.Detail != "" {
				text += ": " + c.Detail
			}
			fmt.Fprintf(b, "    s%dn%d[\"%s\"]\n", i+1, j+1, mermaidText(text))
			if j > 0 {
				fmt.Fprintf(b, "    s%dn%d --> s%dn%d\n", i+1, j, i+1, j+1)
			}
		}
		b.WriteString("  end\n")
		if previous != "" {
			fmt.Fprintf(b, "  %s --> s%d\n", previous, i+1)
		}
		previous = fmt.Sprintf("s%d", i+1)
	}
}

// mermaidText escapes what would end a label or be taken for markup.
func mermaidText(text string) string {
	return strings.NewReplacer(`"`, "#quot;", "<", "#lt;", ">", "#gt;", "\n", " ").Replace(text)
}
