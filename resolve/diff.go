package resolve

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/agentruntime/agentruntime/internal/rawjson"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/plugins/execution"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools/toolset"
)

// ChangeKind is the kind of change to an agent or part of its environment.
type ChangeKind string

// The kinds of changes.
const (
	Added   ChangeKind = "added"
	Removed ChangeKind = "removed"
	Changed ChangeKind = "changed"
)

// Change is one difference between the environments of an agent.
type Change struct {
	Kind ChangeKind `json:"kind"`
	// Field is the changed field: model, prompt, plugin, section, tool and so on.
	Field string `json:"field"`
	// Subject identifies the entry, for fields with several.
	Subject string `json:"subject,omitempty"`
	// Through are, for a tool that only delegates of the agent have, the agents
	// that lead to it; the last one has it.
	Through []string `json:"through,omitempty"`
	Old     string   `json:"old,omitempty"`
	New     string   `json:"new,omitempty"`
	// Widened is set if the agent may now do or use more than before.
	Widened bool `json:"widened,omitempty"`
	// Lifted are the fields, such as budgets.max_tokens, whose limit is lifted.
	Lifted []string `json:"lifted,omitempty"`
	// Reason names the rule that decides, or the lifted limit.
	Reason string `json:"reason,omitempty"`
}

// AgentDiff is the difference between one agent's effective environments in two revisions.
type AgentDiff struct {
	Agent   string     `json:"agent"`
	Kind    ChangeKind `json:"kind"`
	Changes []Change   `json:"changes"`
}

// Widened reports whether the agent may now do or use more than before.
func (d *AgentDiff) Widened() bool {
	return slices.ContainsFunc(d.Changes, func(c Change) bool { return c.Widened })
}

// Lost returns the ids of the tools, including delegates and handoffs, that the agent may no longer
// call. A removed agent has lost itself.
func (d *AgentDiff) Lost() (tools []string) {
	if d.Kind == Removed {
		return []string{"the agent"}
	}
	for i := range d.Changes {
		if c := &d.Changes[i]; c.Field == "tool" && c.Kind == Removed && len(c.Through) == 0 {
			tools = append(tools, c.Subject)
		}
	}
	return tools
}

// Diff compares the effective environments of all agents in two revisions: backend, model, prompt,
// plugins, sections, limits, tools, and the permissions of delegates. It omits agents without
// differences; a new agent widens access by all of its tools. It fails if an agent of either
// revision does not resolve.
func Diff(ctx context.Context, before, after *registry.Revision) ([]AgentDiff, error) {
	if ids, ok := touchedAgents(before, after); ok {
		return DiffAgents(ctx, before, after, ids)
	}
	return diffAll(ctx, before, after)
}

// diffAll is Diff, but explains every agent again.
func diffAll(ctx context.Context, before, after *registry.Revision) ([]AgentDiff, error) {
	c := newComparison(before, after)
	c.strict = true
	return c.compareAgents(ctx, agentsOfBoth(before, after), nil)
}

// Widening is Diff for a change that must not widen access: it returns only the agents that may
// do more. An agent that did not resolve before the change counts as new.
func Widening(ctx context.Context, before, after *registry.Revision) ([]AgentDiff, error) {
	diffs, err := DiffAgents(ctx, before, after, agentsOfBoth(before, after))
	return slices.DeleteFunc(diffs, func(d AgentDiff) bool { return !d.Widened() }), err
}

