package cli

import (
	"bytes"
	"context"
	"errors"
	"os"
	"slices"

	"github.com/agentruntime/agentruntime/cli/internal/command"
	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/service/fleet"
	"github.com/spf13/cobra"
	"go.uber.org/zap"
)

// validateOptions are the flags of validate.
type validateOptions struct {
	format *command.Choice
	strict bool
	online bool
	agent  string
	tenant map[string]string
	// overlay is the file with a tenant's overlay, and tenantName that tenant.
	overlay, tenantName string
}

func newValidate(p *program) *cobra.Command {
	var o validateOptions
	cmd := &cobra.Command{
		Use:   "validate FILE…",
		Short: "Check that every agent resolves",
		Long: `validate reads one or more configuration files, resolves every agent without calling a
model, and reports every error and warning with its location. The FILE "-" is standard input.

With --overlay, validate checks the overlay of a tenant over the files, as a server does
when it is published: its agents must resolve and may do no more than the files allow.

Exit codes: 0 valid, 1 errors (with --strict also warnings), 2 usage or a file cannot be
read.`,
		Args: command.Arguments(1, command.Unlimited),
		RunE: func(cmd *cobra.Command, files []string) error {
			switch {
			case o.overlay != "" && o.agent != "":
				return command.Usagef(cmd, "--overlay and --agent exclude each other")
			case o.overlay == "" && o.tenantName != "":
				return command.Usagef(cmd, "--tenant needs --overlay: the file with the tenant's overlay")
			case len(o.tenant) > 0 && !o.online:
				return command.Usagef(cmd, "--tenant-variable needs --online, which lists tools")
			}
			return validate(cmd.Context(), p, files, &o)
		},
	}
	o.format = command.AddFormatFlag(cmd, "text", "json", "sarif", "github")
	cmd.Flags().BoolVar(&o.strict, "strict", false, "treat warnings as errors for the exit code")
	cmd.Flags().BoolVar(&o.online, "online", false, "also get agents from remote sources, cards from peers, and tools from servers")
	cmd.Flags().Var(&command.Assignments[string]{To: &o.tenant, Form: command.TextForm, Variable: true}, "tenant-variable", "with --online, list tools with this variable of a tenant: `NAME=VALUE`; can be repeated")
	cmd.Flags().StringVar(&o.agent, "agent", "", "validate only the agent with this ID and its dependencies")
	cmd.Flags().StringVar(&o.overlay, "overlay", "", "validate the tenant's overlay in this `FILE` over the files")
	cmd.Flags().StringVar(&o.tenantName, "tenant", "", "with --overlay, the `NAME` of the tenant")
	return cmd
}

// maxDocument limits a configuration on standard input, in bytes. It exceeds the limit of a
// configuration.
const maxDocument = 8 << 20

// withDocument returns the program with the configuration on standard input, if files name it.
func (p *program) withDocument(ctx context.Context, files []string) (*program, error) {
	if !slices.Contains(files, "-") {
		return p, nil
	}
	data, err := readInput(ctx, p.In, maxDocument)
	if err != nil {
		return nil, err
	}
	other := *p
	other.document = bytes.NewReader(data)
	return &other, nil
}

func validate(ctx context.Context, p *program, files []string, o *validateOptions) error {
	logger, log := zap.NewNop(), newLogOutput(p.Err, &command.Choice{Value: logText})
	if o.online { // shows output of failing programs
		logger = newCommandLogger(log, false)
		defer logger.Sync() //nolint:errcheck // a terminal cannot be synced
	}
	p, err := p.withDocument(ctx, files)
	if err != nil {
		return err
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
		if err := l.listToolsFor(o.tenant); err != nil {
			return err
		}
		l.builder.RefreshTools(ctx)
		l.builder.LearnLimits(ctx)
	}
	rev, list, err := l.check(ctx)
	if err != nil {
		return err
	}
	report := l.report(list, p.Out)
	report.Suppressed = l.suppressed
	if o.agent != "" {
		e, own := l.about(ctx, rev, list, o.agent)
		report.Diagnostics, report.Agents = own, 0
		report.Suppressed = l.suppressedOf(e, o.agent)
		if e != nil {
			report.Agents = 1
		}
	}
	if o.overlay != "" && report.Valid() {
		if report, err = p.overlayReport(ctx, l, rev, o); err != nil {
			return err
		}
	}
	report.Strict = o.strict
	if err := renderReport(report, p.Out, diag.Format(o.format.Value)); err != nil {
		return err
	}
	if !report.Valid() {
		return command.Exit(command.Failed)
	}
	return nil
}

// overlayReport returns the report about a tenant's overlay over valid files.
func (p *program) overlayReport(ctx context.Context, l *loaded, rev *registry.Revision, o *validateOptions) (report *diag.Report, err error) {
	data, err := os.ReadFile(o.overlay)
	if err != nil {
		return nil, p.misuse(err)
	}
	overlay, found, err := fleet.OpenOverlay(ctx, &fleet.OverlayRequest{
		File: l.file, Base: rev, Tenant: o.tenantName, Source: config.Source{Name: o.overlay, Data: data},
	})
	if err != nil {
		return nil, p.misuse(err)
	}
	defer func() { err = errors.Join(err, overlay.Close()) }()
	report = l.report(found, p.Out)
	report.Agents = len(overlay.Agents)
	return report, nil
}
