package cli

import (
	"context"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/cli/internal/command"
	"github.com/agentruntime/agentruntime/cli/internal/remote"
	"github.com/agentruntime/agentruntime/cli/internal/terminal"
	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/spf13/cobra"
)

func newApply(p *program) *cobra.Command {
	c := remote.NewChangeFlags()
	cmd := &cobra.Command{
		Use:   "apply FILE… --server URL",
		Short: "Publish configuration files to a server",
		Long: `apply publishes the agents, models, tools and other entries of files to a server with
revisions: {source: store}. The server proves that every agent resolves, and the
command shows what changes for each agent and what widens access. Variables stay
references; the server has their values. Settings such as server and store are not
sent.

A new configuration is also proved with the overlays of all tenants, and nothing is
published if one breaks. With --except-broken, tenants whose overlay breaks keep their
current configuration. With --tenant, FILE is the overlay of one tenant: patches,
agents and tools over the server's configuration.

apply replaces the revision that was current when the command started. If somebody
else publishes in the meantime, nothing is published.

The key is read from --api-key-file or the variable RUNTIME_API_KEY. It needs the
scopes config:read and config:write.

Exit codes: 0 done, 1 the server rejects the change or cannot be reached, 2 usage, or
the files are invalid or cannot be read.`,
		Args: command.Arguments(1, command.Unlimited),
		RunE: func(cmd *cobra.Command, files []string) error {
			if err := c.NeedServer(cmd); err != nil {
				return err
			}
			switch {
			case c.Tenant != "" && len(files) != 1:
				return command.Usagef(cmd, "the overlay of a tenant is one FILE, but %s given", terminal.Count(len(files), "argument is", "arguments are"))
			case c.Tenant != "" && c.ExceptBroken:
				return command.Usagef(cmd, "--except-broken and --tenant exclude each other")
			}
			return apply(cmd, p, c, files)
		},
	}
	c.AddRequiredFlags(cmd.Flags())
	c.AddTenantFlag(cmd.Flags())
	cmd.Flags().BoolVar(&c.ExceptBroken, "except-broken", false, "publish even if overlays of tenants break; these tenants keep their current configuration")
	command.AddFormatFlag(cmd, "text", "json")
	c.AddChangeFlags(cmd)
	return cmd
}

func apply(cmd *cobra.Command, p *program, c *remote.ChangeFlags, files []string) error {
	if c.Tenant == "" {
		if err := p.refuseWidening(cmd.Context(), files); err != nil {
			return err
		}
	}
	document, show, err := p.documentOf(cmd.Context(), files, c.Tenant)
	if err != nil {
		return err
	}
	return remote.Publish(&p.Streams, cmd, c, document, show)
}

// findingsPrinter writes the diagnostics of a rejected document.
type findingsPrinter func(diag.List) error

// overlayOf returns the document of a self-contained valid overlay file, and the printer for its
// findings.
func (p *program) overlayOf(file string) ([]byte, findingsPrinter, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, nil, p.misuse(err)
	}
	document, found := config.EncodeTenantOverlay(config.Source{Name: file, Data: data})
	report := &diag.Report{Diagnostics: found, Source: func(string) []byte { return data }, Color: terminal.Colored(p.Err)}
	if len(found) > 0 {
		if err := renderReport(report, p.Err, diag.FormatText); err != nil {
			return nil, nil, err
		}
	}
	if found.HasErrors() {
		return nil, nil, command.Exit(command.Usage)
	}
	return document, func(found diag.List) error {
		var b strings.Builder
		for i := range found {
			b.WriteString(remote.FindingLine(&found[i]))
		}
		_, err := io.WriteString(p.Err, b.String())
		return err
	}, nil
}

// refuseWidening rejects files with a patch that widens access without permission: the document
// sent to the server has the patches of several files applied. Files without such patches are not
// checked here.
func (p *program) refuseWidening(ctx context.Context, files []string) error {
	l, err := p.load(files, false, unheard())
	if err != nil {
		return err
	}
	defer l.close()
	if len(l.file.GuardedPatches()) == 0 {
		return nil
	}
	_, list, err := l.check(ctx)
	if err == nil && list.HasErrors() {
		err = l.refuse(list, p.Err, command.Usage)
	}
	return err
}

// documentOf returns the document of self-contained valid files, or of the overlay of a tenant, and
// the printer for its findings.
func (p *program) documentOf(ctx context.Context, files []string, tenant string) ([]byte, findingsPrinter, error) {
	if tenant != "" {
		return p.overlayOf(files[0])
	}
	l, err := p.load(files, false, unheard())
	if err != nil {
		return nil, nil, err
	}
	defer l.close()
	if l.file.Complete(l.found, nil).HasErrors() {
		_, list, err := l.check(ctx) // also finds resolution errors
		if err == nil {
			err = l.refuse(list, p.Err, command.Usage)
		}
		return nil, nil, err
	}
	document, err := l.file.Document()
	if err != nil {
		return nil, nil, p.misuse(err)
	}
	return document, func(found diag.List) error {
		found = slices.Clone(found)
		for i := range found {
			found[i].Span, found[i].Related = diag.Span{}, nil // places in the document
		}
		rejected := l.file.Complete(nil, found).Errors()
		return renderReport(l.report(rejected, p.Err), p.Err, diag.FormatText)
	}, nil
}