// agentsOfBoth returns the agents of one revision, and the agents that only the other has.
func agentsOfBoth(before, after *registry.Revision) []string {
	ids := slices.Clone(before.Set().AgentIDs())
	for _, id := range after.Set().AgentIDs() {
		if !hasAgent(before.Set(), id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// view is the diff's view of an agent's environment: fields with one value, and fields with named
// entries.
type view struct {
	agent   *spec.Agent
	single  []field
	hooks   []field
	plugins []field
	section []field
	// guards are the plugins and sections that may limit the agent although no gate shows it.
	guards map[string]bool
	tools  []ToolChoice
	// env has the gates that decide on calls.
	env *execution.Env
	// does identifies the behavior of callable tools, by id.
	does map[string]string
	set  *registry.Set
}

// field is a name with its value.
type field struct{ name, value string }

// viewOf returns the view of an explained agent.
func viewOf(x *explainer, e *Explanation) view {
	a, set := e.Agent, x.rev.Set()
	v := view{agent: a, set: set, single: []field{
		{"description", a.Description},
		{"endpoint", endpointText(a.Endpoint)},
		{"budgets", jsonText(a.Budgets)},
		{"model", modelText(e)},
		{"provider", providerText(set, e)},
		{"prompt", promptHash(string(a.SystemPrompt))},
	}, hooks: hookFields(a.SessionStart)}
	if !a.UsesTools() {
		return v
	}
	v.single = append(v.single,
		field{"max_rounds", strconv.Itoa(a.Rounds())},
		field{"on_max_rounds", string(a.OnMaxRounds)},
		field{"on_truncation", string(a.OnTruncation)},
		field{"max_continuation_retries", strconv.Itoa(a.ContinuationRetries())},
		field{"stop_conditions", jsonText(a.StopConditions)},
		field{"reasoning_effort", jsonText(a.ReasoningEffort)},
		field{"tool_execution", string(a.ToolExecution)},
		field{"context_policy", jsonText(a.ContextPolicy)},
		field{"loop_detection", jsonText(a.LoopDetection)},
		field{"tool_budgets", jsonText(a.ToolBudgets)},
		field{"output_schema", jsonText(a.OutputSchema)},
		field{"variables", rawjson.CompactText(a.Variables)},
		field{"a2a", jsonText(a.A2A)},
		field{"max_handoffs", strconv.Itoa(a.HandoffLimit())},
		field{"active_hook_filter", strings.Join(a.ActiveHookFilter, ", ")},
	)
	v.tools, v.env = e.Tools, e.env
	v.guards = make(map[string]bool)
	for i, p := range e.Plugins {
		if p.Core || len(a.ActiveHookFilter) > 0 && !slices.Contains(a.ActiveHookFilter, p.ID) {
			continue
		}
		v.plugins = append(v.plugins, field{p.ID, "position " + strconv.Itoa(i+1)})
		v.addGuards(&p)
	}
	for _, key := range slices.Sorted(maps.Keys(a.Sections)) {
		v.section = append(v.section, field{key, rawjson.CompactText(a.Sections[key])})
	}
	v.does = make(map[string]string)
	for i := range e.Tools {
		if c := &e.Tools[i]; c.Rule.Visible && c.Source.Kind == toolset.SourceGlobal {
			v.does[c.ID] = x.definitionOf(c.ID)
		}
	}
	return v
}

// toolDefinition identifies the behavior of a global tool to the extent that its declaration shows
// it: settings, parameters and effect.
func toolDefinition(set *registry.Set, id string) string {
	tool, ok := set.Tools.Get(id)
	if !ok {
		return ""
	}
	d := tool.Descriptor()
	return shortHash(fmt.Sprintf("%s\x1f%s\x1f%s\x1f%s\x1f%v",
		set.Definitions[set.Tools.Path(id)], rawjson.CompactText(d.Parameters), d.Effect, d.Limit(), d.Serial))
}

// hookFields identifies the programs that run when a session begins, including the secrets of their
// environment.
func hookFields(hooks []spec.SessionHook) []field {
	fields := make([]field, len(hooks))
	for i := range hooks {
		h := &hooks[i]
		fields[i] = field{h.ID, shortHash(fmt.Sprintf("%q %q %v %q %v", h.Command, h.Cwd, h.Limit(), h.Env, h.Output))}
	}
	return fields
}

// compareHooks compares the programs that run when a session starts. A new program widens access.
func compareHooks(before, after []field) []Change {
	changes := compareNamed("session_start", before, after)
	for i := range changes {
		changes[i].Widened = changes[i].Kind != Removed
	}
	return changes
}

// providerText identifies the providers of an agent's model calls.
func providerText(set *registry.Set, e *Explanation) string {
	var models []*spec.Model
	if e.Model != nil {
		models = append(models, e.Model)
	}
	if e.Pool != nil {
		for i := range e.Pool.Members {
			if m, ok := set.Models.Get(e.Pool.Members[i].ModelID); ok {
				models = append(models, m)
			}
		}
	}
	var texts []string
	for _, m := range models {
		text := m.ProviderID
		if definition := set.Definitions[set.Providers.Path(m.ProviderID)]; definition != "" {
			text += " " + shortHash(definition)
		}
		if !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, ", ")
}

func endpointText(e *spec.Endpoint) string {
	if e == nil {
		return ""
	}
	text := e.Kind() + " " + e.BaseURL + " " + e.Target
	if e.Auth != nil || e.Timeout != nil || len(e.Options) > 0 {
		text += " " + shortHash(jsonText(e))
	}
	return text
}

// modelText describes the model, including the members of a pool.
func modelText(e *Explanation) string {
	switch {
	case e.Model != nil:
		return fmt.Sprintf("%s (%s at %s)", e.Model.ID, e.Model.UpstreamModel, e.Model.ProviderID)
	case e.Pool != nil:
		return fmt.Sprintf("%s (pool: %s)", e.Pool.ID, memberIDs(e.Pool))
	default:
		return ""
	}
}

// promptHash identifies a prompt without showing it.
func promptHash(prompt string) string {
	if prompt == "" {
		return ""
	}
	return shortHash(prompt)
}

// shortHash identifies a text without showing it.
func shortHash(text string) string {
	const shown = 12
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])[:shown]
}

func jsonText(v any) string {
	data, err := json.Marshal(v)
	if err != nil || string(data) == "null" {
		return ""
	}
	return string(data)
}

func compareViews(before, after view, reached *delegation) []Change {
	changes := []Change{}
	old := make(map[string]string, len(before.single))
	for _, f := range before.single {
		old[f.name] = f.value
	}
	fresh := make(map[string]bool, len(after.single))
	for _, f := range after.single {
		fresh[f.name] = true
		if was := old[f.name]; was != f.value {
			changes = append(changes, Change{Kind: kindOf(was, f.value), Field: f.name, Old: was, New: f.value})
		}
	}
	for _, f := range before.single {
		if !fresh[f.name] && f.value != "" {
			changes = append(changes, Change{Kind: Removed, Field: f.name, Old: f.value})
		}
	}
	changes = append(changes, compareHooks(before.hooks, after.hooks)...)
	changes = markLimits(changes, before.agent, after.agent)
	changes = append(changes, markGuards(compareNamed("plugin", before.plugins, after.plugins), &before)...)
	sections := markGuards(compareNamed("section", before.section, after.section), &before)
	changes = append(changes, sections...)
	tools := compareTools(&before, &after, len(sections) > 0)
	changes = append(changes, tools...)
	if len(sections) > 0 && !slices.ContainsFunc(tools, func(c Change) bool { return c.Widened }) {
		changes = append(changes, compareOtherTools(&before, &after)...)
	}
	return append(changes, reached.compareDelegated(&before, &after, len(sections) > 0)...)
}

func kindOf(before, after string) ChangeKind {
	switch {
	case before == "":
		return Added
	case after == "":
		return Removed
	default:
		return Changed
	}
}

func compareNamed(name string, before, after []field) []Change {
	var changes []Change
	find := func(list []field, name string) string {
		if i := slices.IndexFunc(list, func(f field) bool { return f.name == name }); i >= 0 {
			return list[i].value
		}
		return ""
	}
	for _, f := range before {
		if now := find(after, f.name); now != f.value {
			changes = append(changes, Change{Kind: kindOf(f.value, now), Field: name, Subject: f.name, Old: f.value, New: now})
		}
	}
	for _, f := range after {
		if find(before, f.name) == "" {
			changes = append(changes, Change{Kind: Added, Field: name, Subject: f.name, New: f.value})
		}
	}
	return changes
}

// reach is an agent's access to a tool: a text for people and a rank that grows with the access.
type reach struct {
	rank int
	text string
}

func reachOf(c *ToolChoice) reach {
	if c == nil || !c.Rule.Visible {
		return reach{}
	}
	// Denied is rank 0, like a missing tool.
	return reach{rank: int(plugins.AccessDeny) - int(c.Verdict.Access), text: reachText(c.Verdict)}
}

// reachText describes the access that a verdict allows.
func reachText(v plugins.Verdict) string {
	text := v.Access.String()
	if v.Access == plugins.AccessAllow && v.Rule == "" {
		text = "allowed"
	}
	if v.Rule != "" {
		text += ": " + v.Rule
	}
	return text
}

// compareTools compares the agent's access to each tool. Gates compare their rules if they
// can. If it is unknown which of two settings or tool definitions allows more, the change counts
// as widening.
func compareTools(before, after *view, settingsChanged bool) []Change {
	old, fresh := byID(before.tools), byID(after.tools)
	var changes []Change
	add := func(id string) {
		if c, differs := compareTool(before, after, old[id], fresh[id], settingsChanged); differs {
			c.Subject = id
			changes = append(changes, c)
		}
		did, does := before.does[id], after.does[id]
		if did != "" && does != "" && did != does {
			changes = append(changes, Change{
				Kind: Changed, Field: "tool definition", Subject: id, Old: did, New: does, Widened: reachOf(fresh[id]).rank > 0,
			})
		}
	}
	for i := range before.tools {
		add(before.tools[i].ID)
	}
	for i := range after.tools {
		if old[after.tools[i].ID] == nil {
			add(after.tools[i].ID)
		}
	}
	return changes
}

// compareTool compares an agent's access to one tool. It ignores rules that were only moved.
func compareTool(before, after *view, old, fresh *ToolChoice, settingsChanged bool) (Change, bool) {
	was, now := reachOf(old), reachOf(fresh)
	c := Change{Kind: kindOf(was.text, now.text), Field: "tool", Old: was.text, New: now.text}
	if old == nil || fresh == nil || !old.Rule.Visible || !fresh.Rule.Visible || before.env == nil || after.env == nil {
		c.Widened = now.rank > was.rank
		return c, was != now
	}
	w := after.env.Widening(before.env, fresh.ID, settingsChanged)
	c.Widened, c.Reason = w.Widened, w.Reason
	return c, w.Widened || w.Narrowed
}

func byID(choices []ToolChoice) map[string]*ToolChoice {
	m := make(map[string]*ToolChoice, len(choices))
	for i := range choices {
		m[choices[i].ID] = &choices[i]
	}
	return m
}
