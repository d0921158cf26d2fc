// Package diffview renders the effects of a configuration change on each agent.
package diffview

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/cli/internal/terminal"
	"github.com/agentruntime/agentruntime/resolve"
)

// Report is the output of diff.
type Report struct{ *resolve.DiffReport }

// signs mark the kinds of changes.
var signs = map[resolve.ChangeKind]string{resolve.Added: "+", resolve.Removed: "-", resolve.Changed: "~"}

// Text returns the report for people.
func (r Report) Text() string {
	var b strings.Builder
	var widened []string
	for i := range r.Agents {
		d := &r.Agents[i]
		fmt.Fprintf(&b, "%s agent %s\n", signs[d.Kind], terminal.OneLine(d.Agent))
		for _, c := range d.Changes {
			fmt.Fprintf(&b, "    %s\n", terminal.OneLine(ChangeText(&c)))
		}
		if d.Widened() {
			widened = append(widened, d.Agent)
		}
	}
	entries := r.shownEntries()
	for _, c := range entries {
		fmt.Fprintf(&b, "%s %s\n", signs[c.Kind], terminal.OneLine(c.Path))
	}
	switch {
	case r.Same:
		b.WriteString("no agent differs\n")
	case len(r.Agents) == 0:
		fmt.Fprintf(&b, "no agent differs; %s\n", terminal.Count(len(entries), "other entry does", "other entries do"))
	case r.Widened:
		fmt.Fprintf(&b, "%s; access is widened for %s\n", terminal.Count(len(r.Agents), "agent differs", "agents differ"), terminal.OneLine(strings.Join(widened, ", ")))
	default:
		fmt.Fprintf(&b, "%s; access is not widened\n", terminal.Count(len(r.Agents), "agent differs", "agents differ"))
	}
	return b.String()
}

// shownInAgents are the sections whose changes are shown with the affected agents.
var shownInAgents = []string{"providers", "models", "model_pools", "tools", "plugins", "agents", "remote_agents", "defaults", "patches", "order"}

// Differs reports whether the effect differs; entries that only differ in form do not count.
func (r Report) Differs() bool { return len(r.Agents)+len(r.entriesBesideAgents()) > 0 }

// shownEntries returns the entries to list: if agents differ, only those not shown with them.
func (r Report) shownEntries() []resolve.EntryChange {
	if len(r.Agents) == 0 {
		return r.Entries
	}
	return r.entriesBesideAgents()
}

func (r Report) entriesBesideAgents() []resolve.EntryChange {
	return slices.DeleteFunc(slices.Clone(r.Entries), func(c resolve.EntryChange) bool {
		section, _, _ := strings.Cut(strings.TrimPrefix(c.Path, "patches."), ".")
		return slices.Contains(shownInAgents, section)
	})
}

// ChangeText returns a change in one line.
func ChangeText(c *resolve.Change) string {
	text := signs[c.Kind] + " " + c.Field
	if c.Subject != "" {
		text += " " + c.Subject
	}
	if len(c.Through) > 0 {
		text += " through " + strings.Join(c.Through, ", ")
	}
	switch c.Kind {
	case resolve.Changed:
		text += fmt.Sprintf(": %s → %s", c.Old, c.New)
	case resolve.Added:
		text += ": " + c.New
	case resolve.Removed:
		text += ": " + c.Old
	}
	switch {
	case c.Widened && c.Reason != "":
		text += fmt.Sprintf("  (widened: %s)", c.Reason)
	case c.Widened:
		text += "  (widened)"
	case c.Reason != "":
		text += fmt.Sprintf("  (%s)", c.Reason)
	}
	return text
}
