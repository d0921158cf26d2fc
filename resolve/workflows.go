package resolve

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/diag"
	checks "github.com/agentruntime/agentruntime/internal/check"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/nearest"
	"github.com/agentruntime/agentruntime/internal/schema"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/spec/workflow"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/agentruntime/agentruntime/tools/toolset"
)

// CheckWorkflow returns the problems of a workflow in a revision, including those of the agents
// and tools it calls. Paths are relative to the workflow.
func CheckWorkflow(rev *registry.Revision, w *workflow.Workflow) diag.List {
	list := w.Validate()
	return append(list, w.AsWritten((&workflowCheck{index: indexOf(rev), workflow: w}).checkCalls())...)
}

// checkWorkflows checks all workflows: each in isolation, and that the ids of their triggers
// differ.
func (c *check) checkWorkflows() {
	taken := make(map[string]string)
	for id, w := range c.set.Workflows.All() {
		path := c.set.Workflows.Path(id)
		c.failBelow(path, w.Validate())
		c.failBelow(path, w.AsWritten((&workflowCheck{index: c.index, workflow: w}).checkCalls()))
		c.checkStarts(w, path, taken)
		c.failBelow(path, checkWebhookSecrets(c.set, w))
	}
}

// checkWebhookSecrets checks the references of webhook secrets to tenant variables.
func checkWebhookSecrets(set *registry.Set, w *workflow.Workflow) diag.List {
	var list diag.List
	for i := range w.Webhooks {
		h, path := &w.Webhooks[i], diag.Index("webhooks", i)
		for _, name := range h.Secret.References(spec.TenantScope) {
			list = append(list, set.Tenants.CheckSecret(diag.Join(path, "secret"), name)...)
		}
		for _, name := range h.Previous.References(spec.TenantScope) {
			list = append(list, set.Tenants.CheckSecret(diag.Join(path, "previous_secret"), name)...)
		}
	}
	return list
}

// checkStarts reports trigger ids that another workflow also has.
func (c *check) checkStarts(w *workflow.Workflow, path string, taken map[string]string) {
	claim := func(kind, id, at string) {
		key := kind + " " + id
		first, isTaken := taken[key]
		if !isTaken || strings.HasPrefix(first, path+".") {
			taken[key] = at // the record itself is checked within one workflow
			return
		}
		c.addError(diag.New(diag.DuplicateID, at, "another workflow has a %s with the id %q", kind, id).WithHint("the other one is %s; give this one a different id", first))
	}
	for i := range w.Schedules {
		claim("schedule", w.ScheduleID(&w.Schedules[i]), diag.Join(path, diag.Index("schedules", i)))
	}
	for i := range w.Events {
		claim("trigger", w.TriggerID(&w.Events[i]), diag.Join(path, diag.Index("events", i)))
	}
	for i := range w.Webhooks {
		claim("webhook", w.WebhookID(&w.Webhooks[i]), diag.Join(path, diag.Index("webhooks", i)))
	}
}

// workflowCheck checks the calls of a workflow.
type workflowCheck struct {
	*index
	workflow *workflow.Workflow
	list     diag.List
}

func (w *workflowCheck) add(path string, d diag.Diagnostic) {
	d.Path = diag.Join(path, d.Path)
	w.list = append(w.list, d)
}

// checkCalls checks the agents and tools of all steps.
func (w *workflowCheck) checkCalls() diag.List {
	steps := w.workflow.AllSteps()
	for i := range steps {
		path := w.pathOf(i, &steps[i])
		if steps[i].Agent != nil {
			w.checkAgentTurn(diag.Join(path, "agent"), &steps[i])
		}
		if steps[i].Tool != nil {
			w.checkToolCall(path, &steps[i], steps[:i])
		}
	}
	return w.list
}

// pathOf returns the path of a step in its workflow.
func (w *workflowCheck) pathOf(i int, s *workflow.Step) string {
	switch {
	case len(w.workflow.Steps) > 0:
		return diag.Index("steps", i)
	case s.Agent == nil && i > 0:
		return "target.output_delivery"
	default:
		return "target"
	}
}

