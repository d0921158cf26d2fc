package cli

import (
	"cmp"
	"context"
	"errors"

	"github.com/agentruntime/agentruntime/cli/internal/command"
	"github.com/agentruntime/agentruntime/cli/internal/explain"
	"github.com/agentruntime/agentruntime/cli/internal/remote"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/server/admin"
	"github.com/agentruntime/agentruntime/spec/workflow"
	"github.com/spf13/cobra"
)

func newExplain(p *program) *cobra.Command {
	var tool, call, flow, request string
	var online bool
	at := new(remote.Flags)
	cmd := &cobra.Command{
		Use:   "explain FILE… AGENT | FILE… --workflow ID | AGENT --server URL",
		Short: "Show how an agent resolves, and why",
		Long: `explain resolves one agent and shows, stage by stage, what was looked up, wrapped,
injected, added and dropped, by which rule, and how long it took. With --tool it shows
why the agent has a tool or does not have it. With --call it shows what happens to a
call (allow, ask, deny, terminate or unavailable) and which rule decides. With
--session-request it shows the agent for a turn of agent sessions that is requested with
the JSON in FILE: the tools of the turn, and the rules that select them. With --workflow
it shows a workflow instead: what starts it, and its steps. With --online it asks the
servers of models for their limits first, as a server does when it starts.

With --server, explain shows the agent in the revision that the server runs. The key is
read from --api-key-file or the variable RUNTIME_API_KEY, and needs the scope
config:read.

Exit codes: 0 done, 1 the agent does not resolve, no source provides the tool of --call,
or the server cannot be reached, 2 usage or a file cannot be read.`,
	}
	files := filesFlag(cmd)
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if done, err := at.Check(cmd, args, 1, []string{"file", "tool", "call", "workflow", "session-request", "online"}); done {
			return err
		}
		if cmd.Flags().Changed("workflow") {
			return files.arguments(0, 0, command.Unlimited)(cmd, args)
		}
		return files.arguments(1, 1, command.Unlimited)(cmd, args)
	}
	at.AddFlags(cmd.Flags())
	format := command.AddFormatFlag(cmd, "text", "json", "mermaid")
	cmd.Flags().StringVar(&tool, "tool", "", "say why the agent has, or does not have, this tool")
	cmd.Flags().StringVar(&call, "call", "", `say what becomes of a call, as in 'wc {"text":"x"}'`)
	command.AllowEmpty(cmd, "call")
	at.AddTenantFlag(cmd.Flags())
	cmd.Flags().StringVar(&flow, "workflow", "", "show this workflow instead of an agent")
	cmd.Flags().StringVar(&request, "session-request", "", "show the agent for a sessions turn requested with the JSON in `FILE`, or - for standard input")
	cmd.Flags().BoolVar(&online, "online", false, "ask the servers of models for limits that the files do not set")
	command.ExcludeFlags(cmd, "tool", "call", "workflow", "session-request")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if (tool != "" || call != "") && format.Value == "mermaid" {
			return command.Usagef(cmd, "--tool and --call support the formats text and json")
		}
		if at.Tenant != "" && at.Server == "" {
			return command.Usagef(cmd, "--tenant needs --server")
		}
		if at.Server != "" {
			return explainAtServer(cmd, p, at, args[0])
		}
		if cmd.Flags().Changed("workflow") {
			names, _ := files.split(args, len(args))
			return explainWorkflow(cmd, p, names, flow)
		}
		var asked *explain.Call
		if cmd.Flags().Changed("call") {
			var err error
			if asked, err = explain.ParseCall(call); err != nil {
				return command.Usagef(cmd, "%w", err)
			}
		}
		var turn *sessionRequest
		if cmd.Flags().Changed("session-request") {
			var err error
			if turn, err = readSessionRequest(cmd, request); err != nil {
				return err
			}
		}
		names, rest := files.split(args, len(args)-1)
		agent := rest[0]
		l, err := p.load(names, false, unheard())
		if err != nil {
			return err
		}
		if online {
			defer l.close()
			l.discoverLimits(cmd.Context(), p)
		}
		if asked != nil {
			return explainTool(cmd, p, l, agent, asked.Tool, asked)
		}
		if turn != nil {
			return explainRequest(cmd, p, l, agent, turn)
		}
		if tool != "" {
			return explainTool(cmd, p, l, agent, tool, nil)
		}
		return explainAgent(cmd, p, l, agent)
	}
	return cmd
}

