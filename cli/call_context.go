package cli

import (
	"cmp"
	"context"
	"slices"

	"github.com/agentruntime/agentruntime/cli/internal/explain"
	"github.com/agentruntime/agentruntime/cli/internal/question"
	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/agentruntime/agentruntime/tools/toolset"
)

// acting is implemented by the settings of tools that can describe a call.
type acting interface {
	// Action describes the call in one line, such as "runs wc -w". It contains no secrets except
	// those that the configuration hides.
	Action() string
}

// callContext looks up a call in a revision of the configuration. It returns nil if the agent
// does not exist.
func (l *loaded) callContext(ctx context.Context, rev *registry.Revision, asked *question.Consent, q *interaction.Request) *question.Call {
	e, _ := resolve.Explain(ctx, rev, asked.About.Agent) // may resolve partially
	if e == nil {
		return nil
	}
	answer := explain.NewCallAnswer(l.where, e, &explain.Call{Tool: q.Tool, Arguments: q.Arguments})
	c := &question.Call{
		GatePath: answer.GatePath, GatePlace: answer.GatePlace, Conditions: answer.Conditions,
		Tool: answer.Source, ToolPath: answer.SourcePath, ToolPlace: answer.SourcePlace,
	}
	if choice := e.Tool(q.Tool); choice != nil && choice.Source.Kind == toolset.SourceGlobal {
		if tool, ok := rev.Set().Tools.Get(q.Tool); ok {
			c.Tool = cmp.Or(tool.Descriptor().Description, c.Tool)
		}
		declared := cmp.Or(choice.Source.Name, q.Tool)
		i := slices.IndexFunc(l.file.Tools, func(t config.Entry[tools.Kind]) bool { return t.ID == declared })
		if i >= 0 {
			if says, ok := l.file.Tools[i].Config.(acting); ok {
				c.Action = says.Action()
			}
		}
	}
	return c
}
