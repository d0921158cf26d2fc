package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/cli/internal/terminal"
	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/admin"
	"github.com/agentruntime/agentruntime/server/native"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// changeFlags are the flags of commands that publish to a server.
type changeFlags struct {
	serverFlags

	failOn choice
	note   string
	dryRun bool
	// exceptBroken publishes even if tenants' overlays break.
	exceptBroken bool
}

func newChangeFlags() *changeFlags {
	return &changeFlags{failOn: choice{allowed: []string{"widened", "lost"}}}
}

// changeFlags adds all flags except those that name the server.
func (c *changeFlags) changeFlags(cmd *cobra.Command) {
	cmd.Flags().Var(&c.failOn, "fail-on", "do not publish, and exit with 1, if access is widened or a tool is lost: widened, lost")
	cmd.Flags().StringVar(&c.note, "note", "", "reason for the change, shown in the list of revisions")
	cmd.Flags().BoolVar(&c.dryRun, "dry-run", false, "show the changes without publishing them")
}

// configFlags adds the flags that name a server, for a command that only works on servers.
func (r *serverFlags) configFlags(fs *pflag.FlagSet) {
	fs.StringVar(&r.server, "server", "", "`URL` of the server")
	fs.StringVar(&r.keyFile, "api-key-file", "", "`path` of the file with the server's API key; default: the variable "+keyVariable)
}

// tenantFlag adds the flag that names a tenant.
func (r *serverFlags) tenantFlag(fs *pflag.FlagSet) {
	fs.StringVar(&r.tenant, "tenant", "", "use the overlay of the tenant with this `NAME` instead of the configuration")
}

// configClient returns a client for the configuration selected by the flags.
func (r *serverFlags) configClient(c *native.Client) *admin.Client {
	if r.tenant != "" {
		return admin.NewClient(c).ForTenant(r.tenant)
	}
	return admin.NewClient(c)
}

// needServer checks that a server is named.
func (r *serverFlags) needServer(cmd *cobra.Command) error {
	if r.server == "" {
		return usagef(cmd, "--server is required: the URL of the server")
	}
	return nil
}

func newApply(p *program) *cobra.Command {
	c := newChangeFlags()
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
		Args: arguments(1, unlimited),
		RunE: func(cmd *cobra.Command, files []string) error {
			if err := c.needServer(cmd); err != nil {
				return err
			}
			if c.tenant == "" {
				return apply(cmd, p, c, files)
			}
			switch {
			case len(files) != 1:
				return usagef(cmd, "the overlay of a tenant is one FILE, but %s given", terminal.Count(len(files), "argument is", "arguments are"))
			case c.exceptBroken:
				return usagef(cmd, "--except-broken and --tenant exclude each other")
			}
			return applyOverlay(cmd, p, c, files[0])
		},
	}
	c.configFlags(cmd.Flags())
	c.tenantFlag(cmd.Flags())
	cmd.Flags().BoolVar(&c.exceptBroken, "except-broken", false, "publish even if overlays of tenants break; these tenants keep their current configuration")
	formatFlag(cmd, "text", "json")
	c.changeFlags(cmd)
	return cmd
}

func apply(cmd *cobra.Command, p *program, c *changeFlags, files []string) error {
	if err := p.refuseWidening(cmd.Context(), files); err != nil {
		return err
	}
	document, show, err := p.documentOf(cmd.Context(), files)
	if err != nil {
		return err
	}
	return publishDocument(&p.Streams, cmd, c, document, show)
}

// applyOverlay publishes the overlay of a tenant.
func applyOverlay(cmd *cobra.Command, p *program, c *changeFlags, file string) error {
	document, show, err := p.overlayOf(file)
	if err != nil {
		return err
	}
	return publishDocument(&p.Streams, cmd, c, document, show)
}

// findingsPrinter writes the diagnostics of a rejected document.
type findingsPrinter func(diag.List) error

// overlayOf returns the document of a self-contained valid overlay file, and the printer for its
// findings.
func (p *program) overlayOf(file string) ([]byte, findingsPrinter, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		p.PrintErrorf("%v", err)
		return nil, nil, exit(exitUsage)
	}
	document, found := config.EncodeTenantOverlay(config.Source{Name: file, Data: data})
	report := &diag.Report{Diagnostics: found, Source: func(string) []byte { return data }, Color: terminal.Colored(p.Err)}
	if len(found) > 0 {
		if err := renderReport(report, p.Err, diag.FormatText); err != nil {
			return nil, nil, err
		}
	}
	if found.HasErrors() {
		return nil, nil, exit(exitUsage)
	}
	return document, func(found diag.List) error {
		var b strings.Builder
		for i := range found {
			b.WriteString(findingLine(&found[i]))
		}
		_, err := io.WriteString(p.Err, b.String())
		return err
	}, nil
}

// publishDocument replaces the current document. If the server rejects it, show writes the reason.
func publishDocument(s *terminal.Streams, cmd *cobra.Command, c *changeFlags, document []byte, show func(diag.List) error) error {
	return c.callAdmin(s, cmd, func(ctx context.Context, out *output, at *admin.Client) error {
		change, err := c.change(ctx, at)
		if err != nil {
			return err
		}
		change.Progress = showProvenOverlays(s.Err)
		err = publishChange(out, change, func() (*admin.Published, error) { return at.Publish(ctx, document, change) })
		if rejected, ok := errors.AsType[*native.Error](err); ok && rejected.Details.Findings.HasErrors() {
			if err := show(rejected.Details.Findings); err != nil {
				return err
			}
			rejected.Details.Findings = nil
		}
		return err
	})
}