// checkAgentTurn checks that the agent of a step exists, and which agents it may call.
func (w *workflowCheck) checkAgentTurn(path string, s *workflow.Step) {
	id := s.Agent.Agent
	agent, ok := w.set.Agent(id)
	switch {
	case id == "":
		return // the record reports it
	case !ok && w.set.Undiscovered(id):
		return
	case !ok:
		near, _ := nearest.Of(id, w.set.AgentIDs())
		missing := (&AgentNotFoundError{Reference{ID: id, Path: diag.Join(path, "agent"), Nearest: near}}).Diagnostic()
		missing.Agent = ""
		w.list = append(w.list, missing)
		return
	case !agent.UsesTools():
		w.checkRemoteTurn(path, s)
		return
	}
	if agent.Local() {
		w.checkTurnModel(path, s.Agent.ModelID)
	}
	t := w.templateOf(id)
	if t == nil || t.broken || t.unreadable || t.seen == nil {
		return // the agent itself is reported
	}
	for i, tool := range s.Agent.Tools {
		w.checkTurnTool(diag.Join(path, diag.Index("tools", i)), id, tool, t)
	}
}

// checkTurnModel checks that the model of a turn exists, if it names one.
func (w *workflowCheck) checkTurnModel(path, id string) {
	_, isModel := w.set.Models.Get(id)
	_, isPool := w.set.Pools.Get(id)
	if id == "" || isModel || isPool {
		return
	}
	missing := diag.FromError(w.modelNotFound(id, "", diag.Join(path, "model_id")))
	w.list = append(w.list, missing...)
}

// checkRemoteTurn reports settings that a step may not use for a remote agent.
func (w *workflowCheck) checkRemoteTurn(path string, s *workflow.Step) {
	if s.Agent.Tools != nil {
		w.add(path, diag.New(diag.IgnoredField, "tools", "agent %q runs at an endpoint, which chooses its tools itself", s.Agent.Agent).AtKey())
	}
	if s.Agent.ModelID != "" {
		w.add(path, diag.New(diag.IgnoredField, "model_id", "agent %q runs at an endpoint, which chooses its model itself", s.Agent.Agent).AtKey())
	}
}

// checkTurnTool checks that an agent has a tool that a step lets it call.
func (w *workflowCheck) checkTurnTool(path, agent, tool string, t *template) {
	known := t.seen.set()
	if known.Get(tool) != nil || w.set.Expected(tool) {
		return
	}
	ids := make([]string, 0, known.Len())
	for _, entry := range known.Entries() {
		ids = append(ids, entry.ID)
	}
	d := diag.New(diag.ToolNotFound, path, "tool %q does not exist", clip.Text(tool))
	if w.isDefined(tool) {
		d = diag.New(diag.ToolNotFound, path, "agent %q does not have the tool %q: its catalog leaves it out", agent, clip.Text(tool))
	}
	w.add("", d.WithNearest(tool, ids))
}

// isDefined reports whether a global tool with the id exists, valid or not.
func (w *workflowCheck) isDefined(id string) bool {
	_, found := slices.BinarySearch(w.toolIDs, id)
	return found
}

// checkToolCall checks that the tool of a step exists and accepts its arguments.
func (w *workflowCheck) checkToolCall(path string, s *workflow.Step, earlier []workflow.Step) {
	field := diag.Join(path, "tool.name")
	if w.workflow.Target != nil && len(w.workflow.Steps) == 0 && strings.HasSuffix(path, "output_delivery") {
		field = diag.Join(path, "tool")
	}
	name := s.Tool.Name
	entry := w.global[name]
	switch {
	case name == "", entry == nil && (w.isDefined(name) || w.set.Expected(name)):
		return // reported elsewhere, or still unknown
	case entry == nil:
		d := diag.New(diag.ToolNotFound, field, "tool %q does not exist", clip.Text(name)).WithNearest(name, w.toolIDs)
		if _, isAgent := w.set.Agent(name); isAgent {
			d = d.WithHint("%q is an agent: write agent: {agent: %s, prompt: …}", clip.Text(name), clip.Text(name))
		}
		w.add("", d)
		return
	}
	w.checkRetry(path, s, entry)
	if strings.HasSuffix(field, ".name") {
		w.checkArguments(diag.Join(path, "tool"), s, entry, earlier)
	}
}

