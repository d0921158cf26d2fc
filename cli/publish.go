package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/cli/internal/terminal"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/server/admin"
	"github.com/agentruntime/agentruntime/server/native"
	"github.com/spf13/cobra"
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

// change returns the options of a publication that replaces the current one.
func (c *changeFlags) change(ctx context.Context, at *admin.Client) (*admin.Change, error) {
	hash, err := at.CurrentHash(ctx)
	return &admin.Change{Expected: hash, Note: c.note, DryRun: c.dryRun, FailOn: c.failOn.value, ExceptBroken: c.exceptBroken}, err
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
