package builder

import (
	"context"
	"slices"

	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/resolve"
)

// checkUnattended warns of agents that start without a person but may wait for one indefinitely.
// files are the configurations of the revision.
func checkUnattended(ctx context.Context, rev *registry.Revision, files []*config.File) (list diag.List) {
	if len(files) == 0 || slices.ContainsFunc(files, func(f *config.File) bool { return f.Turns.InteractionTimeout > 0 }) {
		return nil
	}
	explained := make(map[string]*resolve.Explanation)
	explain := func(id string) *resolve.Explanation {
		if _, ok := explained[id]; !ok {
			explained[id], _ = resolve.Explain(ctx, rev, id) // an error is reported elsewhere
		}
		return explained[id]
	}
	warn := func(path, agent, hint string) {
		if tool, rule := findApproval(explain, agent, map[string]bool{}); tool != "" {
			list = append(list, diag.New(diag.UnattendedApproval, path,
				"agent %q may wait for a person forever: tool %q needs approval by %s", agent, tool, rule).WithHint("%s", hint))
		}
	}
	for _, file := range files {
		for i := range file.Schedules {
			s := &file.Schedules[i]
			warn(diag.Join(diag.Key("schedules", s.ID), "agent"), s.Agent, "set turns.interaction_timeout, or allow or deny the tool")
		}
	}
	for id, w := range rev.Set().Workflows.All() {
		if w.OnWait != "" || len(w.Schedules)+len(w.Events)+len(w.Webhooks) == 0 {
			continue
		}
		for i := range w.Steps {
			if turn := w.Steps[i].Agent; turn != nil {
				warn(diag.Join(rev.Set().Workflows.Path(id), diag.Index("steps", i)+".agent.agent"), turn.Agent,
					"set on_wait: fail, on_wait: wait if somebody answers, or turns.interaction_timeout")
			}
		}
	}
	return list
}

// findApproval returns the first tool of an agent, or of the agents it calls, whose every call
// needs a person's approval, and the rule that requires it.
func findApproval(explain func(id string) *resolve.Explanation, id string, seen map[string]bool) (tool, rule string) {
	if seen[id] {
		return "", ""
	}
	seen[id] = true
	e := explain(id)
	if e == nil {
		return "", ""
	}
	for i := range e.Tools {
		if c := &e.Tools[i]; c.Rule.Visible && c.Verdict.Access == plugins.AccessAsk {
			return c.ID, c.Verdict.Rule
		}
	}
	for _, next := range slices.Concat(e.Agent.Delegates, e.Agent.Handoffs) {
		if tool, rule := findApproval(explain, next, seen); tool != "" {
			return tool, rule
		}
	}
	return "", ""
}
