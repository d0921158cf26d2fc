package agentruns

import (
	"net/http"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
)

// repeat posts a body with a key, and returns the status, the id of what was made,
// and the code of a refusal.
func (w *world) repeat(key, path, body string) (status int, id, code string) {
	w.t.Helper()
	status, answer := w.do(http.MethodPost, path, body, surfacekit.IdempotencyHeader, key)
	id, _ = answer["runId"].(string)
	if id == "" {
		id, _ = answer["sessionId"].(string)
	}
	code, _ = answer["code"].(string)
	return status, id, code
}

func TestARequestWithAKeyIsCarriedOutOnce(t *testing.T) {
	t.Parallel()
	w := serving(t)
	session := w.must(http.StatusCreated, http.MethodPost, "/agent-sessions", `{"agentId":"clerk"}`)["sessionId"].(string)
	other := w.must(http.StatusCreated, http.MethodPost, "/agent-sessions", `{"agentId":"clerk"}`)["sessionId"].(string)
	messages := func(id string) string { return "/agent-sessions/" + id + "/messages" }
	made := map[string]string{}
	for _, tt := range []struct{ path, body, same, another string }{
		{"/agent-runs", `{"agentId":"clerk","prompt":"say hi"}`, `{ "prompt": "say hi", "agentId": "clerk" }`, `{"agentId":"clerk","prompt":"say ho"}`},
		{"/agent-sessions", `{"agentId":"clerk"}`, `{ "agentId" : "clerk" }`, `{"agentId":"clerk","name":"x"}`},
		{messages(session), `{"prompt":"say hi"}`, `{"prompt":"say hi"}`, `{"prompt":"say ho"}`},
		{messages(other), `{"prompt":"say hi"}`, `{"prompt":"say hi"}`, `{"prompt":"say ho"}`},
	} {
		_, id, _ := w.repeat("k", tt.path, tt.body)
		if id == "" || made[id] != "" {
			t.Fatalf("%s made %q, which %q did before", tt.path, id, made[id])
		}
		made[id] = tt.path
		if status, again, _ := w.repeat("k", tt.path, tt.same); status >= http.StatusBadRequest || again != id {
			t.Errorf("%s again: %d, %q instead of %q", tt.path, status, again, id)
		}
		if status, _, code := w.repeat("k", tt.path, tt.another); status != http.StatusUnprocessableEntity || code != codeKeyConflict {
			t.Errorf("%s with another body: %d %s", tt.path, status, code)
		}
		if _, third, _ := w.repeat("k2", tt.path, tt.body); third == "" || third == id {
			t.Errorf("%s with another key made %q again", tt.path, third)
		}
		if status, again, _ := w.repeat("k", tt.path, tt.body); status >= http.StatusBadRequest || again != id {
			t.Errorf("%s after a conflict: %d, %q instead of %q", tt.path, status, again, id)
		}
	}
	for _, key := range []string{"", strings.Repeat("x", surfacekit.MaxIdempotencyKey+1)} {
		if status, _, code := w.repeat(key, "/agent-runs", `{"agentId":"clerk","prompt":"say hi"}`); status != http.StatusBadRequest || code != codeInvalidRequest {
			t.Errorf("the key %q: %d %s", key, status, code)
		}
	}
	w.as = "ann"
	if _, id, _ := w.repeat("k", "/api/v1/workspaces/alices/agent-runs", `{"agentId":"clerk","prompt":"say hi"}`); id == "" || made[id] != "" {
		t.Errorf("the key of another subject made %q", id)
	}
}
