package service_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/agentruntime/agentruntime/internal/testkit/turntest"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/spec"
)

func TestACatalogHasTheAgentsOfItsCaller(t *testing.T) {
	s := idle(t, turntest.Build(t, turntest.WithAgents(turntest.Scripts(nil), spec.Agent{ID: "one"}, spec.Agent{ID: "two"}, spec.Agent{ID: "team-x"})))
	for _, tt := range []struct {
		globs []string
		want  []string
	}{
		{nil, []string{"one", "two", "team-x"}},
		{[]string{}, nil},
		{[]string{"one", "team-*", "["}, []string{"one", "team-x"}},
		{[]string{"gone"}, nil},
	} {
		caller := alice
		caller.Agents = service.NewAgentSet(tt.globs)
		catalog := s.Catalog(t.Context(), caller)
		var listed []string
		for id := range catalog.Agents() {
			if slices.Contains([]string{"one", "two", "team-x"}, id) {
				listed = append(listed, id)
			}
		}
		if !slices.Equal(listed, tt.want) {
			t.Errorf("%q lists %q", tt.globs, listed)
		}
		for _, id := range []string{"one", "two", "team-x", "gone", "["} {
			agent, err := catalog.Agent(id)
			missing := new(resolve.AgentNotFoundError)
			switch found := slices.Contains(tt.want, id); {
			case found && (err != nil || agent.ID != id), !found && (!errors.As(err, &missing) || missing.ID != id || missing.Nearest != ""):
				t.Errorf("%q: agent %q is %v, %v", tt.globs, id, agent, err)
			}
		}
	}
}

func TestACallerHasItsScopes(t *testing.T) {
	for _, tt := range []struct {
		scopes []string
		want   bool
	}{{nil, true}, {[]string{}, false}, {[]string{"runs:write"}, false}, {[]string{"a", "runs:read"}, true}} {
		c := service.Caller{Scopes: tt.scopes}
		if c.HasScope("runs:read") != tt.want || !c.HasScope("") {
			t.Errorf("with %q it is %v", tt.scopes, !tt.want)
		}
	}
}

func TestACallerOfSomeAgentsReadsNoMetrics(t *testing.T) {
	for _, scopes := range [][]string{nil, {"metrics:read"}} {
		if (service.Caller{Scopes: scopes, Agents: service.NewAgentSet([]string{"*"})}).HasScope("metrics:read") {
			t.Errorf("with %q it reads metrics", scopes)
		}
		if !(service.Caller{Scopes: scopes}).HasScope("metrics:read") {
			t.Errorf("with %q and all agents it reads no metrics", scopes)
		}
	}
}
