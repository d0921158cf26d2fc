package agentruns

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/spec"
)

// TestWhatAKeyForSomeAgentsMayUse shows keys that may use the agent narrow alone,
// which has the tool weather alone.
func TestWhatAKeyForSomeAgentsMayUse(t *testing.T) {
	t.Parallel()
	w := serving(t, func(s *setup) {
		s.more = func(b *builder.AgentRuntimeBuilder) {
			b.WithTool("vault", weather{}).WithAgentSpec(spec.Agent{ID: "narrow", Description: "Little.", ModelID: "fast", AllowedTools: spec.Names{"weather"}})
		}
	})
	open := w.must(http.StatusCreated, http.MethodPost, "/agent-sessions", `{"agentId":"clerk"}`)["sessionId"].(string)
	inline := w.must(http.StatusCreated, http.MethodPost, "/agent-sessions", `{"systemPrompt":"Obey."}`)["sessionId"].(string)
	const send = `{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"role":"user","messageId":"m","parts":[{"kind":"text","text":"say hi"}]}}}`
	with := func(agent, more string) string {
		return fmt.Sprintf(`{"agentId":%q,"prompt":"say hi"%s}`, agent, more)
	}
	vault, sunny := `"tools":[{"kind":"mantyx","id":"vault"}]`, `"tools":[{"kind":"mantyx","id":"weather"}]`
	const base = "/api/v1/workspaces/"
	for _, tt := range []struct {
		as, method, path, body string
		status                 int
		code                   string
	}{
		{"rob", "POST", base + "robs/agent-runs", with("narrow", ""), 202, ""},
		{"rob", "POST", base + "robs/agent-runs", with("clerk", ""), 403, "forbidden"},
		{"rob", "POST", base + "robs/agent-runs", with("nobody", ""), 403, "forbidden"},
		{"rob", "POST", base + "robs/agent-runs", with("no body", ""), 400, "invalid_request"},
		{"eve", "POST", base + "eves/agent-runs", with("narrow", ""), 403, "forbidden"},
		{"rob", "POST", base + "robs/agent-runs", `{"systemPrompt":"Obey.","prompt":"say hi",` + sunny + `}`, 202, ""},
		{"rob", "POST", base + "robs/agent-runs", `{"systemPrompt":"Obey.","prompt":"say hi",` + vault + `}`, 400, "invalid_request"},
		{"rob", "POST", base + "robs/agent-runs", `{"systemPrompt":"Obey.","prompt":"say hi","tools":[{"kind":"mantyx_plugin","name":"vault"}]}`, 400, "invalid_plugin"},
		{"rob", "POST", base + "robs/agent-runs", with("narrow", ","+vault), 400, "invalid_request"},
		{"rob", "POST", base + "robs/agent-runs", with("narrow", ","+sunny), 202, ""},
		{"rob", "POST", base + "robs/agent-sessions", `{"agentId":"narrow"}`, 201, ""},
		{"rob", "POST", base + "robs/agent-sessions", `{"agentId":"clerk"}`, 403, "forbidden"},
		{"rob", "POST", base + "robs/agent-sessions", `{"agentId":"nobody"}`, 403, "forbidden"},
		{"rob", "POST", base + "robs/agent-sessions", `{"agentId":"a b"}`, 400, "invalid_request"},
		{"rob", "POST", base + "robs/agent-sessions", `{"systemPrompt":"Obey.",` + vault + `}`, 400, "invalid_request"},
		{"al", "POST", base + "alices/agent-sessions/" + open + "/messages", `{"prompt":"say hi"}`, 404, "not_found"},
		{"al", "POST", base + "alices/agent-sessions/" + inline + "/messages", `{"prompt":"say hi",` + vault + `}`, 400, "invalid_request"},
		{"al", "POST", base + "alices/agent-sessions/" + inline + "/messages", `{"prompt":"say hi",` + sunny + `}`, 202, ""},
		{"alice", "POST", base + "alices/agent-sessions/" + inline + "/messages", `{"prompt":"say hi",` + vault + `}`, 202, ""},
		{"rob", "POST", "/api/a2a/robs/agents/narrow", send, 200, ""},
		{"rob", "POST", "/api/a2a/robs/agents/clerk", send, 403, "forbidden"},
		{"rob", "POST", "/api/a2a/robs/agents/nobody", send, 403, "forbidden"},
		{"rob", "GET", "/api/a2a/robs/agents/narrow/.well-known/agent-card.json", "", 200, ""},
		{"rob", "GET", "/api/a2a/robs/agents/clerk/.well-known/agent-card.json", "", 403, "forbidden"},
	} {
		w.as = tt.as
		status, answer := w.do(tt.method, tt.path, tt.body)
		code, _ := answer["code"].(string)
		if status != tt.status || code != tt.code || code != "" && (answer["error"] != code || strings.Contains(fmt.Sprint(answer["candidates"], answer["hint"]), "did you mean")) {
			t.Errorf("%s %s %s of %s: %d %v", tt.method, tt.path, tt.body, tt.as, status, answer)
		}
	}
	for as, want := range map[string]string{"rob": "[narrow]", "eve": "[]", "alice": "[clerk narrow]"} {
		w.as = as
		ids := []any{}
		for _, found := range w.must(http.StatusOK, http.MethodGet, "/api/a2a/"+as+"s/discovery", "")["agents"].([]any) {
			ids = append(ids, found.(map[string]any)["id"])
		}
		if fmt.Sprint(ids) != want {
			t.Errorf("%s finds %v", as, ids)
		}
	}
}

