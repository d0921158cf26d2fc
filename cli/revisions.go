package cli

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/agentruntime/agentruntime/server/admin"
	"github.com/agentruntime/agentruntime/server/native"
	"github.com/agentruntime/agentruntime/store"
	"github.com/spf13/cobra"
)

func newRevisions(p *program) *cobra.Command {
	at := new(serverFlags)
	cmd := &cobra.Command{
		Use:   "revisions",
		Short: "List, show, compare and roll back the revisions of a server",
		Long: `revisions shows what was published at a server. REVISION is a number or the start of a
hash. With --tenant the revisions are those of a tenant's overlay.

The key is read from --api-key-file or the variable RUNTIME_API_KEY. It needs the scope
config:read, and for a rollback config:write.

Exit codes: 0 done, 1 the server rejects the request or cannot be reached, 2 usage.`,
		Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	at.configFlags(cmd.PersistentFlags())
	at.tenantFlag(cmd.PersistentFlags())
	cmd.AddCommand(newRevisionsList(p, at), newRevisionsShow(p, at), newRevisionsDiff(p, at), newRollback(p, at))
	return cmd
}

// atServer calls do with a client of the server.
func (p *program) atServer(cmd *cobra.Command, at *serverFlags, do func(ctx context.Context, c *admin.Client, redact func(string) string) error) error {
	if err := at.needServer(cmd); err != nil {
		return err
	}
	return p.reachClient(cmd.Context(), at, func(client *native.Client, redact func(string) string) error {
		return do(cmd.Context(), at.configClient(client), redact)
	})
}

func newRevisionsList(p *program, at *serverFlags) *cobra.Command {
	var page store.Page
	cmd := &cobra.Command{
		Use:   "list --server URL",
		Short: "List revisions, newest first",
		Args:  arguments(0, 0),
	}
	format := formatFlag(cmd, "text", "json")
	pageFlags(cmd, &page)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return p.atServer(cmd, at, func(ctx context.Context, c *admin.Client, redact func(string) string) error {
			list, err := c.ListRevisions(ctx, page.After, page.Limit)
			if err != nil {
				return err
			}
			if format.value == "json" {
				return writeRedacted(p.out, list, redact)
			}
			if len(list.Revisions) == 0 {
				_, err := fmt.Fprintln(p.out, "no revisions")
				return err
			}
			rows := [][]string{{"REVISION", "HASH", "AUTHOR", "NOTE", "PUBLISHED"}}
			for i := range list.Revisions {
				r := &list.Revisions[i]
				number := strconv.FormatUint(r.Number, 10)
				if r.Current {
					number += " *"
				}
				rows = append(rows, []string{number, fmt.Sprintf("%.12s", r.Hash), r.Author, orDash(redact(r.Note)), age(time.Now(), r.CreatedAt)})
			}
			p.more(list.Next)
			return writeTable(p.out, rows)
		})
	}
	return cmd
}

func newRevisionsShow(p *program, at *serverFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "show REVISION --server URL",
		Short: "Show a revision with its document, as JSON",
		Args:  arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.atServer(cmd, at, func(ctx context.Context, c *admin.Client, redact func(string) string) error {
				hash, err := c.FindHash(ctx, args[0])
				if err != nil {
					return err
				}
				r, err := c.ReadRevision(ctx, hash)
				if err != nil {
					return err
				}
				return writeRedacted(p.out, r, redact)
			})
		},
	}
}

func newRevisionsDiff(p *program, at *serverFlags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "diff [OLD] REVISION --server URL",
		Short: "Show what a revision changed for each agent",
		Long: `diff shows what a revision changed for each agent, compared with the revision that it
replaced or with another one.`,
		Args: arguments(1, 2),
	}
	format := formatFlag(cmd, "text", "json")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return p.atServer(cmd, at, func(ctx context.Context, c *admin.Client, redact func(string) string) error {
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
			if format.value == "json" {
				return writeRedacted(p.out, report, redact)
			}
			_, err = io.WriteString(p.out, redact(diffReport{report}.text()))
			return err
		})
	}
	return cmd
}

func newRollback(p *program, at *serverFlags) *cobra.Command {
	flags := newChangeFlags()
	cmd := &cobra.Command{
		Use:   "rollback REVISION --server URL",
		Short: "Publish an earlier revision again",
		Args:  arguments(1, 1),
	}
	flags.changeFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return p.atServer(cmd, at, func(ctx context.Context, c *admin.Client, redact func(string) string) error {
			hash, err := c.FindHash(ctx, args[0])
			if err != nil {
				return err
			}
			change, err := flags.change(ctx, c)
			if err != nil {
				return err
			}
			return p.publishChange(flags, change, redact, func() (*admin.Published, error) { return c.RollBack(ctx, hash, change) })
		})
	}
	return cmd
}