// explainAgent shows how an agent resolves.
func explainAgent(cmd *cobra.Command, p *program, l *loaded, agent string) error {
	rev, list, err := l.check(cmd.Context())
	if err != nil {
		return err
	}
	e, own := l.about(cmd.Context(), rev, list, agent)
	x, out := newExplanation(l, agent, e, own), command.NewOutput(&p.Streams, cmd, l.file.Redact)
	if e == nil && out.Format != "json" {
		return l.refuse(own, p.Err, command.Failed)
	}
	err = showExplanation(x, l, out)
	if errors.As(err, new(command.Exit)) && out.Format == "mermaid" {
		return l.refuse(own, p.Err, command.Failed)
	}
	return err
}

// explainAtServer shows how an agent resolves at a server.
func explainAtServer(cmd *cobra.Command, p *program, at *remote.Flags, agent string) error {
	return at.CallAdmin(&p.Streams, cmd, func(ctx context.Context, out *command.Output, c *admin.Client) error {
		e, err := c.ExplainAgent(ctx, agent)
		if err != nil {
			return err
		}
		return showExplanation(&explain.Agent{Summary: e.Summary, Decisions: e.Decisions}, nil, out)
	})
}

// explainTool explains why an agent has a tool or not, or the outcome of a call.
func explainTool(cmd *cobra.Command, p *program, l *loaded, agent, tool string, call *explain.Call) error {
	_, e, own, err := l.aboutLocal(cmd.Context(), agent)
	if err != nil {
		return err
	}
	out := command.NewOutput(&p.Streams, cmd, l.file.Redact)
	failed := error(command.Exit(command.Failed))
	if own.HasErrors() && out.Format != "json" {
		return l.refuse(own, p.Err, command.Failed)
	}
	if own.HasErrors() {
		return cmp.Or(out.ShowJSON(&explain.ToolAnswer{Agent: agent, Tool: tool, Reason: "unresolved", Diagnostics: own}, nil), failed)
	}
	if call != nil && e.Tool(tool) != nil {
		a := explain.NewCallAnswer(l.where, e, call)
		return out.Show(a, a.Text())
	}
	a := explain.NewToolAnswer(l.where, e, tool)
	if err := out.Show(a, a.Text()); err != nil || call == nil {
		return err
	}
	return failed
}

// explainWorkflow shows a workflow: its starts and its steps.
func explainWorkflow(cmd *cobra.Command, p *program, names []string, id string) error {
	l, err := p.load(names, false, unheard())
	if err != nil {
		return err
	}
	_, list, err := l.check(cmd.Context())
	if err != nil {
		return err
	}
	var found *workflow.Workflow
	ids := make([]string, len(l.file.Workflows))
	for i, w := range l.file.Workflows {
		if ids[i] = w.ID; w.ID == id {
			found = w
		}
	}
	if found == nil {
		missing := diag.New(diag.InvalidValue, "", "workflow %q is not defined", id).WithNearest(id, ids)
		return l.refuse(diag.List{missing}, p.Err, command.Failed)
	}
	path := diag.Key("workflows", id)
	own := diag.List{}
	for _, d := range list {
		if within(d.Path, path) {
			own = append(own, d)
		}
	}
	out := command.NewOutput(&p.Streams, cmd, l.file.Redact)
	if out.Format == "mermaid" {
		err = out.Printf("%s", explain.DrawWorkflow(found, l.file.Redact))
	} else {
		err = out.Show(explain.NewWorkflow(found, own), found.Explain())
	}
	if err == nil && own.HasErrors() {
		return l.refuse(own, p.Err, command.Failed)
	}
	return err
}