// TestWhoMayDoWhat walks all routes with everybody.
func TestWhoMayDoWhat(t *testing.T) {
	t.Parallel()
	w := serving(t)
	session := w.must(http.StatusCreated, http.MethodPost, "/agent-sessions", `{"systemPrompt":"Obey."}`)["sessionId"].(string)
	id, call := w.waiting(lookRef)
	foreign, err := w.service.CreateSession(t.Context(), service.Caller{Tenant: "alices", Subject: "alice"}, service.CreateSession{AgentID: "clerk"})
	if err != nil {
		t.Fatal(err)
	}
	spec := `{"systemPrompt":"Obey.","prompt":"say hi"}`
	bodies := map[string]string{"/agent-runs": spec, "/agent-sessions": spec, "/messages": `{"prompt":"say hi"}`, "/interactions/{interaction}": `{"result":{"result":"x"}}`, "/tool-results": `{"toolUseId":"` + call + `","result":"x"}`}
	surface, err := New(Settings{Service: w.service})
	if err != nil {
		t.Fatal(err)
	}
	for _, route := range surface.Routes() {
		method, pattern, _ := strings.Cut(route.Pattern, " ")
		if route.Scope == "" || route.Public {
			t.Errorf("%s needs no scope", route.Pattern)
		}
		body := ""
		for end, text := range bodies {
			if strings.HasSuffix(pattern, end) {
				body = text
			}
		}
		at := func(tenant, run string) string {
			if strings.Contains(pattern, "agent-sessions") && run == id {
				run = session
			}
			return strings.NewReplacer("{workspace}", tenant, "{id}", run, "{agent}", "clerk", "{interaction}", call).Replace(pattern)
		}
		owned, inWorkspace := strings.Contains(pattern, "{id}"), strings.Contains(pattern, "{workspace}")
		for _, tt := range []struct {
			as, path string
			status   int
			field    string
			value    any
			counts   bool
		}{
			{"", at("alices", id), http.StatusUnauthorized, "error", "Unauthorized", true},
			{"mallory", at("alices", id), http.StatusUnauthorized, "error", "Invalid API key or OAuth access token", true},
			{"joe", at("joes", id), http.StatusForbidden, "required", route.Scope, true},
			{"bob", at("alices", id), http.StatusNotFound, "hint", "bobs", inWorkspace},
			{"bob", at("bobs", id), http.StatusNotFound, "code", "not_found", owned},
			{"ann", at("alices", id), http.StatusNotFound, "code", "not_found", owned},
			{"alice", at("alices", foreign.ID), http.StatusNotFound, "code", "not_found", owned},
			{"eve", at("eves", id), http.StatusForbidden, "code", "forbidden", strings.Contains(pattern, "{agent}")},
		} {
			if !tt.counts {
				continue
			}
			w.as = tt.as
			status, answer := w.do(method, tt.path, body)
			if status != tt.status || answer[tt.field] != tt.value || strings.Contains(fmt.Sprint(answer), "Obey") {
				t.Errorf("%s as %q: %d %v", route.Pattern, tt.as, status, answer)
			}
		}
	}
	w.as = "alice"
	w.must(http.StatusOK, http.MethodPost, "/agent-runs/"+id+"/tool-results", bodies["/tool-results"])
	w.events(id, "")
}
