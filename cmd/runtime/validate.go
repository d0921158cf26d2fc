package main

import (
	"context"
	"errors"
	"strings"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/spf13/cobra"
	"go.uber.org/zap"
)

// validateOptions are the flags of validate.
type validateOptions struct {
	format *choice
	strict bool
	online bool
	agent  string
}

func newValidate(s streams) *cobra.Command {
	var o validateOptions
	cmd := &cobra.Command{
		Use:   "validate FILE…",
		Short: "Prove that every agent resolves",
		Long: `validate reads one or more configuration files, resolves every agent without
calling a model, and reports everything that is wrong, with its place.

Exit codes: 0 valid, 1 errors (with --strict also warnings), 2 usage or a file
that cannot be read.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, files []string) error {
			return validate(cmd.Context(), s, files, &o)
		},
	}
	o.format = formatFlag(cmd, "text", "json", "sarif", "github")
	cmd.Flags().BoolVar(&o.strict, "strict", false, "treat warnings as errors for the exit code")
	cmd.Flags().BoolVar(&o.online, "online", false, "also ask remote sources for their agents")
	cmd.Flags().StringVar(&o.agent, "agent", "", "validate only the agent with this id, and what it uses")
	return cmd
}

func validate(ctx context.Context, s streams, files []string, o *validateOptions) error {
	l, err := load(files, false, zap.NewNop())
	if err != nil {
		return err
	}
	if o.online {
		l.builder.Discover(ctx)
	}
	rev, list := l.check(ctx)
	report := l.report(list, s.out)
	if o.agent != "" {
		report.Diagnostics = l.only(ctx, rev, list, o.agent)
		report.Agents = 1
	}
	report.Strict = o.strict
	if err := report.Render(s.out, diag.Format(o.format.value)); err != nil {
		return err
	}
	if !report.Valid() {
		return exit{exitFailed}
	}
	return nil
}

// only returns what concerns one agent: what it is told of itself, what is
// wrong with what it uses, and what the loader says of anything but other
// agents.
func (l *loaded) only(ctx context.Context, rev *registry.Revision, list diag.List, agent string) diag.List {
	explanation, err := resolve.Explain(ctx, rev, agent)
	if explanation == nil {
		var missing diag.Diagnoser
		if errors.As(err, &missing) {
			list = append(list.Errors(), missing.Diagnostic())
		}
		return l.file.Complete(nil, list)
	}
	used := make(map[string]bool, len(explanation.Diagnostics))
	for _, d := range explanation.Diagnostics {
		used[string(d.Code)+d.Path] = true
	}
	loading := make(map[string]bool, len(l.found))
	for _, d := range l.found {
		loading[string(d.Code)+d.Path] = true
	}
	own := diag.Key("agents", agent)
	var out diag.List
	for _, d := range list {
		key := string(d.Code) + d.Path
		foreign := strings.HasPrefix(d.Path, "agents") && !below(d.Path, own)
		if used[key] || d.Agent == agent || loading[key] && !foreign {
			out = append(out, d)
		}
	}
	return out
}

// below reports whether a path is another one or lies below it.
func below(path, above string) bool {
	rest, ok := strings.CutPrefix(path, above)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}
