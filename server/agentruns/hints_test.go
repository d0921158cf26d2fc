package agentruns

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/store"
)

// refusedWith returns the fields of a refusal, and complains unless its hint holds the
// reason: the SDKs show no message.
func refusedWith(t *testing.T, what string, body []byte) map[string]any {
	t.Helper()
	var said map[string]any
	if err := json.Unmarshal(body, &said); err != nil {
		t.Fatalf("%s: %s", what, body)
	}
	hint, _ := said["hint"].(string)
	if message, _ := said["message"].(string); hint == "" || !strings.HasPrefix(hint, message) {
		t.Errorf("%s is refused without its reason in the hint: %s", what, body)
	}
	return said
}

// TestEveryKindOfRefusalHasItsReasonInTheHint answers with every error that the
// surface knows, and with all that the server says in its place.
func TestEveryKindOfRefusalHasItsReasonInTheHint(t *testing.T) {
	t.Parallel()
	failures := []error{
		newInvalid("no"), rejectUnsupported(nil, "x")(nil), noAgent("a"), usedKey("k"), unknownToolUse("c"), errRunEnded(&run{Turn: &service.Turn{}}),
		resolutionError(&service.NotFoundError{}, &run{Turn: &service.Turn{}}, "i"), resolutionError(&store.ConflictError{}, nil, "i"),
		&requestError{Code: codeWorkspace, Message: "Workspace path does not match this credential", Hint: "acme"},
		unknownTool(codeInvalidPlugin, "no %q", "weathr", []string{"weather"}),
		&http.MaxBytesError{Limit: 1}, &service.NotFoundError{}, &service.InvalidError{}, store.ErrText, &backend.MismatchError{},
		&resolve.AgentNotFoundError{}, &store.StateError{Kind: "session"}, &store.KeyConflictError{}, store.ErrUnavailable, io.ErrUnexpectedEOF,
	}
	s := serving(t)
	surface, err := New(Settings{Service: s.service})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, failure := range failures {
		w := httptest.NewRecorder()
		c := &call{Surface: surface, w: w, r: httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)}
		c.writeError(failure)
		seen[refusedWith(t, failure.Error(), w.Body.Bytes())["code"].(string)] = true
	}
	for code := range statuses {
		if !seen[code] && code != codeWorkspace && code != codeInvalidModel {
			t.Errorf("no failure gives the code %s", code)
		}
	}
	for _, e := range []server.Error{
		{Status: 401, Code: "unauthorized", Message: "m"}, {Status: 403, Code: "insufficient_scope", Message: "m", Scope: "runs:read"},
		{Status: 403, Code: "forbidden", Message: "m"}, {Status: 404, Code: "not_found", Message: "m"}, {Status: 405, Code: "method_not_allowed", Message: "m"},
		{Status: 413, Code: "too_large", Message: "m"}, {Status: 429, Code: "rate_limited", Message: "m"}, {Status: 500, Code: "internal", Message: "m"},
		{Status: 503, Code: "unavailable", Message: "m"},
	} {
		for _, shown := range []string{"", "Bearer x"} {
			w := httptest.NewRecorder()
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
			if shown != "" {
				r.Header.Set("Authorization", shown)
			}
			surface.WriteError(w, r, &e)
			if said := refusedWith(t, e.Code, w.Body.Bytes()); said["hint"] != "m" {
				t.Errorf("%s: %v", e.Code, said)
			}
		}
	}
}

// TestARefusalOverHTTPHasItsReasonInTheHint asks for what is refused, on every route.
func TestARefusalOverHTTPHasItsReasonInTheHint(t *testing.T) {
	t.Parallel()
	w := serving(t).beyond()
	id, _ := w.waiting(lookRef)
	for _, tt := range []struct{ as, method, path, body, reason string }{
		{"", "GET", "/models", "", "a credential is needed"},
		{"mallory", "GET", "/models", "", "the credential is not valid"},
		{"joe", "GET", "/models", "", "the credential lacks the scope models:read"},
		{"alice", "GET", "/api/v1/workspaces/bobs/models", "", "alices"},
		{"alice", "POST", "/models", "", "the method POST is not allowed here"},
		{"alice", "GET", "/nothing", "", "no such route"},
		{"alice", "POST", "/agent-runs", "x", "the body is not valid JSON"},
		{"alice", "POST", "/agent-runs", `{"prompt":"x","prompt":"y"}`, `the body: the key "prompt" is there twice`},
		{"alice", "POST", "/agent-runs", `{"prompt":"x"}`, "systemPrompt is required"},
		{"alice", "POST", "/agent-runs", `{"systemPrompt":"s","prompt":"x","promt":"y"}`, `did you mean "prompt"?`},
		{"alice", "POST", "/agent-runs", `{"systemPrompt":"s","prompt":"x","modelId":"fats"}`, `modelId "fats" is not known; did you mean "fast"?`},
		{"alice", "POST", "/agent-runs", `{"agentId":"nobody","prompt":"x"}`, "is not available"},
		{"alice", "POST", "/agent-runs", `{"systemPrompt":"s","prompt":"x","tools":[{"kind":"mantyx","id":"weathr"}]}`, `there is no tool "weathr"; did you mean "weather"?`},
		{"alice", "GET", "/agent-runs/none", "", `run "none" not found`},
		{"alice", "GET", "/agent-runs/none/stream", "", `run "none" not found`},
		{"alice", "POST", "/agent-runs/" + id + "/tool-results", `{"toolUseId":"none"}`, "waits for an answer"},
		{"alice", "GET", "/agent-sessions/none", "", `session "none" not found`},
		{"alice", "POST", "/agent-sessions/none/messages", `{"prompt":"x"}`, `session "none" not found`},
		{"alice", "POST", "/api/a2a/alices/agents/nobody", `{}`, "is not available"},
	} {
		w.as = tt.as
		path := tt.path
		if !strings.HasPrefix(path, "/api/") {
			path = "/api/v1/workspaces/alices" + path
		}
		resp := w.request(tt.method, path, tt.body)
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		said := refusedWith(t, tt.method+" "+path, bytes.TrimSpace(body))
		if hint, _ := said["hint"].(string); !strings.Contains(hint, tt.reason) || resp.StatusCode < 400 {
			t.Errorf("%s %s %s: %d %s", tt.method, path, tt.body, resp.StatusCode, body)
		}
	}
}
