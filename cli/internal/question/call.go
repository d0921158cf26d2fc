package question

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/agentruntime/agentruntime/cli/internal/terminal"
	"github.com/agentruntime/agentruntime/event/interaction"
)

// Call describes a call that needs a person's permission. Its texts may be empty.
type Call struct {
	// GatePath and GatePlace locate the rule that asks; Conditions are its conditions.
	GatePath, GatePlace string
	Conditions          []string
	// Tool describes the tool, and ToolPath and ToolPlace locate it.
	Tool, ToolPath, ToolPlace string
	// Action is the call's effect according to the tool's settings.
	Action string
}

// explain describes a permission question: its agent, its reason, the call's effect and the
// meaning of each answer.
func (a *Answerer) explain(ctx context.Context, q *interaction.Request, asked *Consent) string {
	var b strings.Builder
	about := &asked.About
	rule := "no rule speaks of the call, and the default is to ask"
	if about.Rule != "" {
		rule = fmt.Sprintf("the rule %q of agent %s", about.Rule, about.Agent)
	}
	var known *Call
	if a.Context != nil && len(asked.interactions) == 0 {
		known = a.Context(ctx, asked, q)
	}
	if known == nil {
		terminal.WriteRow(&b, "asks", rule, "", "")
		terminal.WriteRow(&b, "", "its location is known to the operator of the agent", "", "")
	} else {
		terminal.WriteRow(&b, "asks", rule, known.GatePath, known.GatePlace)
		for _, condition := range known.Conditions {
			terminal.WriteRow(&b, "because", condition, "", "")
		}
		terminal.WriteRow(&b, "tool", strings.TrimSpace(q.Tool+" "+inParentheses(known.Tool)), known.ToolPath, known.ToolPlace)
		terminal.WriteRow(&b, "does", known.Action, "", "")
	}
	terminal.WriteRow(&b, "with", strings.Join(indented(q.Arguments), "\n           "), "", "")
	terminal.WriteRow(&b, "y", "makes this call; the next one is asked about again", "", "")
	if asked.forSession() {
		terminal.WriteRow(&b, "s", "makes this call, and remembers that for later ones of "+q.Tool+" that the same rule asks about,", "", "")
		terminal.WriteRow(&b, "", "for the rest of the session, "+a.Session, "", "")
	}
	terminal.WriteRow(&b, "else", "rejects the call; the model is told, continues and may ask again", "", "")
	return terminal.EscapeLines(a.redact(b.String()))
}

// inParentheses returns a text in parentheses, unless it is empty.
func inParentheses(text string) string {
	if text == "" {
		return ""
	}
	return "(" + text + ")"
}

// maxShown bounds the lines of arguments that are shown.
const maxShown = 60

// indented returns the lines of a JSON value, written for people.
func indented(value json.RawMessage) []string {
	var b bytes.Buffer
	if len(value) == 0 || json.Indent(&b, value, "", "  ") != nil {
		return nil
	}
	all := strings.Split(b.String(), "\n")
	if left := len(all) - maxShown; left > 0 {
		all = append(all[:maxShown], "… and "+terminal.Count(left, "more line", "more lines"))
	}
	return all
}
