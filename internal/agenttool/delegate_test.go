package agenttool_test

import (
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/agenttool"
	"github.com/agentruntime/agentruntime/spec"
	"pgregory.net/rapid"
)

func TestTheToolOfADelegateHasAnIDThatModelsAccept(t *testing.T) {
	for agent, want := range map[string]string{
		"clerk":        "agent_run_clerk",
		"clerk-2_b":    "agent_run_clerk-2_b",
		"peer/clerk":   "agent_run_peer_clerk",
		"a.b:c":        "agent_run_a_b_c",
		"Köln":         "agent_run_K__ln",
		"two words":    "agent_run_two_words",
		"":             "agent_run_",
		"agent_run_me": "agent_run_agent_run_me",
	} {
		if got := agenttool.DelegateID(agent); got != want {
			t.Errorf("the tool of %q is %q, want %q", agent, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		agent := rapid.StringN(1, 40, 54).Draw(t, "agent")
		id := agenttool.DelegateID(agent)
		if list := spec.CheckToolID("", id); list != nil || !strings.HasPrefix(id, agenttool.DelegatePrefix) || len(id) != len(agenttool.DelegatePrefix)+len(agent) {
			t.Fatalf("the tool of %q is %q: %v", agent, id, list)
		}
	})
}
