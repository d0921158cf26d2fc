package cli

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/agentruntime/agentruntime/cli/internal/terminal"
	"github.com/agentruntime/agentruntime/server/admin"
	"github.com/agentruntime/agentruntime/store"
	"github.com/spf13/cobra"
)

func newRevisions(s *terminal.Streams) *cobra.Command {
	at := new(serverFlags)
	c := newConfigs(s, at)
	cmd := newGroup("revisions", "List, show, compare and roll back the revisions of a server", `revisions shows what was published at a server. REVISION is a number or the start of a
hash. With --tenant the revisions are those of a tenant's overlay.

The key is read from --api-key-file or the variable RUNTIME_API_KEY. It needs the scope
config:read, and for a rollback config:write.

Exit codes: 0 done, 1 the server rejects the request or cannot be reached, 2 usage.`,
		newRevisionsList(c), newRevisionsShow(c), newRevisionsDiff(c), newRollback(c))
	at.configFlags(cmd.PersistentFlags())
	at.tenantFlag(cmd.PersistentFlags())
	return cmd
}

func newRevisionsList(r *configs) *cobra.Command {
	var page store.Page
	cmd := r.newReport("list", "List revisions, newest first", arguments(0, 0), func(ctx context.Context, out *output, c *admin.Client, _ []string) error {
		found, err := c.ListRevisions(ctx, page.After, page.Limit)
		if err != nil {
			return err
		}
		return (&listing[admin.Revision]{
			record: found, items: found.Revisions, next: found.Next, none: "no revisions",
			header: []string{"REVISION", "HASH", "AUTHOR", "NOTE", "PUBLISHED"},
			row: func(r admin.Revision) []string {
				number := strconv.FormatUint(r.Number, 10)
				if r.Current {
					number += " *"
				}
				return []string{number, fmt.Sprintf("%.12s", r.Hash), r.Author, terminal.OrDash(out.redact(r.Note)), age(time.Now(), r.CreatedAt)}
			},
		}).show(out)
	})
	pageFlags(cmd, &page)
	return cmd
}

func newRevisionsShow(r *configs) *cobra.Command {
	return r.newCommand("show REVISION", "Show a revision with its document, as JSON", arguments(1, 1), func(ctx context.Context, out *output, c *admin.Client, args []string) error {
		hash, err := c.FindHash(ctx, args[0])
		if err != nil {
			return err
		}
		return out.json(c.ReadRevision(ctx, hash))
	})
}

func newRevisionsDiff(r *configs) *cobra.Command {
	cmd := r.newReport("diff [OLD] REVISION", "Show what a revision changed for each agent", arguments(1, 2), func(ctx context.Context, out *output, c *admin.Client, args []string) error {
		hashes := make([]string, len(args))
		for i, text := range args {
			var err error
			if hashes[i], err = c.FindHash(ctx, text); err != nil {
				return err
			}
		}
		from := ""
		if len(hashes) > 1 {
			from = hashes[0]
		}
		report, err := c.DiffRevision(ctx, hashes[len(hashes)-1], from)
		if err != nil {
			return err
		}
		return out.show(report, diffReport{report}.text())
	})
	cmd.Long = `diff shows what a revision changed for each agent, compared with the revision that it
replaced or with another one.`
	return cmd
}

func newRollback(r *configs) *cobra.Command {
	flags := newChangeFlags()
	cmd := r.newReport("rollback REVISION", "Publish an earlier revision again", arguments(1, 1), func(ctx context.Context, out *output, c *admin.Client, args []string) error {
		hash, err := c.FindHash(ctx, args[0])
		if err != nil {
			return err
		}
		change, err := flags.change(ctx, c)
		if err != nil {
			return err
		}
		return publishChange(out, change, func() (*admin.Published, error) { return c.RollBack(ctx, hash, change) })
	})
	flags.changeFlags(cmd)
	return cmd
}
