package settings

import (
	"maps"
	"slices"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/check"
	"github.com/agentruntime/agentruntime/spec"
)

// DefaultNarrowingThreshold is how many tools a turn may get without naming them before the text of
// its messages restricts them.
const DefaultNarrowingThreshold = 200

// DefaultSessionProvider is the name of the provider of a server without configured providers.
const DefaultSessionProvider = "runtime"

// ServerSessions configures the sessions and turns of clients that use Gestalt's protocol.
type ServerSessions struct {
	Enabled            *bool                      `json:"enabled,omitempty" default:"true" doc:"Enables sessions and turns over HTTP, at /api/v1/agent."`
	Providers          map[string]SessionProvider `json:"providers,omitempty" doc:"The providers that clients may choose for a session: name to settings. Defaults to one named runtime, without settings."`
	NarrowingThreshold *int                       `json:"default_tool_narrowing_threshold,omitempty" min:"1" default:"200" doc:"Maximum tools of a turn that names none. With more, it gets the tools of the servers named in its latest message, if any."`
	LegacyMetrics      bool                       `json:"legacy_metrics,omitempty" default:"false" doc:"Whether session, turn and tool call metrics are also recorded under Gestalt's names, such as gestaltd.agent.operation.count."`
}

// SessionProvider configures the sessions of one provider.
type SessionProvider struct {
	Agent        string            `json:"agent,omitempty" doc:"The agent that runs the turns. Defaults to an agent without a prompt, with the tools of each turn."`
	Tools        spec.Names        `json:"tools,omitzero" doc:"Globs for ids of tools that turns without an agent may get by name, regardless of agents' rules. Defaults to tools with effect: read that no agent guards; an empty list allows none. Not valid with agent, whose catalog decides."`
	Default      bool              `json:"default,omitempty" default:"false" doc:"Whether sessions without a provider use this one."`
	DefaultModel string            `json:"default_model,omitempty" doc:"The model, pool or alias of sessions that name none. Defaults to the agent's."`
	Aliases      map[string]string `json:"aliases,omitempty" doc:"Aliases of models and pools: name to id."`
}

// On reports whether the protocol is enabled.
func (s *ServerSessions) On() bool { return orDefault(s.Enabled, true) }

// Threshold returns how many tools a turn gets if it names none.
func (s *ServerSessions) Threshold() int {
	return orDefault(s.NarrowingThreshold, DefaultNarrowingThreshold)
}

// Validate checks the record by itself. Paths are relative to it.
func (s *ServerSessions) Validate() diag.List {
	var list diag.List
	first := ""
	for _, name := range slices.Sorted(maps.Keys(s.Providers)) {
		path := diag.Key("providers", name)
		list = append(list, spec.CheckID(path, "provider", name)...)
		p := s.Providers[name]
		list = append(list, p.validateTools(path)...)
		if !p.Default {
			continue
		}
		if first != "" {
			list = append(list, diag.New(diag.InvalidValue, diag.Join(path, "default"), "provider %q is the default already", first).WithHint("one provider can be the default"))
		}
		first = name
	}
	return list
}

// validateTools checks the tools for turns without an agent.
func (p *SessionProvider) validateTools(path string) diag.List {
	var list diag.List
	if p.Tools != nil && p.Agent != "" {
		list = append(list, diag.New(diag.InvalidValue, diag.Join(path, "tools"), "tools has no effect with agent, whose catalog decides which tools it has").WithHint("remove it, and set allowed_tools of agent %q", p.Agent))
	}
	return append(list, check.Patterns(diag.Join(path, "tools"), p.Tools)...)
}
