package runtime_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/testkit/turntest"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/spec"
)

// declares returns an agent with a prompt and the declaration of its variables.
func declares(id, prompt, variables string, edit ...func(*spec.Agent)) spec.Agent {
	a := spec.Agent{ID: id, SystemPrompt: spec.Prompt(prompt), Variables: []byte(variables)}
	for _, e := range edit {
		e(&a)
	}
	return a
}

const aName = `{"type":"object","properties":{"name":{"type":"string"},"n":{"type":"integer","default":7}},"required":["name"]}`

// The prompts of an agent, of its delegate and of the agent that takes over get the
// variables that they declare, and a value is never read as a reference.
func TestVariablesOfATurnStandInItsPrompts(t *testing.T) {
	exec := turntest.Scripts(map[string][]turntest.Answer{
		"front":   {turntest.AsksAgent("clerk"), turntest.Calls("h", "hand_off_to_billing", "{}")},
		"clerk":   {{Text: "done"}},
		"billing": {{Text: "paid"}},
	})
	rt := turntest.Build(t, turntest.WithAgents(exec,
		declares("front", "For ${turn.name}, $${turn.name}, ${turn.n}.", aName, func(a *spec.Agent) { a.Delegates, a.Handoffs = []string{"clerk"}, []string{"billing"} }),
		declares("clerk", "Clerk of ${turn.name}.", `{"type":"object","properties":{"name":{"type":"string"}}}`),
		declares("billing", "Bill ${turn.n}.", `{"type":"object","properties":{"n":{"type":"integer"}}}`),
	))
	req := runtime.Prompt("front", "go")
	req.Variables = json.RawMessage(`{"name":"${turn.n} $${turn.name}","n":3}`)
	if _, err := rt.Run(t.Context(), req, nil); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]string{
		"front": "For ${turn.n} $${turn.name}, ${turn.name}, 3.", "clerk": "Clerk of ${turn.n} $${turn.name}.", "billing": "Bill 3.",
	} {
		if got := exec.Requests[id][0].Messages[0].Text(); got != want {
			t.Errorf("%s is told %q, want %q", id, got, want)
		}
	}
}

func TestATurnWithWrongVariablesDoesNotBegin(t *testing.T) {
	exec := turntest.Scripts(map[string][]turntest.Answer{"a": {{Text: "hi"}}})
	rt := turntest.Build(t, turntest.WithAgents(exec, declares("a", "For ${turn.name}.", aName), spec.Agent{ID: "plain"}))
	for _, tt := range []struct{ agent, variables, want string }{
		{"a", "", `"name" is required`},
		{"a", `{"name":"x","nmae":"y"}`, `"nmae" is not declared (did you mean "name"?)`},
		{"a", `{"name":4711}`, `"name" does not fit {"type":"string"}`},
		{"a", `{"name":"x","n":"4711"}`, `"n" does not fit {"type":"integer","default":7}`},
		{"a", `["4711"]`, "they must be a JSON object"},
		{"a", `{"name":"` + strings.Repeat("x", 256<<10) + `"}`, "they have 262155 bytes; at most 262144 are allowed"},
		{"plain", `{"name":"4711"}`, `"name" is not declared`},
	} {
		req := runtime.Prompt(tt.agent, "go")
		req.Variables = json.RawMessage(tt.variables)
		var log turntest.Events
		_, err := rt.Run(t.Context(), req, &log)
		e, ok := errors.AsType[*resolve.VariablesError](err)
		if !ok || strings.Join(e.Problems, "; ") != tt.want || e.Agent != tt.agent {
			t.Errorf("%.40s: got %v, want %s", tt.variables, err, tt.want)
		}
		if len(log.List) > 0 || err != nil && strings.Contains(err.Error(), "4711") {
			t.Errorf("%.40s: %d events, %v", tt.variables, len(log.List), err)
		}
	}
}
