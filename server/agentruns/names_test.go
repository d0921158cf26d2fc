package agentruns

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/spec"
)

// TestNothingThatWasAskedForIsDroppedSilently sends what has no effect: misspelt
// fields are refused, and the others are named in the answer.
func TestNothingThatWasAskedForIsDroppedSilently(t *testing.T) {
	t.Parallel()
	w := serving(t, func(s *setup) {
		s.more = func(b *builder.AgentRuntimeBuilder) {
			b.WithAgentSpec(spec.Agent{ID: "prompted", Description: "Has a prompt.", ModelID: "fast", SystemPrompt: "stored"})
		}
	})
	session := w.must(http.StatusCreated, http.MethodPost, "/agent-sessions", `{"agentId":"clerk"}`)["sessionId"].(string)
	const runs, sessions = "/agent-runs", "/agent-sessions"
	messages := sessions + "/" + session + "/messages"
	for _, tt := range []struct{ path, body, warned, refused string }{
		{runs, `{"agentId":"clerk","prompt":"say hi"}`, "", ""},
		{runs, `{"agentId":"clerk","prompt":"say hi","attachments":[],"files":[{}],"plan":true,"verbose":null}`, "attachments files plan", ""},
		{runs, `{"agentId":"clerk","prompt":"say hi","sistemPrompt":"x"}`, "", `sistemPrompt is not known; did you mean "systemPrompt"?`},
		{runs, `{"agentId":"clerk","message":"x","prompt":"say hi"}`, "", `message is not known; did you mean "messages"?`},
		{runs, `{"agentId":"clerk","prompt":"say hi","budgets":{"maxToolTurn":1}}`, "", `budgets.maxToolTurn is not known; did you mean "maxToolTurns"?`},
		{runs, `{"agentId":"clerk","prompt":"say hi","budgets":{"dollars":1}}`, "budgets.dollars", ""},
		{runs, `{"agentId":"clerk","prompt":"say hi","toolBudgets":{"x":{"maxCall":1,"maxCalls":1}}}`, "", `toolBudgets.x.maxCall is not known; did you mean "maxCalls"?`},
		{runs, `{"agentId":"clerk","prompt":"say hi","loopDetection":{"hardCutofThreshold":9}}`, "", `did you mean "hardCutoffThreshold"?`},
		{runs, `{"agentId":"clerk","prompt":"say hi","outputSchema":{"schema":{},"strict":true}}`, "outputSchema.strict", ""},
		{runs, `{"agentId":"clerk","messages":[{"role":"user","content":"say hi","id":"1"},{"role":"user","content":"say hi","id":"2"}]}`, "messages[].id", ""},
		{runs, `{"agentId":"prompted","systemPrompt":"Mine.","prompt":"say hi"}`, "systemPrompt", ""},
		{runs, `{"agentId":"clerk","prompt":"say hi","agentId":"prompted"}`, "", `the key "agentId" is there twice`},
		{runs, `{"agentId":"clerk","prompt":"say hi","metadata":{"a":"1","\u0061":"2"}}`, "", `the key "a" is there twice`},
		{sessions, `{"agentId":"clerk","prompt":"say hi","colour":1}`, "colour prompt", ""},
		{sessions, `{"agentId":"prompted","systemPrompt":"Mine."}`, "systemPrompt", ""},
		{sessions, `{"agentid":"clerk"}`, "", `agentid is not known; did you mean "agentId"?`},
		{messages, `{"prompt":"say hi","modelId":"fast","colour":1}`, "colour modelId", ""},
		{messages, `{"promt":"say hi"}`, "", `promt is not known; did you mean "prompt"?`},
		{runs + "/none/tool-results", `{"toolUseID":"x"}`, "", `run "none" not found`},
	} {
		status, answer := w.do(http.MethodPost, tt.path, tt.body)
		var warned []string
		list, _ := answer["warnings"].([]any)
		for _, one := range list {
			warned = append(warned, fmt.Sprint(one.(map[string]any)["field"]))
		}
		said, _ := answer["message"].(string)
		if strings.Join(warned, " ") != tt.warned || (status >= http.StatusBadRequest) != (tt.refused != "") || !strings.Contains(said, tt.refused) {
			t.Errorf("POST %s %s: %d %v", tt.path, tt.body, status, answer)
		}
	}
}
