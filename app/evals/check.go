package evals

import (
	"context"
	"errors"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/plugins/permission"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

// Check returns the problems that prevent cases from running: unknown agents, models and tools, and
// with MaxCost models without prices. It calls nothing. The diagnostics have their places.
func (r *Runner) Check(ctx context.Context) diag.List {
	rev := r.Runtime.AcquireRevision()
	defer rev.Release()
	overlays := r.openOverlays(ctx, rev)
	defer overlays.close()
	k := &checkedSuite{Runner: r, known: make(map[agentKey]*knownTools), costs: make(map[agentKey]error)}
	var list diag.List
	for _, one := range overlays.open {
		list = append(list, one.found.Errors()...)
	}
	for _, c := range r.Suite.Cases {
		compiled, broken := c.compile()
		if c.Agent == "" {
			continue // reported when the case was read
		}
		k.found = nil
		var err error
		if k.rev, err = overlays.revisionOf(c); err != nil {
			if !overlays.open[overlayKey{c.Tenant, c.Overlay}].found.HasErrors() {
				k.addError(diag.InvalidValue, "overlay", "%v", err)
			}
			list = append(list, r.Suite.addPlaces(c.ID, k.found)...)
			continue
		}
		k.checkCase(ctx, c, compiled)
		k.found = slices.DeleteFunc(k.found, func(d diag.Diagnostic) bool { // caused by an error in the case
			return slices.ContainsFunc(broken.Errors(), func(b diag.Diagnostic) bool { return b.Path == d.Path })
		})
		list = append(list, r.Suite.addPlaces(c.ID, k.found)...)
	}
	return list
}

// checkedSuite is the state of Check across cases.
type checkedSuite struct {
	*Runner
	// rev is the revision that the case runs with.
	rev *registry.Revision
	// known holds the tools by agent, and costs the reason why an agent's cost cannot be measured.
	known map[agentKey]*knownTools
	costs map[agentKey]error
	found diag.List
}

// agentKey identifies an agent, or a model, of a revision.
type agentKey struct {
	rev *registry.Revision
	id  string
}

// knownTools are the tools of an agent, its delegates and its handoff targets.
type knownTools struct {
	ids map[string]bool
	// schemas are the parameters of each tool, once for each agent that has it. The parameters of a
	// tool that no catalog admits are unknown.
	schemas []plugins.ToolSchema
	// partial is set if an agent runs elsewhere, so that some tools are unknown.
	partial bool
}

func (k *checkedSuite) addError(code diag.Code, path, format string, args ...any) {
	k.found = append(k.found, diag.New(code, path, format, args...))
}

// addUnmatched adds a diagnostic about the name of a tool that no known tool has, with the nearest
// one.
func (k *checkedSuite) addUnmatched(code diag.Code, path, name string, known *knownTools, format string, args ...any) {
	k.found = append(k.found, diag.New(code, path, format, args...).WithNearest(name, slices.Sorted(maps.Keys(known.ids))))
}

func (k *checkedSuite) checkCase(ctx context.Context, c *Case, compiled *compiled) {
	agent, ok := k.rev.Set().Agent(c.Agent)
	if !ok {
		k.checkAgent("agent", c.Agent)
		return
	}
	if err := c.checkStart(agent); err != nil {
		k.addError(diag.InvalidValue, "agent", "%v", err)
	}
	req := runtime.Request{AgentID: c.Agent, Revision: k.rev}
	if len(c.TenantVariables) > 0 {
		req.TenantVariables = tools.TenantValues(c.TenantVariables)
	}
	if len(c.Turns) > 0 {
		req.Variables = c.Turns[0].Variables
	}
	k.checkRequest(ctx, "agent", &req)
	if k.Mode == ModeRecord && c.Models == Live {
		k.addError(diag.NoEffect, "models", "--record does not record this case, because models: live asks the models in every run")
	}
	if k.asksModels(c) && c.Models != Scripted {
		k.checkCost(ctx, "agent", &req)
	}
	if c.User != nil && c.User.ModelID != "" {
		k.checkModel(ctx, c, "user.model_id", c.User.ModelID)
	}
	known := k.toolsOf(ctx, c.Agent)
	for _, name := range slices.Sorted(maps.Keys(c.Tools)) {
		if name != c.Agent && !known.mayHave(compiled.globs[diag.Key("tools", name)].Match) {
			code, text := diag.ToolNotFound, "agent %s has no tool %s"
			if strings.ContainsAny(name, "*?[{\\") {
				code, text = diag.UnmatchedPattern, "agent %s has no tool that matches %s"
			}
			k.addUnmatched(code, diag.Key("tools", name), name, known, text, c.Agent, name)
		}
		k.checkByArguments(name, c.Tools[name], compiled, known)
	}
	for i := range c.Answers {
		at, name := diag.Join(diag.Index("answers", i), "tool"), c.Answers[i].Tool
		if glob, ok := compiled.globs[at]; ok && name != "*" && !known.mayHave(glob.Match) {
			k.addUnmatched(diag.UnmatchedTool, at, name, known, "agent %s has no tool that matches %s", c.Agent, name)
		}
	}
	k.checkExpectations(ctx, c, "expect", &c.Expect, compiled, known)
	for i := range c.Turns {
		for n, a := range c.Turns[i].Attachments {
			if a.Path == "" {
				continue // reported when the case was read
			}
			if err := checkFile(a.Path, maxDataSize); err != nil {
				k.addError(diag.InvalidValue, diag.Join(diag.Index("turns", i), diag.Index("attachments", n)+".path"), "%v", err)
			}
		}
		k.checkExpectations(ctx, c, diag.Join(diag.Index("turns", i), "expect"), &c.Turns[i].Expect, compiled, known)
	}
}

func (k *checkedSuite) checkExpectations(ctx context.Context, c *Case, at string, e *Expectations, compiled *compiled, known *knownTools) {
	rule := func(path, text string) {
		one := compiled.rules[diag.Join(at, path)]
		if !known.mayHave(one.MatchesTool) {
			name, _, _ := strings.Cut(text, "(")
			k.addUnmatched(diag.UnmatchedTool, diag.Join(at, path), name, known, "agent %s has no tool that matches %s", c.Agent, text)
		}
		if !known.partial {
			k.warnConditions(diag.Join(at, path), &one, known.schemas)
		}
	}
	if e.Calls != nil {
		for i := range e.Calls.Calls {
			rule(diag.Index("calls.calls", i)+".rule", e.Calls.Calls[i].Rule)
		}
	}
	for i, text := range e.NotCalled {
		rule(diag.Index("not_called", i), text)
	}
	for i, id := range e.Delegates {
		k.checkAgent(diag.Join(at, diag.Index("delegates", i)), id)
	}
	for i, id := range e.Handoffs {
		k.checkAgent(diag.Join(at, diag.Index("handoffs", i)), id)
	}
	if e.FinalAgent != "" {
		k.checkAgent(diag.Join(at, "final_agent"), e.FinalAgent)
	}
	for i := range e.Judges {
		j, judge := &e.Judges[i], diag.Join(at, diag.Index("judges", i))
		switch j.Type {
		case "model":
			if j.ModelID == "" {
				continue
			}
			k.checkModel(ctx, c, diag.Join(judge, "model_id"), j.ModelID)
		case "command":
			if len(j.Command) == 0 {
				continue
			}
			if err := findProgram(k.Suite.Dir(c.ID), j.Command[0]); err != nil {
				k.addError(diag.InvalidValue, diag.Join(judge, "command"), "%v", err)
			}
		}
	}
}

// checkByArguments checks the conditions of a tool use against the tools that its name matches.
func (k *checkedSuite) checkByArguments(name string, use *ToolUse, compiled *compiled, known *knownTools) {
	if use == nil || use.ByArguments == nil {
		return
	}
	at := diag.Key("tools", name)
	var schemas []plugins.ToolSchema
	for _, one := range known.schemas {
		if compiled.globs[at].Match(one.ID) {
			schemas = append(schemas, one)
		}
	}
	for i := range use.ByArguments {
		path := diag.Join(at, diag.Index("by_arguments", i)+".when")
		rule := compiled.rules[path]
		k.warnConditions(path, &rule, schemas)
	}
}

// warnConditions warns of conditions that do not fit the arguments of the tools.
func (k *checkedSuite) warnConditions(path string, rule *permission.Rule, schemas []plugins.ToolSchema) {
	for _, d := range rule.CheckSchemas(schemas) {
		d.Path = path
		k.found = append(k.found, d.WithSeverity(diag.Warning))
	}
}

// findProgram returns an error if a judge's program does not exist.
func findProgram(dir, name string) error {
	if strings.ContainsRune(name, filepath.Separator) && !filepath.IsAbs(name) {
		if path, err := filepath.Abs(filepath.Join(dir, name)); err == nil {
			name = path
		}
	}
	_, err := exec.LookPath(name)
	return err
}

// checkAgent checks that an agent exists.
func (k *checkedSuite) checkAgent(path, id string) {
	if _, ok := k.rev.Set().Agent(id); !ok {
		k.found = append(k.found, diag.New(diag.AgentNotFound, path, "agent %q is not defined", id).WithNearest(id, k.rev.Set().AgentIDs()))
	}
}

// checkModel checks the model of a judge or a simulated user.
func (k *checkedSuite) checkModel(ctx context.Context, c *Case, path, id string) {
	agent := &spec.Agent{ID: "eval_model", ModelID: id, Description: "Judges, or plays the user.", AllowedTools: spec.Names{}, SystemPrompt: "x"}
	req := &runtime.Request{AgentID: agent.ID, Revision: k.rev, Ephemeral: &resolve.Ephemeral{Agent: agent}}
	if k.checkRequest(ctx, path, req) && k.asksModels(c) {
		k.checkCost(ctx, path, req)
	}
}

// checkRequest reports whether a turn can begin.
func (k *checkedSuite) checkRequest(ctx context.Context, path string, req *runtime.Request) bool {
	err := k.Runtime.CheckRequest(ctx, req)
	if err == nil {
		return true
	}
	for _, d := range diag.FromError(err) {
		one := diag.New(d.Code, path, "%s", d.Message).WithSeverity(diag.Error)
		one.Hint = d.Hint
		k.found = append(k.found, one)
	}
	if len(diag.FromError(err)) == 0 {
		k.addError(diag.InvalidValue, path, "%v", err)
	}
	return false
}

// asksModels reports whether a case calls models instead of using only recordings.
func (k *checkedSuite) asksModels(c *Case) bool {
	return c.Models == Live || k.Mode == ModeLive || k.Mode == ModeRecord
}

// checkCost checks that the cost of a request can be measured, if there is a cost limit.
func (k *checkedSuite) checkCost(ctx context.Context, path string, req *runtime.Request) {
	if k.MaxCost <= 0 {
		return
	}
	of := agentKey{k.rev, req.AgentID}
	if req.Ephemeral != nil {
		of.id = "model " + req.Ephemeral.Agent.ModelID
	}
	err, known := k.costs[of]
	if !known {
		limited := *req
		limited.Overrides.Budgets = &spec.Budgets{MaxCost: &k.MaxCost}
		err = k.Runtime.CheckRequest(ctx, &limited)
		k.costs[of] = err
	}
	if unmeasured, ok := errors.AsType[*resolve.UnmeasuredCostError](err); ok {
		one := diag.New(diag.NoEffect, path, "the ceiling of the cost cannot be measured: %s", strings.Join(unmeasured.Reasons, "; "))
		k.found = append(k.found, one.WithSeverity(diag.Error).WithHint("give the models pricing in one currency"))
	}
}

// toolsOf returns the tools of an agent, its delegates and its handoff targets.
func (k *checkedSuite) toolsOf(ctx context.Context, agent string) *knownTools {
	key := agentKey{k.rev, agent}
	if t := k.known[key]; t != nil {
		return t
	}
	t := &knownTools{ids: make(map[string]bool)}
	k.known[key] = t
	seen := map[string]bool{}
	for left := []string{agent}; len(left) > 0; left = left[1:] {
		if seen[left[0]] {
			continue
		}
		seen[left[0]] = true
		e, _ := resolve.Explain(ctx, k.rev, left[0])
		if e == nil || e.Local() != nil {
			t.partial = true
			continue
		}
		for i := range e.Tools {
			t.ids[e.Tools[i].ID] = true
		}
		t.schemas = append(t.schemas, e.ToolSchemas()...)
		left = slices.Concat(left, e.Agent.Delegates, e.Agent.Handoffs)
	}
	admitted := make(map[string]bool, len(t.schemas))
	for i := range t.schemas {
		admitted[t.schemas[i].ID] = true
	}
	for id := range t.ids {
		if !admitted[id] {
			t.schemas = append(t.schemas, plugins.ToolSchema{ID: id})
		}
	}
	return t
}

// mayHave reports whether a known tool matches. It returns true if some tools are unknown.
func (t *knownTools) mayHave(matches func(string) bool) bool {
	for id := range t.ids {
		if matches(id) {
			return true
		}
	}
	return t.partial
}

// addPlaces returns diagnostics about a case with their places in its file.
func (s *Suite) addPlaces(caseID string, list diag.List) diag.List {
	for i := range list {
		list[i].Path = diag.Join(diag.Key("cases", caseID), list[i].Path)
	}
	if f := s.files[caseID]; f != nil {
		return f.Complete(nil, list)
	}
	return list
}
