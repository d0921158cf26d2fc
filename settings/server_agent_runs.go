package settings

import (
	"maps"
	"slices"
	"time"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/check"
	"github.com/agentruntime/agentruntime/internal/hostlist"
	"github.com/agentruntime/agentruntime/spec"
)

// DefaultLocalToolTimeout is how long a run waits for its client to answer a call.
const DefaultLocalToolTimeout = 5 * time.Minute

// ServerAgentRuns configures how clients start runs of agents and answer the runs' tool calls.
type ServerAgentRuns struct {
	Enabled           *bool          `json:"enabled,omitempty" default:"true" doc:"Whether runs and sessions can be begun over HTTP, at /api/v1/workspaces/TENANT."`
	LocalToolTimeout  *spec.Duration `json:"local_tool_timeout,omitempty" default:"5m" doc:"How long a run waits for its client to answer the call of a tool, or for an approval; then it fails."`
	StrictToolResults bool           `json:"strict_tool_results,omitempty" default:"false" doc:"Whether an answer with neither a result nor an error is refused. It is an empty result otherwise, which some clients send so."`
	Tools             spec.Names     `json:"tools,omitzero" doc:"Globs over ids of tools of the configuration that requests may name although their agent does not have them, or is described by the request, whatever the rules of agents say of them. When absent, tools with effect: read that no agent guards; an empty list allows none."`
	ToolBudgets       map[string]int `json:"tool_budgets,omitempty" min:"0" doc:"How often a run may call tools of the configuration or of the request, by their ids, when neither its agent nor the request has tool budgets."`
	AllowPrivate      []string       `json:"allow_private,omitempty" doc:"The hosts that the agents and MCP servers of a request may have although they are on a private network: names, addresses or prefixes such as 10.0.0.0/8. All others must be public."`
}

// On reports whether runs can be begun over HTTP.
func (a *ServerAgentRuns) On() bool { return orDefault(a.Enabled, true) }

// LocalToolTime returns how long a run waits for its client.
func (a *ServerAgentRuns) LocalToolTime() time.Duration {
	return orDefault(a.LocalToolTimeout, spec.Duration(DefaultLocalToolTimeout)).Std()
}

// Validate checks the record by itself. Paths are relative to it.
func (a *ServerAgentRuns) Validate() diag.List {
	list := check.PositiveSpan("local_tool_timeout", a.LocalToolTimeout)
	list = append(list, checkToolPatterns("tools", a.Tools)...)
	for _, name := range slices.Sorted(maps.Keys(a.ToolBudgets)) {
		list = append(list, check.NotNegative(diag.Key("tool_budgets", name), new(a.ToolBudgets[name]))...)
	}
	for i, host := range a.AllowPrivate {
		if _, err := hostlist.Parse(host); err != nil {
			list = append(list, diag.New(diag.InvalidValue, diag.Index("allow_private", i), "%v", err))
		}
	}
	return list
}
