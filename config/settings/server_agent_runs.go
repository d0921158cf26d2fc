package settings

import (
	"maps"
	"slices"
	"time"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/check"
	"github.com/agentruntime/agentruntime/spec"
)

// DefaultLocalToolTimeout is how long a run waits for its client to answer a call.
const DefaultLocalToolTimeout = 5 * time.Minute

// ServerAgentRuns configures how clients start runs of agents and answer the runs' tool calls.
type ServerAgentRuns struct {
	Enabled           *bool          `json:"enabled,omitempty" default:"true" doc:"Enables runs and sessions over HTTP, at /api/v1/workspaces/TENANT."`
	LocalToolTimeout  *spec.Duration `json:"local_tool_timeout,omitempty" default:"5m" doc:"Maximum time that a run waits for its client's tool result or an approval. Then the run fails."`
	StrictToolResults bool           `json:"strict_tool_results,omitempty" default:"false" doc:"Whether a tool answer with neither a result nor an error is rejected. Otherwise it is an empty result, as some clients send it."`
	Tools             spec.Names     `json:"tools,omitzero" doc:"Globs for ids of configured tools that requests may name even if their agent lacks them or is defined by the request, regardless of agents' rules. Defaults to tools with effect: read that no agent guards; an empty list allows none."`
	ToolBudgets       map[string]int `json:"tool_budgets,omitempty" min:"0" doc:"Maximum calls per run, by id of a tool in the configuration or request, if neither its agent nor the request has tool budgets."`
	AllowPrivate      []string       `json:"allow_private,omitempty" doc:"Hosts on private networks that the agents and MCP servers of a request may have: names, addresses or prefixes such as 10.0.0.0/8. All others must be public."`
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
	list = append(list, check.Patterns("tools", a.Tools)...)
	for _, name := range slices.Sorted(maps.Keys(a.ToolBudgets)) {
		list = append(list, check.NotNegative(diag.Key("tool_budgets", name), new(a.ToolBudgets[name]))...)
	}
	return append(list, check.Hosts("allow_private", a.AllowPrivate)...)
}
