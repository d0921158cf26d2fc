package builder_test

import (
	"testing"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// Warnings from building and publishing in Go are logged once, by the first revision that has them,
// or passed to the function given to WithWarnings.
func TestWarningsAreLogged(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zap.InfoLevel)
	names := func(tools ...string) spec.Agent {
		return agent(func(a *spec.Agent) { a.AllowedTools = tools })
	}
	rt, err := demo().WithLogger(zap.New(core)).WithAgentSpec(names("wget")).Build()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := demo().WithAgentSpec(names("wget", "curl")).Publish(t.Context(), rt); err != nil {
		t.Fatal(err)
	}
	if _, err := rt.Publish(t.Context(), func(*registry.Draft) error { return nil }); err != nil {
		t.Fatal(err)
	}
	var got []any
	for _, entry := range logs.FilterMessage("configuration warning").All() {
		fields := entry.ContextMap()
		got = append(got, fields["code"], fields["agent"], fields["path"])
	}
	want := []any{"unmatched-tool", "a", "agents.a.allowed_tools[0]", "unmatched-tool", "a", "agents.a.allowed_tools[1]"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the log (-want +got):\n%s", diff)
	}
	var told diag.List
	if _, err := demo().WithAgentSpec(names("wget")).WithWarnings(func(list diag.List) { told = append(told, list...) }).Build(); err != nil {
		t.Fatal(err)
	}
	if len(told) != 1 || told[0].Path != "agents.a.allowed_tools[0]" {
		t.Errorf("told are %v", told)
	}
}
