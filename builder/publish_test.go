package builder_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/spec"
)

func TestABuilderTakesThePlaceOfAnother(t *testing.T) {
	t.Parallel()
	old, next := &live{names: []string{"x_1"}}, &live{names: []string{"y_1"}}
	rt, err := demo().WithTool("x", old).WithAgentSpec(agent()).Build()
	if err != nil {
		t.Fatal(err)
	}
	rev, err := demo().WithTool("y", next).WithAgentSpec(agent(func(a *spec.Agent) { a.ID = "b" })).Publish(t.Context(), rt)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(rev.Set().AgentIDs(), " "); got != "b" || rev.Number() != 2 || rt.Revision() != rev {
		t.Errorf("revision %d has the agents %s", rev.Number(), got)
	}
	next.become("y_2")
	if got := strings.Join(rt.Revision().Set().Tools.IDs(), " "); got != "y_2" {
		t.Errorf("what the new server of tools says does not count: %s", got)
	}
	old.become("x_2")
	if got := rt.Revision().Number(); got != 3 {
		t.Errorf("what the old server of tools says makes revision %d", got)
	}
	if err := rt.Close(); err != nil || old.closed != 1 || next.closed != 1 {
		t.Errorf("closing gives %v; closed %d and %d times", err, old.closed, next.closed)
	}
}

func TestABuilderWithMistakesTakesNobodysPlace(t *testing.T) {
	t.Parallel()
	held := &live{names: []string{"x_1"}}
	rt, err := demo().WithTool("x", held).WithAgentSpec(agent()).Build()
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string]*builder.AgentRuntimeBuilder{
		"an agent does not resolve": demo().WithAgentSpec(agent(func(a *spec.Agent) { a.ModelID = "none" })),
		"a tool is nil":             demo().WithAgentSpec(agent()).WithTool("t", nil),
	} {
		var failed *builder.BuildError
		if _, err := b.Publish(t.Context(), rt); !errors.As(err, &failed) || failed.Diagnostics.Count(diag.Error) != 1 {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
	if rt.Revision().Number() != 1 || held.closed != 0 {
		t.Errorf("revision %d; closed %d times", rt.Revision().Number(), held.closed)
	}
}