// publishChange publishes a change and shows the result. If the server rejects the effect of the
// change, publishChange shows it with a dry run, and returns the error of the server.
func publishChange(out *output, change *admin.Change, publish func() (*admin.Published, error)) error {
	done, err := publish()
	if err == nil {
		return showPublished(out, done)
	}
	if rejected, ok := errors.AsType[*native.Error](err); !ok || change.FailOn == "" || rejected.Code != change.FailOn {
		return err
	}
	change.DryRun, change.FailOn = true, ""
	if change.Progress != nil {
		change.Progress = func(int, int) {} // it was shown
	}
	done, failed := publish()
	if failed != nil { // the server rejects the change for another reason now
		return err
	}
	if failed := showPublished(out, done); failed != nil {
		return failed
	}
	return err
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
		if err = l.refuse(list, p.Err); err == nil {
			err = exit(exitUsage)
		}
	}
	return err
}

// documentOf returns the document of self-contained valid files, and the printer for its findings.
func (p *program) documentOf(ctx context.Context, files []string) ([]byte, findingsPrinter, error) {
	l, err := p.load(files, false, unheard())
	if err != nil {
		return nil, nil, err
	}
	defer l.close()
	if l.file.Complete(l.found, nil).HasErrors() {
		_, list, err := l.check(ctx) // also finds resolution errors
		if err == nil {
			err = l.refuse(list, p.Err)
		}
		if err == nil {
			err = exit(exitUsage)
		}
		return nil, nil, err
	}
	document, err := l.file.Document()
	if err != nil {
		p.PrintErrorf("%v", err)
		return nil, nil, exit(exitUsage)
	}
	return document, func(found diag.List) error {
		found = slices.Clone(found)
		for i := range found {
			found[i].Span, found[i].Related = diag.Span{}, nil // places in the document
		}
		return l.refuse(l.file.Complete(nil, found), p.Err)
	}, nil
}

// change returns the options of a publication that replaces the current one.
func (c *changeFlags) change(ctx context.Context, at *admin.Client) (*admin.Change, error) {
	hash, err := at.CurrentHash(ctx)
	return &admin.Change{Expected: hash, Note: c.note, DryRun: c.dryRun, FailOn: c.failOn.value, ExceptBroken: c.exceptBroken}, err
}

// showProvenOverlays returns a function that shows how many tenants' overlays were checked:
// periodically, and at the end.
func showProvenOverlays(to io.Writer) func(done, total int) {
	const interval = time.Second
	shown := time.Now()
	return func(done, total int) {
		if now := time.Now(); done == total || now.Sub(shown) >= interval {
			shown = now
			fmt.Fprintf(to, "overlays of tenants proved: %d of %d\n", done, total)
		}
	}
}

// showPublished shows the result of a change.
func showPublished(out *output, done *admin.Published) error {
	text := ""
	for i := range done.Findings {
		text += findingLine(&done.Findings[i])
	}
	if done.Diff != nil {
		text += diffReport{done.Diff}.text()
	}
	if proof := done.Tenants; proof != nil {
		text += fmt.Sprintf("%s proved, %d broken\n", terminal.Count(proof.Checked, "overlay of a tenant", "overlays of tenants"), len(proof.Broken))
		for i := range proof.Broken {
			text += describeBroken(&proof.Broken[i])
		}
		for i := range proof.Changed {
			text += describeChanged(&proof.Changed[i])
		}
	}
	switch {
	case done.DryRun:
		text += "dry run: nothing is published\n"
	case done.Unchanged:
		text += fmt.Sprintf("revision %d (%.12s) is already current\n", done.Number, terminal.OneLine(done.Hash))
	default:
		text += fmt.Sprintf("published: revision %d (%.12s)\n", done.Number, terminal.OneLine(done.Hash))
	}
	return out.show(done, text)
}

// describeBroken returns why the overlay of a tenant does not resolve.
func describeBroken(t *admin.BrokenTenant) string {
	text := "tenant " + terminal.OneLine(t.Tenant) + " breaks:\n"
	for i := range t.Findings {
		text += "  " + findingLine(&t.Findings[i])
	}
	return text
}

// describeChanged describes the effect of a new base on a tenant: what its agents lose, what is
// widened, and new warnings.
func describeChanged(t *admin.ChangedTenant) string {
	text := ""
	for i := range t.Diff.Agents {
		d := &t.Diff.Agents[i]
		if lost := d.Lost(); len(lost) > 0 {
			text += terminal.OneLine(fmt.Sprintf("  agent %s loses %s", d.Agent, strings.Join(lost, ", "))) + "\n"
		}
		for j := range d.Changes {
			if c := &d.Changes[j]; c.Widened {
				text += terminal.OneLine(fmt.Sprintf("  agent %s: %s", d.Agent, changeText(c))) + "\n"
			}
		}
	}
	for i := range t.Warnings {
		text += "  " + findingLine(&t.Warnings[i])
	}
	if text == "" {
		return ""
	}
	return "tenant " + terminal.OneLine(t.Tenant) + ":\n" + text
}

func findingLine(d *diag.Diagnostic) string {
	return terminal.OneLine(fmt.Sprintf("%s[%s] %s: %s", d.Severity, d.Code, d.Path, d.Message)) + "\n"
}

// describeDetails returns the details of a server's error, without its message.
func describeDetails(d *server.Details) string {
	var b strings.Builder
	for i := range d.Findings {
		b.WriteString("\n  " + strings.TrimSuffix(findingLine(&d.Findings[i]), "\n"))
	}
	for _, at := range d.UsedBy {
		b.WriteString("\n  used by " + terminal.OneLine(at))
	}
	return b.String()
}
