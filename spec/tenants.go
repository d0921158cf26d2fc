package spec

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/check"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/pattern"
)

// The kinds of tools that a tenant may be allowed to bring.
const (
	TenantHTTP    = "http"
	TenantMCP     = "mcp"
	TenantCommand = "command"
)

// Tenants configures the tenants that a server serves.
type Tenants struct {
	// May lets tenants have overlays, and bounds them.
	May *TenantRights `json:"may,omitempty" doc:"Allows tenant overlays and sets their rights beyond changing prompts and restricting agents. If absent, tenants have no overlays."`
	// Cache is how many tenants a process keeps ready.
	Cache int `json:"cache,omitempty" min:"1" max:"1000000" default:"256" doc:"How many recently used tenants with overlays each process keeps ready. Other overlays are read and resolved when a turn needs them."`
	// Variables are the variables that tenants set for themselves.
	Variables map[string]TenantVariable `json:"variables,omitempty" keys:"^[A-Za-z_][A-Za-z0-9_]*$" doc:"Variables that each tenant sets for itself, by name. ${tenant.NAME} is the value."`
}

// TenantRights limits the overlay of a tenant. Everything absent is forbidden.
type TenantRights struct {
	Kinds []string `json:"kinds,omitempty" enum:"http|mcp|command" doc:"The kinds of tools that a tenant may add. http and mcp tools reach only public addresses; an MCP server that is a program also needs command."`
	Tools []string `json:"tools,omitempty" doc:"Globs for the ids of tools, including delegates and handoffs, that a tenant's agents may use even if the configuration does not allow it."`
	// Agents lets tenants bring agents that extend none of the configuration's agents.
	Agents   bool     `json:"agents,omitempty" default:"false" doc:"Whether a tenant may add agents that extend no configured agent, so that only their own rules apply. Otherwise each added agent must extend a configured agent and has its rights."`
	Models   []string `json:"models,omitempty" doc:"Globs over the ids of models and pools that a tenant may choose for its agents."`
	Sections []string `json:"sections,omitempty" doc:"Globs for the sections that a tenant may set, in addition to permission, which cannot widen access."`
	// Fields are the agent fields with which an overlay may widen access.
	Fields    []string `json:"fields,omitempty" doc:"Globs for agent fields, such as max_rounds and context_policy.*, that a tenant may also widen. It may only narrow other fields. Fields that overlays may not set stay closed."`
	MaxBudget *Budgets `json:"max_budget,omitempty" doc:"Maximum budgets that a tenant may set for its agents. If absent, budgets can only be lowered."`

	MaxAgents int `json:"max_agents,omitempty" min:"1" max:"10000" default:"100" doc:"Maximum agents an overlay may add and patch."`
	MaxTools  int `json:"max_tools,omitempty" min:"1" max:"10000" default:"50" doc:"Maximum tools an overlay may add and patch."`

	// Workflows lets tenants add workflows, and change their own workflows of the configuration.
	Workflows *TenantWorkflows `json:"workflows,omitempty" doc:"Allows tenants to add workflows, and to patch their own workflows in the configuration. Without it they may do neither."`

	AllowPrivate []string `json:"allow_private,omitempty" doc:"Non-public hosts, IP addresses and CIDR blocks, each optionally with a port, that tenants' tools may reach. An http tool lists the ones it reaches under its own allow_private."`
}

// The default limits of overlays.
const (
	defaultTenantAgents    = 100
	defaultTenantTools     = 50
	defaultTenantWorkflows = 10
	defaultTenantSchedules = 20
	// defaultMinEvery is the shortest time between two runs of a schedule.
	defaultMinEvery = time.Minute
)

// AgentLimit returns how many agents an overlay may bring and patch.
func (r *TenantRights) AgentLimit() int { return cmp.Or(r.MaxAgents, defaultTenantAgents) }

// ToolLimit returns how many tools an overlay may bring and patch.
func (r *TenantRights) ToolLimit() int { return cmp.Or(r.MaxTools, defaultTenantTools) }

// TenantWorkflows bounds the workflows of tenants.
type TenantWorkflows struct {
	Max int `json:"max,omitempty" min:"1" max:"1000" default:"10" doc:"Maximum workflows a tenant may add."`
	// Tools are the tools that steps may call.
	Tools []string `json:"tools,omitempty" doc:"Globs for the ids of the configuration's tools that steps may call, in addition to the tenant's tools. No agent makes such a call, so only the rules in defaults apply to it: name only tools that need no others."`
	// MaxSchedules bounds the schedules of all workflows of an overlay.
	MaxSchedules int `json:"max_schedules,omitempty" min:"1" max:"10000" default:"20" doc:"Maximum schedules of the workflows that an overlay adds or patches."`
	// MinEvery is the shortest time between two runs of a schedule.
	MinEvery *Duration `json:"min_every,omitempty" default:"1m" doc:"Minimum interval between runs of a tenant's schedule, with @every and the five fields of cron."`
}

// Limit returns how many workflows a tenant may bring. It is safe for nil.
func (w *TenantWorkflows) Limit() int {
	if w == nil {
		return 0
	}
	return cmp.Or(w.Max, defaultTenantWorkflows)
}

// MayCall reports whether steps of a tenant may call a tool of the configuration. It is
// safe for nil.
func (w *TenantWorkflows) MayCall(tool string) bool { return w != nil && matchesAny(w.Tools, tool) }

// ScheduleLimit returns how many schedules an overlay may have. It is safe for nil.
func (w *TenantWorkflows) ScheduleLimit() int {
	if w == nil {
		return 0
	}
	return cmp.Or(w.MaxSchedules, defaultTenantSchedules)
}

