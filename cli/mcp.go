package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/app"
	"github.com/agentruntime/agentruntime/cli/internal/command"
	"github.com/agentruntime/agentruntime/cli/internal/terminal"
	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/service"
	"github.com/spf13/cobra"
)

// mcpOptions are the flags of mcp.
type mcpOptions struct {
	logFlags

	files  *fileArguments
	caller service.Caller
	keep   bool
}

func newMCP(p *program) *cobra.Command {
	var o mcpOptions
	cmd := &cobra.Command{
		Use:   "mcp (FILE | -f FILE…) [AGENT…]",
		Short: "Serve agents as MCP tools on standard input and output",
		Long: `mcp lets an editor or a desktop client use the agents as tools: the client starts the
command and speaks the Model Context Protocol over its standard input and output. AGENT
can be a pattern; without it, all agents are tools. The command ends when the client
closes its input.

Conversations are forgotten when the command ends, since clients start it for each
window. With --keep they are stored in the store of the configuration, which only one
process may use if it is SQLite.

For clients that speak HTTP, serve has the same tools at /mcp.

Exit codes: 0 the client has closed its input, 1 the configuration is invalid or the store
cannot be used, 2 usage or a file cannot be read, 130 canceled.`,
		Args: func(cmd *cobra.Command, args []string) error {
			return o.files.arguments(0, command.Unlimited, command.Unlimited)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error { return serveMCP(cmd.Context(), p, args, &o) },
	}
	o.files = filesFlag(cmd)
	cmd.Flags().BoolVar(&o.keep, "keep", false, "use the store of the configuration")
	ownerFlags(cmd, &o.caller)
	o.addFlags(cmd)
	return cmd
}

// serveMCP serves one client until it closes the input.
func serveMCP(ctx context.Context, p *program, args []string, o *mcpOptions) error {
	out := p.Out
	p = p.with(terminal.Streams{In: p.In, Out: p.Err, Err: p.Err}) // only messages go to the output
	names, agents := o.files.split(args, 1)
	l, err := p.open(names, &o.logFlags, newCommandLogger)
	if err != nil {
		return err
	}
	defer l.close()
	l.file.Server.Listen = settings.ListenNone
	if !o.keep {
		l.file.Store = settings.Store{Driver: settings.StoreMemory}
	}
	l.toolTime = app.StartupToolTime
	return p.withRuntime(ctx, l, "turns are not traced", func(rt *runtime.AgentRuntime, seen *observed) error {
		caller := o.caller
		if len(agents) > 0 {
			caller.Agents = service.NewAgentSet(agents)
			if err := checkAgents(rt.Revision().Set().Agents.IDs(), agents); err != nil {
				return p.misuse(err)
			}
		}
		a := p.newApp(l, seen)
		err := a.Start(ctx, rt)
		if err == nil {
			err = a.ServeLines(ctx, settings.SurfaceMCP, caller, io.NopCloser(p.In), &rawWriter{out})
		}
		return p.complain(ctx, l, errors.Join(err, a.Shutdown(ctx)))
	})
}

// checkAgents rejects a pattern that no agent matches.
func checkAgents(ids, patterns []string) error {
	for _, pattern := range patterns {
		if !slices.ContainsFunc(ids, service.NewAgentSet([]string{pattern}).Has) {
			return fmt.Errorf("no agent matches %q; the configuration has %s", pattern, strings.Join(ids, ", "))
		}
	}
	return nil
}

// rawWriter writes messages without escaping.
type rawWriter struct{ out io.Writer }

func (w *rawWriter) Write(p []byte) (int, error) {
	if err := terminal.WriteUnescaped(w.out, string(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Close does nothing: the output belongs to the process.
func (*rawWriter) Close() error { return nil }
