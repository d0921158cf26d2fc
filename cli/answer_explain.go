package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/cli/internal/terminal"
	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/agentruntime/agentruntime/tools/toolset"
)

// callContext describes a call that needs a person's permission.
type callContext struct {
	// gate is the rule that asks and its place; conditions are the ones that matched.
	gate       toolAnswer
	conditions []string
	// description is the tool's description for the model, action the call's effect according to
	// the tool's settings. Both may be empty.
	description, action string
}

// explain describes a permission question: its agent, its reason, the call's effect and the
// meaning of each answer.
func (a *answerer) explain(ctx context.Context, q *interaction.Request, asked *consent) string {
	var b strings.Builder
	about := &asked.about
	rule := "no rule speaks of the call, and the default is to ask"
	if about.Rule != "" {
		rule = fmt.Sprintf("the rule %q of agent %s", about.Rule, about.Agent)
	}
	var known *callContext
	if a.context != nil && len(asked.interactions) == 0 {
		known = a.context(ctx, asked, q)
	}
	if known == nil {
		terminal.WriteRow(&b, "asks", rule, "", "")
		terminal.WriteRow(&b, "", "its location is known to the operator of the agent", "", "")
	} else {
		terminal.WriteRow(&b, "asks", rule, known.gate.GatePath, known.gate.GatePlace)
		for _, condition := range known.conditions {
			terminal.WriteRow(&b, "because", condition, "", "")
		}
		tool := cmp.Or(known.description, known.gate.Source)
		terminal.WriteRow(&b, "tool", strings.TrimSpace(q.Tool+" "+inParentheses(tool)), known.gate.SourcePath, known.gate.SourcePlace)
		terminal.WriteRow(&b, "does", known.action, "", "")
	}
	terminal.WriteRow(&b, "with", strings.Join(indented(q.Arguments), "\n           "), "", "")
	terminal.WriteRow(&b, "y", "makes this call; the next one is asked about again", "", "")
	if asked.forSession() {
		terminal.WriteRow(&b, "s", "makes this call, and remembers that for later ones of "+q.Tool+" that the same rule asks about,", "", "")
		terminal.WriteRow(&b, "", "for the rest of the session, "+a.session, "", "")
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

// acting is implemented by the settings of tools that can describe a call.
type acting interface {
	// Action describes the call in one line, such as "runs wc -w". It contains no secrets except
	// those that the configuration hides.
	Action() string
}

// callContext looks up a call in a revision of the configuration. It returns nil if the agent
// does not exist.
func (l *loaded) callContext(ctx context.Context, rev *registry.Revision, asked *consent, q *interaction.Request) *callContext {
	e, _ := resolve.Explain(ctx, rev, asked.about.Agent) // may resolve partially
	if e == nil {
		return nil
	}
	answer := newCallAnswer(l, e, &toolCall{tool: q.Tool, arguments: q.Arguments})
	c := &callContext{gate: answer.toolAnswer, conditions: answer.Conditions}
	if choice := e.Tool(q.Tool); choice != nil && choice.Source.Kind == toolset.SourceGlobal {
		if tool, ok := rev.Set().Tools.Get(q.Tool); ok {
			c.description = tool.Descriptor().Description
		}
		declared := cmp.Or(choice.Source.Name, q.Tool)
		i := slices.IndexFunc(l.file.Tools, func(t config.Entry[tools.Kind]) bool { return t.ID == declared })
		if i >= 0 {
			if says, ok := l.file.Tools[i].Config.(acting); ok {
				c.action = says.Action()
			}
		}
	}
	return c
}
