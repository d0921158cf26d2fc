package settings

import (
	"testing"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/google/go-cmp/cmp"
)

func TestPatternsOfToolsForTurnsWithoutAnAgent(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		sessions map[string]SessionProvider
		runs     spec.Names
		want     map[string]diag.Code
	}{
		"absent":      {map[string]SessionProvider{"p": {}, "q": {Agent: "clerk"}}, nil, nil},
		"none":        {map[string]SessionProvider{"p": {Tools: spec.Names{}}}, spec.Names{}, nil},
		"valid":       {map[string]SessionProvider{"p": {Tools: spec.Names{"*", "mcp__jira__*"}}}, spec.Names{"pay"}, nil},
		"invalid":     {map[string]SessionProvider{"p": {Tools: spec.Names{"pay", "a["}}}, spec.Names{"a["}, map[string]diag.Code{"sessions.providers.p.tools[1]": diag.InvalidPattern, "agent_runs.tools[0]": diag.InvalidPattern}},
		"with agent":  {map[string]SessionProvider{"p": {Agent: "clerk", Tools: spec.Names{"pay"}}}, nil, map[string]diag.Code{"sessions.providers.p.tools": diag.InvalidValue}},
		"none for it": {map[string]SessionProvider{"p": {Agent: "clerk", Tools: spec.Names{}}}, nil, map[string]diag.Code{"sessions.providers.p.tools": diag.InvalidValue}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := Server{Sessions: ServerSessions{Providers: tt.sessions}, AgentRuns: ServerAgentRuns{Tools: tt.runs}}
			var got map[string]diag.Code
			for _, d := range s.Validate() {
				if got == nil {
					got = map[string]diag.Code{}
				}
				got[d.Path] = d.Code
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}
