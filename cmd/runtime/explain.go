package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/spf13/cobra"
	"go.uber.org/zap"
)

func newExplain(s streams) *cobra.Command {
	var tool string
	cmd := &cobra.Command{
		Use:   "explain FILE AGENT",
		Short: "Show how an agent resolves, and why",
		Long: `explain resolves one agent and shows, stage by stage, what was looked up,
wrapped, injected, added and dropped, by which rule, and how long it took.
With --tool it answers why the agent has, or does not have, a tool.

Exit codes: 0 done, 1 the agent does not resolve, 2 usage or a file that cannot
be read.`,
		Args: cobra.ExactArgs(2),
	}
	format := formatFlag(cmd, "text", "json", "mermaid")
	cmd.Flags().StringVar(&tool, "tool", "", "say why the agent has, or does not have, this tool")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return explain(cmd.Context(), s, args[0], args[1], tool, format.value)
	}
	return cmd
}

func explain(ctx context.Context, s streams, file, agent, tool, format string) error {
	l, err := load([]string{file}, false, zap.NewNop())
	if err != nil {
		return err
	}
	rev, list := l.check(ctx)
	if list.HasErrors() {
		list = l.only(ctx, rev, list, agent)
	}
	e, err := resolve.Explain(ctx, rev, agent)
	if e != nil && tool != "" && err == nil {
		err = e.Local()
	}
	if err != nil || list.HasErrors() {
		if e != nil && tool == "" {
			if err := newExplanation(l, e, list).render(s, format); err != nil {
				return err
			}
		}
		return notResolved(s, l, list, err)
	}
	if tool != "" {
		return newToolAnswer(l, e, tool).render(s, format)
	}
	return newExplanation(l, e, list).render(s, format)
}

// notResolved shows why an agent does not resolve.
func notResolved(s streams, l *loaded, list diag.List, err error) error {
	var one diag.Diagnoser
	if errors.As(err, &one) {
		list = append(list, one.Diagnostic())
	}
	if err := l.refuse(l.file.Complete(nil, list), s.err); err != nil {
		return err
	}
	return exit{exitFailed}
}

// where returns the place of a path in the files, as file:line:column, or the
// path itself.
func (l *loaded) where(code diag.Code, path string) string {
	placed := l.file.Complete(nil, diag.List{{Code: code, Path: path}})
	if len(placed) == 0 || placed[0].Line == 0 {
		return path
	}
	return fmt.Sprintf("%s (%s:%d:%d)", path, placed[0].File, placed[0].Line, placed[0].Column)
}
