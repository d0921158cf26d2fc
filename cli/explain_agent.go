package cli

import (
	"context"

	"github.com/agentruntime/agentruntime/cli/internal/command"
	"github.com/agentruntime/agentruntime/cli/internal/explain"
	"github.com/agentruntime/agentruntime/cli/internal/remote"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/resolve"
)

// about returns how an agent resolves and the diagnostics that concern it: its own, those about
// parts it uses, and the loader's, except for those about other agents. The explanation is nil if
// the agent does not exist.
func (l *loaded) about(ctx context.Context, rev *registry.Revision, list diag.List, agent string) (*resolve.Explanation, diag.List) {
	e, err := resolve.Explain(ctx, rev, agent)
	concerns := l.concerning(e, agent)
	var out diag.List
	for _, d := range list {
		if concerns(&d) {
			out = append(out, d)
		}
	}
	why := diag.FromError(err)
	if all := l.file.Complete(out, why); err == nil || all.HasErrors() {
		return e, all
	}
	return e, l.file.Complete(append(out, why...), nil)
}

// aboutLocal is about for an agent that must run in this process, with the checked revision.
func (l *loaded) aboutLocal(ctx context.Context, agent string) (*registry.Revision, *resolve.Explanation, diag.List, error) {
	rev, list, err := l.check(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	e, own := l.about(ctx, rev, list, agent)
	if e != nil {
		own = l.file.Complete(append(own, diag.FromError(e.Local())...), nil)
	}
	return rev, e, own, nil
}

// concerning returns a filter for diagnostics that concern an agent; see about.
func (l *loaded) concerning(e *resolve.Explanation, agent string) func(*diag.Diagnostic) bool {
	used := make(map[string]bool)
	if e != nil {
		for _, d := range e.Diagnostics {
			used[string(d.Code)+d.Path] = true
		}
	}
	loading := make(map[string]bool, len(l.found))
	for _, d := range l.found {
		loading[string(d.Code)+d.Path] = true
	}
	own := diag.Key("agents", agent)
	return func(d *diag.Diagnostic) bool {
		key := string(d.Code) + d.Path
		foreign := within(d.Path, "agents") && !within(d.Path, own)
		return used[key] || d.Agent == agent || loading[key] && !foreign
	}
}

// suppressedOf returns an agent's diagnostics that comments suppress.
func (l *loaded) suppressedOf(e *resolve.Explanation, agent string) []diag.Suppressed {
	concerns := l.concerning(e, agent)
	var own []diag.Suppressed
	for _, s := range l.suppressed {
		if concerns(&s.Diagnostic) {
			own = append(own, s)
		}
	}
	return own
}

// newExplanation describes an agent; e is nil if the agent does not exist.
func newExplanation(l *loaded, agent string, e *resolve.Explanation, list diag.List) *explain.Agent {
	return &explain.Agent{Summary: resolve.Summarize(agent, e, list), Decisions: l.file.Decisions(agent)}
}

// showExplanation writes an explanation; l has the files, and is nil if a server explains. The
// command fails if the agent does not resolve.
func showExplanation(x *explain.Agent, l *loaded, out *command.Output) error {
	var err error
	switch {
	case out.Format == "json":
		err = out.ShowJSON(x, nil)
	case out.Format == "mermaid":
		err = out.Printf("%s", x.Flowchart(out.Redact))
	case l == nil:
		text := x.Text(nil)
		for i := range x.Diagnostics {
			text += remote.FindingLine(&x.Diagnostics[i])
		}
		err = out.Printf("%s", out.Redact(text))
	default:
		if err = out.Printf("%s", out.Redact(x.Text(l.where))); err == nil && len(x.Diagnostics) > 0 {
			report := l.report(x.Diagnostics, out.Out)
			report.Agents = 1
			err = renderReport(report, out.Out, diag.FormatText)
		}
	}
	if err != nil || x.Resolves {
		return err
	}
	return command.Exit(command.Failed)
}
