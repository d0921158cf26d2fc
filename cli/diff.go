package cli

import (
	"context"
	"slices"

	"github.com/agentruntime/agentruntime/cli/internal/command"
	"github.com/agentruntime/agentruntime/cli/internal/diffview"
	"github.com/agentruntime/agentruntime/cli/internal/remote"
	"github.com/agentruntime/agentruntime/cli/internal/terminal"
	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/server/admin"
	"github.com/spf13/cobra"
	"go.uber.org/zap"
)

// diffOptions are the flags of diff.
type diffOptions struct {
	remote.Flags

	failOn   *command.Choice
	exitCode bool
}

func newDiff(p *program) *cobra.Command {
	o := diffOptions{failOn: &command.Choice{Allowed: []string{"widened", "lost"}}}
	cmd := &cobra.Command{
		Use:   "diff OLD NEW | OLD… -- NEW… | FILE… --server URL",
		Short: "Show what a change does to each agent",
		Long: `diff resolves every agent of two configurations and shows how their effective
environments differ: model, prompt, plugins, sections, limits, and the tools and
delegates that an agent gains or loses. OLD and NEW are files or directories. If a side
has several files, separate the sides with --. With --server, OLD is what the server
runs and all files are NEW; the server compares them with the values of its variables.
The key is read from --api-key-file or the variable RUNTIME_API_KEY, and needs the scope
config:read. With --server and --tenant, FILE is the overlay of a tenant and OLD is the
tenant's current overlay.

Access is widened if a limit of an agent is raised or removed, or if an agent may make a
call that it could not make before: with a tool that it gained, under rules that now
allow the call, or as a new agent. The rules of an agent also apply to its delegates. A
tool that only a delegate has is shown as "through" the agents that lead to it. The
permission rules of each tool are compared as a whole, and the rule that makes the
difference is named. Conditions that cannot be compared are assumed to be independent,
so a change that may allow more counts as widened.

Exit codes: 0 done, 1 the configurations differ (with --exit-code), access is widened
(with --fail-on widened), an agent loses a tool (with --fail-on lost), or the server
cannot be reached, 2 usage, or a configuration is invalid or cannot be read.`,
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case o.Server == "" && o.Tenant != "":
				return command.Usagef(cmd, "--tenant needs --server")
			case o.Server != "" && cmd.ArgsLenAtDash() > 0:
				return command.Usagef(cmd, "with --server all files are the new configuration: remove --")
			case o.Tenant != "" && len(args) != 1:
				return command.Usagef(cmd, "the overlay of a tenant is one FILE, but %s given", terminal.Count(len(args), "argument is", "arguments are"))
			case o.Server != "":
				return command.Arguments(1, command.Unlimited)(cmd, args)
			case o.KeyFile != "":
				return command.Usagef(cmd, "--api-key-file needs --server")
			}
			if n := cmd.ArgsLenAtDash(); n > 0 && n < len(args) {
				return nil
			}
			return command.Arguments(2, 2)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.Server != "" {
				return diffWithServer(cmd, p, args, &o)
			}
			n := max(cmd.ArgsLenAtDash(), 1)
			return diff(cmd, p, args[:n], args[n:], &o)
		},
	}
	o.AddRequiredFlags(cmd.Flags())
	o.AddTenantFlag(cmd.Flags())
	command.AddFormatFlag(cmd, "text", "json")
	cmd.Flags().Var(o.failOn, "fail-on", "exit with 1 if access is widened or a tool is lost: widened, lost")
	cmd.Flags().BoolVar(&o.exitCode, "exit-code", false, "exit with 1 if the configurations differ")
	return cmd
}

func diff(cmd *cobra.Command, p *program, before, after []string, o *diffOptions) error {
	ctx := cmd.Context()
	logger := zap.NewNop() // a component with another logger cannot be reused
	old, oldFile, err := p.resolved(ctx, before, nil, logger)
	if err != nil {
		return err
	}
	fresh, newFile, err := p.resolved(ctx, after, old, logger)
	if err != nil {
		return err
	}
	diffs, err := resolve.Diff(ctx, old, fresh)
	if err != nil {
		return err
	}
	report := resolve.NewDiffReport(diffs)
	older, newer, err := config.ComparedParts(oldFile, newFile)
	if err == nil {
		err = report.AddEntries(older, newer)
	}
	if err != nil {
		return err
	}
	redact := func(text string) string { return newFile.Redact(oldFile.Redact(text)) }
	return o.show(command.NewOutput(&p.Streams, cmd, redact), diffview.Report{DiffReport: report})
}

// diffWithServer compares files with a server's configuration.
func diffWithServer(cmd *cobra.Command, p *program, files []string, o *diffOptions) error {
	document, show, err := p.documentOf(cmd.Context(), files, o.Tenant)
	if err != nil {
		return err
	}
	return o.CallAdmin(&p.Streams, cmd, func(ctx context.Context, out *command.Output, c *admin.Client) error {
		proof, err := c.Compare(ctx, document)
		if err != nil {
			return err
		}
		if proof.Valid && proof.Diff != nil {
			return o.show(out, diffview.Report{DiffReport: proof.Diff})
		}
		if err := show(proof.Findings); err != nil {
			return err
		}
		return command.Exit(command.Usage)
	})
}

// show prints the differences, and fails if the flags require it.
func (o *diffOptions) show(out *command.Output, report diffview.Report) error {
	if err := out.Show(report.DiffReport, report.Text()); err != nil {
		return err
	}
	if o.exitCode && report.Differs() || o.failOn.Value == "widened" && report.Widened || o.failOn.Value == "lost" && report.Lost {
		return command.Exit(command.Failed)
	}
	return nil
}

// resolved returns the revision of a valid configuration and the parsed files. It reuses the
// entries that base, which may be nil, has unchanged: a diff resolves and compares only the others.
func (p *program) resolved(ctx context.Context, files []string, base *registry.Revision, logger *zap.Logger) (*registry.Revision, *config.File, error) {
	l, err := p.load(files, false, logger)
	if err != nil {
		return nil, nil, err
	}
	if base != nil {
		l.builder.Adopt(base)
	}
	rev, list, err := l.check(ctx)
	if err != nil {
		return nil, nil, err
	}
	list = slices.DeleteFunc(list, func(d diag.Diagnostic) bool { return d.Code == diag.WidenedAccess }) // diff shows it
	if list.HasErrors() {
		return nil, nil, l.refuse(list, p.Err, command.Usage)
	}
	return rev, l.file, nil
}