// checkRetry reports a step that is to be retried although its tool must not be called twice.
func (w *workflowCheck) checkRetry(path string, s *workflow.Step, entry *toolset.Entry) {
	if s.Attempts() > 1 && entry.Descriptor.EffectClass() == tools.Once {
		w.add(path, diag.New(diag.InvalidValue, "retry", "tool %q is not tried again: a call may have changed something although it failed", s.Tool.Name).AtKey().
			WithHint("set effect: read or idempotent on the tool if its calls may be repeated, or remove retry"))
	}
}

// checkArguments checks a call's arguments against the tool's schema, to the extent that they are
// known before a run.
func (w *workflowCheck) checkArguments(path string, s *workflow.Step, entry *toolset.Entry, earlier []workflow.Step) {
	var declared struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
		Additional json.RawMessage            `json:"additionalProperties"`
	}
	if json.Unmarshal(entry.Descriptor.Parameters, &declared) != nil {
		declared.Properties = nil
	}
	names := slices.Sorted(maps.Keys(declared.Properties))
	for _, name := range declared.Required {
		if _, given := s.Tool.Input[name]; !given {
			w.add(path, diag.New(diag.MissingField, "input", "tool %q is called without %q, which it requires", s.Tool.Name, name).AtKey())
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Tool.Input)) {
		at := diag.Join(path, diag.Key("input", name))
		property, known := declared.Properties[name]
		if !known && (string(declared.Additional) == "false" || len(entry.Descriptor.Parameters) == 0) {
			w.add(at, diag.New(diag.InvalidValue, "", "tool %q has no argument %q", s.Tool.Name, clip.Text(name)).AtKey().WithNearest(name, names))
			continue
		}
		if value, found := workflow.ParseValue(s.Tool.Input[name]); known && len(found) == 0 {
			w.checkArgument(at, value, property, s, earlier)
		}
	}
}

// checkArgument checks the value of an argument.
func (w *workflowCheck) checkArgument(path string, value *workflow.Value, property json.RawMessage, s *workflow.Step, earlier []workflow.Step) {
	if constant, ok := value.IsConstant(); ok {
		w.list = append(w.list, checks.Within(path, checkConstant(property, constant))...)
		return
	}
	types := value.Types(s, earlier)
	allowed := workflow.TypesAt(property, nil)
	if len(types) == 0 || len(allowed) == 0 {
		return
	}
	if slices.Contains(allowed, "number") {
		allowed = append(allowed, "integer")
	}
	if !slices.ContainsFunc(types, func(one string) bool { return slices.Contains(allowed, one) }) {
		w.add(path, diag.New(diag.InvalidValue, "", "the value is of type %s; tool %q takes %s here", strings.Join(types, " or "), s.Tool.Name, strings.Join(allowed, " or ")).
			WithHint("{template: text} makes a text of any value"))
	}
}

// checkConstant checks a constant against the schema of an argument.
func checkConstant(property json.RawMessage, constant any) diag.List {
	compiled, err := schema.Compile(property)
	if err != nil {
		return nil // the tool itself is reported, or the schema refers to another part
	}
	data, err := json.Marshal(constant)
	if err != nil {
		return nil
	}
	violations, err := compiled.ValidateJSON(context.Background(), data)
	if err != nil || len(violations) == 0 {
		return nil
	}
	return diag.List{diag.New(diag.InvalidValue, "", "the value does not fit the tool: %v", violations[0])}
}