// ShortestEvery returns the shortest time between two runs of a schedule. It is safe for
// nil.
func (w *TenantWorkflows) ShortestEvery() time.Duration {
	if w == nil || w.MinEvery == nil {
		return defaultMinEvery
	}
	return w.MinEvery.Std()
}

// Validate checks the record by itself.
func (t *Tenants) Validate() diag.List {
	list := t.validateVariables()
	if t.May == nil {
		return list
	}
	list = append(list, check.Patterns("may.tools", t.May.Tools)...)
	list = append(list, check.Patterns("may.models", t.May.Models)...)
	list = append(list, check.Patterns("may.sections", t.May.Sections)...)
	list = append(list, check.Patterns("may.fields", t.May.Fields)...)
	if w := t.May.Workflows; w != nil {
		list = append(list, check.Patterns("may.workflows.tools", w.Tools)...)
		if w.MinEvery != nil && w.MinEvery.Std() < time.Second {
			list = append(list, diag.New(diag.InvalidValue, "may.workflows.min_every", "min_every is %s; it must be 1s or more", *w.MinEvery))
		}
	}
	for i, kind := range t.May.Kinds {
		list = append(list, check.OneOf(diag.Index("may.kinds", i), kind, TenantHTTP, TenantMCP, TenantCommand)...)
	}
	return append(list, check.Hosts("may.allow_private", t.May.AllowPrivate)...)
}

// validateVariables checks the names of variables.
func (t *Tenants) validateVariables() diag.List {
	var list diag.List
	for _, name := range slices.Sorted(maps.Keys(t.Variables)) {
		path := diag.Key("variables", name)
		if !IsVariableName(name) {
			list = append(list, diag.New(diag.InvalidID, path, "%q cannot be the name of a variable", clip.Text(name)).
				WithHint("use letters, digits and underscores"))
		}
	}
	return list
}

// HasOverlays reports whether tenants may have overlays. It is safe for nil.
func (t *Tenants) HasOverlays() bool { return t != nil && t.May != nil }

// MayReach reports whether tools of a tenant may list an entry under allow_private.
func (r *TenantRights) MayReach(entry string) bool { return slices.Contains(r.AllowPrivate, entry) }

// MayBring reports whether a tenant may bring tools of a kind.
func (r *TenantRights) MayBring(kind string) bool { return slices.Contains(r.Kinds, kind) }

// MayUse reports whether agents of a tenant may have a tool that they do not have in the
// configuration itself.
func (r *TenantRights) MayUse(tool string) bool { return matchesAny(r.Tools, tool) }

// MayChoose reports whether a tenant may choose a model or pool.
func (r *TenantRights) MayChoose(model string) bool { return matchesAny(r.Models, model) }

// MaySet reports whether a tenant may set a section.
func (r *TenantRights) MaySet(section string) bool { return matchesAny(r.Sections, section) }

// MayWiden reports whether a tenant may widen access with an agent field.
func (r *TenantRights) MayWiden(field string) bool { return matchesAny(r.Fields, field) }

// matchesAny reports whether a name matches one of the globs. An invalid glob matches nothing.
func matchesAny(globs []string, name string) bool {
	return slices.ContainsFunc(globs, func(source string) bool {
		glob, err := pattern.Compile(source)
		return err == nil && glob.Match(name)
	})
}

// Exceeds returns the fields of budgets that are above the limits of others, or that have
// no limit where the others have one. Nil has no limits.
func (b *Budgets) Exceeds(limits *Budgets) []string {
	if limits == nil {
		return nil
	}
	own := b
	if own == nil {
		own = new(Budgets)
	}
	var fields []string
	add := func(name string, above bool) {
		if above {
			fields = append(fields, name)
		}
	}
	add("max_tokens", isAbove(own.MaxTokens, limits.MaxTokens))
	otherMoney := own.MaxCost != nil && limits.MaxCost != nil && own.Currency != limits.Currency
	add("max_cost", isAbove(own.MaxCost, limits.MaxCost) || otherMoney)
	add("max_duration", isAbove(own.MaxDuration, limits.MaxDuration))
	add("max_model_calls", isAbove(own.MaxModelCalls, limits.MaxModelCalls))
	add("max_tool_calls", isAbove(own.MaxToolCalls, limits.MaxToolCalls))
	return fields
}

func isAbove[T int | float64 | Duration](v, limit *T) bool {
	return limit != nil && (v == nil || *v > *limit)
}

// Or returns the limits of others, and b's where others has none.
func (b *Budgets) Or(others *Budgets) *Budgets {
	c := *b
	if others == nil {
		return &c
	}
	if others.MaxCost != nil {
		c.MaxCost, c.Currency = others.MaxCost, others.Currency
	}
	c.MaxTokens = cmp.Or(others.MaxTokens, b.MaxTokens)
	c.MaxDuration = cmp.Or(others.MaxDuration, b.MaxDuration)
	c.MaxModelCalls = cmp.Or(others.MaxModelCalls, b.MaxModelCalls)
	c.MaxToolCalls = cmp.Or(others.MaxToolCalls, b.MaxToolCalls)
	return &c
}

// TenantVariable is a variable that tenants may set.
type TenantVariable struct {
	Description string  `json:"description,omitempty" doc:"A description of the variable."`
	Secret      bool    `json:"secret,omitempty" default:"false" doc:"Whether the value is a secret: stored encrypted, never shown, and usable only in tools."`
	Default     *string `json:"default,omitempty" doc:"The value for tenants that have not set one. If absent, references to the variable fail for them."`
}
