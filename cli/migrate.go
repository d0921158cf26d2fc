package cli

import (
	"context"
	"fmt"

	"github.com/agentruntime/agentruntime/app"
	"github.com/agentruntime/agentruntime/cli/internal/command"
	"github.com/agentruntime/agentruntime/cli/internal/redaction"
	"github.com/spf13/cobra"
	"go.uber.org/zap"
)

func newMigrate(p *program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "migrate FILE…",
		Short: "Migrate the store to the current schema",
		Long: `migrate updates the store of a configuration to this version of the program, and prints
what it changed. serve does the same when it starts; use migrate where only certain
people, or one step of a deployment, may change the database. Older versions cannot use
a migrated store. A SQLite file of an older version is also rewritten once so that it can
shrink, which serve does not do; that needs as much free disk space as the size of the
file.

Exit codes: 0 done, 1 the store cannot be migrated, 2 usage or a file cannot be read.`,
		Args: command.Arguments(1, command.Unlimited),
	}
	format := command.AddFormatFlag(cmd, "text", "json")
	cmd.RunE = func(cmd *cobra.Command, files []string) error {
		return migrate(cmd.Context(), p, files, format.Value)
	}
	return cmd
}

func migrate(ctx context.Context, p *program, files []string, format string) error {
	l, err := p.loadSection(files, "store", false)
	if err != nil {
		return err
	}
	defer l.close()
	applied, err := p.StoreDriver(l.file).Migrate(ctx, app.StoreSettings(l.file, zap.NewNop()))
	if err != nil {
		return p.complain(ctx, l, err)
	}
	if format == "json" {
		return redaction.WriteJSON(p.Out, map[string][]string{"applied": append([]string{}, applied...)})
	}
	for _, name := range applied {
		fmt.Fprintf(p.Out, "applied %s\n", name)
	}
	if len(applied) == 0 {
		fmt.Fprintln(p.Out, "up to date")
	}
	return nil
}
