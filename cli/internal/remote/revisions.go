package remote

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/agentruntime/agentruntime/cli/internal/command"
	"github.com/agentruntime/agentruntime/cli/internal/diffview"
	"github.com/agentruntime/agentruntime/cli/internal/terminal"
	"github.com/agentruntime/agentruntime/server/admin"
	"github.com/agentruntime/agentruntime/store"
	"github.com/spf13/cobra"
)

// NewRevisions returns the command revisions.
func NewRevisions(s *terminal.Streams) *cobra.Command {
	at := new(Flags)
	c := newConfigs(s, at)
	cmd := newGroup("revisions", "List, show, compare and roll back the revisions of a server", `revisions shows what was published at a server. REVISION is a number or the start of a
hash. With --tenant the revisions are those of a tenant's overlay.

The key is read from --api-key-file or the variable RUNTIME_API_KEY. It needs the scope
config:read, and for a rollback config:write.

Exit codes: 0 done, 1 the server rejects the request or cannot be reached, 2 usage.`,
		newRevisionsList(c), newRevisionsShow(c), newRevisionsDiff(c), newRollback(c))
	at.AddRequiredFlags(cmd.PersistentFlags())
	at.AddTenantFlag(cmd.PersistentFlags())
	return cmd
}

func newRevisionsList(r *configs) *cobra.Command {
	var page store.Page
	cmd := r.newReport("list", "List revisions, newest first", command.Arguments(0, 0), func(ctx context.Context, out *command.Output, c *admin.Client, _ []string) error {
		found, err := c.ListRevisions(ctx, page.After, page.Limit)
		if err != nil {
			return err
		}
		return (&command.Listing[admin.Revision]{
			Record: found, Items: found.Revisions, Next: found.Next, None: "no revisions",
			Header: []string{"REVISION", "HASH", "AUTHOR", "NOTE", "PUBLISHED"},
			Row: func(r admin.Revision) []string {
				number := strconv.FormatUint(r.Number, 10)
				if r.Current {
					number += " *"
				}
				return []string{number, fmt.Sprintf("%.12s", r.Hash), r.Author, cmp.Or(out.Redact(r.Note), "-"), command.Age(time.Now(), r.CreatedAt)}
			},
		}).Show(out)
	})
	command.AddPageFlags(cmd, &page)
	return cmd
}

func newRevisionsShow(r *configs) *cobra.Command {
	return r.newCommand("show REVISION", "Show a revision with its document, as JSON", command.Arguments(1, 1), func(ctx context.Context, out *command.Output, c *admin.Client, args []string) error {
		hash, err := c.FindHash(ctx, args[0])
		if err != nil {
			return err
		}
		return out.ShowJSON(c.ReadRevision(ctx, hash))
	})
}

func newRevisionsDiff(r *configs) *cobra.Command {
	cmd := r.newReport("diff [OLD] REVISION", "Show what a revision changed for each agent", command.Arguments(1, 2), func(ctx context.Context, out *command.Output, c *admin.Client, args []string) error {
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
		return out.Show(report, diffview.Report{DiffReport: report}.Text())
	})
	cmd.Long = `diff shows what a revision changed for each agent, compared with the revision that it
replaced or with another one.`
	return cmd
}

func newRollback(r *configs) *cobra.Command {
	flags := NewChangeFlags()
	cmd := r.newReport("rollback REVISION", "Publish an earlier revision again", command.Arguments(1, 1), func(ctx context.Context, out *command.Output, c *admin.Client, args []string) error {
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
	flags.AddChangeFlags(cmd)
	return cmd
}
