package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/cli/internal/command"
	"github.com/agentruntime/agentruntime/cli/internal/diffview"
	"github.com/agentruntime/agentruntime/cli/internal/terminal"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/server/admin"
	"github.com/agentruntime/agentruntime/server/native"
	"github.com/spf13/cobra"
)

// ChangeFlags are the flags of commands that publish to a server.
type ChangeFlags struct {
	Flags

	failOn command.Choice
	note   string
	dryRun bool
	// ExceptBroken publishes even if tenants' overlays break.
	ExceptBroken bool
}

// NewChangeFlags returns the flags without values.
func NewChangeFlags() *ChangeFlags {
	return &ChangeFlags{failOn: command.Choice{Allowed: []string{"widened", "lost"}}}
}

// AddChangeFlags adds all flags except those that name the server.
func (c *ChangeFlags) AddChangeFlags(cmd *cobra.Command) {
	cmd.Flags().Var(&c.failOn, "fail-on", "do not publish, and exit with 1, if access is widened or a tool is lost: widened, lost")
	cmd.Flags().StringVar(&c.note, "note", "", "reason for the change, shown in the list of revisions")
	command.AllowEmpty(cmd, "note")
	cmd.Flags().BoolVar(&c.dryRun, "dry-run", false, "show the changes without publishing them")
}

// change returns the options of a publication that replaces the current one.
func (c *ChangeFlags) change(ctx context.Context, at *admin.Client) (*admin.Change, error) {
	hash, err := at.CurrentHash(ctx)
	return &admin.Change{Expected: hash, Note: c.note, DryRun: c.dryRun, FailOn: c.failOn.Value, ExceptBroken: c.ExceptBroken}, err
}

// Publish replaces the current document. If the server rejects it, show writes the reason.
func Publish(s *terminal.Streams, cmd *cobra.Command, c *ChangeFlags, document []byte, show func(diag.List) error) error {
	return c.CallAdmin(s, cmd, func(ctx context.Context, out *command.Output, at *admin.Client) error {
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
func publishChange(out *command.Output, change *admin.Change, publish func() (*admin.Published, error)) error {
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
func showPublished(out *command.Output, done *admin.Published) error {
	text := ""
	for i := range done.Findings {
		text += FindingLine(&done.Findings[i])
	}
	if done.Diff != nil {
		text += diffview.Report{DiffReport: done.Diff}.Text()
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
	return out.Show(done, text)
}

// describeBroken returns why the overlay of a tenant does not resolve.
func describeBroken(t *admin.BrokenTenant) string {
	text := "tenant " + terminal.OneLine(t.Tenant) + " breaks:\n"
	for i := range t.Findings {
		text += "  " + FindingLine(&t.Findings[i])
	}
	return text
}

// describeChanged describes the effect of a new base on a tenant: lost and widened access, and new
// warnings.
func describeChanged(t *admin.ChangedTenant) string {
	text := ""
	for i := range t.Diff.Agents {
		d := &t.Diff.Agents[i]
		if lost := d.Lost(); len(lost) > 0 {
			text += terminal.OneLine(fmt.Sprintf("  agent %s loses %s", d.Agent, strings.Join(lost, ", "))) + "\n"
		}
		for j := range d.Changes {
			if c := &d.Changes[j]; c.Widened {
				text += terminal.OneLine(fmt.Sprintf("  agent %s: %s", d.Agent, diffview.ChangeText(c))) + "\n"
			}
		}
	}
	for i := range t.Warnings {
		text += "  " + FindingLine(&t.Warnings[i])
	}
	if text == "" {
		return ""
	}
	return "tenant " + terminal.OneLine(t.Tenant) + ":\n" + text
}
