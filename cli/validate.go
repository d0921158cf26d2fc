package cli

import (
	"context"
	"strings"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/spf13/cobra"
	"go.uber.org/zap"
)

// validateOptions are the flags of validate.
type validateOptions struct {
	format *choice
	strict bool
	online bool
	agent  string
	tenant tenantFlags
}

func newValidate(p *program) *cobra.Command {
	var o validateOptions
	cmd := &cobra.Command{
		Use:   "validate FILE…",
		Short: "Check that every agent resolves",
		Long: `validate reads one or more configuration files, resolves every agent without calling a
model, and reports every error and warning with its location.

Exit codes: 0 valid, 1 errors (with --strict also warnings), 2 usage or a file cannot be
read.`,
		Args: arguments(1, unlimited),
		RunE: func(cmd *cobra.Command, files []string) error {
			return validate(cmd.Context(), p, files, &o)
		},
	}
	o.format = formatFlag(cmd, "text", "json", "sarif", "github")
	cmd.Flags().BoolVar(&o.strict, "strict", false, "treat warnings as errors for the exit code")
	cmd.Flags().BoolVar(&o.online, "online", false, "also get agents from remote sources, cards from peers, and tools from servers")
	cmd.Flags().Var(&o.tenant, "tenant-variable", "with --online, list tools with this variable of a tenant: `NAME=VALUE`; can be repeated")
	cmd.Flags().StringVar(&o.agent, "agent", "", "validate only the agent with this ID and its dependencies")
	return cmd
}

func validate(ctx context.Context, p *program, files []string, o *validateOptions) error {
	logger, log := zap.NewNop(), newLogOutput(p.err, &choice{value: logText})
	if o.online { // shows what programs write when they fail
		logger = newCommandLogger(log, false)
		defer logger.Sync() //nolint:errcheck // a terminal cannot be synced
	}
	l, err := p.load(files, false, logger)
	if err != nil {
		return err
	}
	log.redact = l.file.Redact
	if o.online {
		defer l.close()
		l.builder.Discover(ctx)
		l.builder.ProbePeers(ctx)
		l.builder.ListToolsFor(o.tenant.values)
		l.builder.RefreshTools(ctx)
	}
	rev, list, err := l.check(ctx)
	if err != nil {
		return err
	}
	report := l.report(list, p.out)
	report.Suppressed = l.suppressed
	if o.agent != "" {
		e, own := l.about(ctx, rev, list, o.agent)
		report.Diagnostics, report.Agents = own, 0
		report.Suppressed = l.suppressedOf(e, o.agent)
		if e != nil {
			report.Agents = 1
		}
	}
	report.Strict = o.strict
	if err := renderReport(report, p.out, diag.Format(o.format.value)); err != nil {
		return err
	}
	if !report.Valid() {
		return exit{exitFailed}
	}
	return nil
}

// within reports whether a path is another one or lies below it.
func within(path, above string) bool {
	rest, ok := strings.CutPrefix(path, above)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}
