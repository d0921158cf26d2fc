package server_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/server"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// audited returns what the audit log says of one request to a route with an audit.
func audited(t *testing.T, key string, answer http.HandlerFunc) map[string]any {
	t.Helper()
	core, logs := observer.New(zap.InfoLevel)
	r := start(t, server.Settings{Authenticator: keys(), Logger: zap.New(core), NewID: func() string { return "r1" }},
		server.Route{Pattern: "POST /turns/{turn}", Scope: "runs:write", Audit: server.AuditCreateTurn, Handler: answer},
		server.Route{Pattern: "GET /turns/{turn}", Handler: echo})
	for _, method := range []string{http.MethodPost, http.MethodGet} {
		req, err := http.NewRequestWithContext(t.Context(), method, "http://server/turns/t1?secret=in-the-query", strings.NewReader(`{"secret":"in-the-body"}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("User-Agent", "curl/8")
		req.Header.Set("Authorization", "Bearer "+key)
		resp, err := r.client(t).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
	}
	r.end(t)
	entries := logs.FilterMessage("audit").All()
	if len(entries) != 1 {
		t.Fatalf("%d audit records of two requests, one of them to a route with an audit", len(entries))
	}
	said := entries[0].ContextMap()
	for name, value := range said {
		if text, ok := value.(string); ok && (strings.Contains(text, "secret") || strings.Contains(text, key)) {
			t.Errorf("the field %s shows %q", name, text)
		}
	}
	return said
}

func TestAuditRecordsSayWhoAskedForWhat(t *testing.T) {
	ok := func(w http.ResponseWriter, r *http.Request) {
		server.NoteAudit(r.Context(), zap.String("provider", "desk"))
		w.WriteHeader(http.StatusCreated)
	}
	foreign := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) }
	for name, tt := range map[string]struct {
		key    string
		answer http.HandlerFunc
		want   map[string]any
	}{
		"allowed": {goodKey, ok, map[string]any{
			"log.type": "audit", "operation": "create_turn", "allowed": true, "status": int64(201), "request_id": "r1", "subject_id": "good",
			"tenant": "acme", "key_id": "good", "auth_source": "api_key", "user_agent": "curl/8", "provider": "desk", "route": "/turns/{turn}",
		}},
		"lacks the scope":       {scopedKey, ok, map[string]any{"allowed": false, "status": int64(403), "key_id": "scoped", "error": "the credential lacks the scope runs:write"}},
		"no valid credential":   {"ark_unknown", ok, map[string]any{"allowed": false, "status": int64(401), "error": "the key is not known"}},
		"of somebody else":      {goodKey, foreign, map[string]any{"allowed": false, "status": int64(404), "subject_id": "good"}},
		"the handler panicked":  {goodKey, func(http.ResponseWriter, *http.Request) { panic("no") }, map[string]any{"allowed": true, "status": int64(500), "error": "internal"}},
		"an expired credential": {expiredKey, ok, map[string]any{"allowed": false, "key_id": "expired"}},
	} {
		t.Run(name, func(t *testing.T) {
			said := audited(t, tt.key, tt.answer)
			for field, want := range tt.want {
				if said[field] != want {
					t.Errorf("%s is %v, not %v", field, said[field], want)
				}
			}
		})
	}
}
