package cli

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
)

// fieldMakers create things that only the requests of testdata/request_fields.yaml name.
var fieldMakers = map[string]func(*testing.T, *town, things){
	"{own}": func(t *testing.T, w *town, made things) {
		session := w.own(t, http.MethodPost, "/runtime/v1/sessions", `{"agent_id":"clerk"}`)
		made["{own}"], _ = session["id"].(string)
	},
	"{fresh}": func(_ *testing.T, _ *town, made things) { made["{fresh}"] = uuid.NewString() },
	"{schedule}": func(t *testing.T, w *town, made things) {
		start := w.own(t, http.MethodPost, "/workflow/schedules", `{"cron":"@daily","target":{"steps":[{"id":"a","agent":{"agent":"clerk","prompt":"`+promptSecret+`","tools":[]}}]}}`)
		made["{schedule}"], _ = start["id"].(string)
	},
	"{trigger}": func(t *testing.T, w *town, made things) {
		start := w.own(t, http.MethodPost, "/workflow/event-triggers", `{"match":{"type":"x"},"target":{"steps":[{"id":"a","agent":{"agent":"clerk","prompt":"`+promptSecret+`","tools":[]}}]}}`)
		made["{trigger}"], _ = start["id"].(string)
	},
	"{plain}": func(t *testing.T, w *town, made things) {
		session := w.own(t, http.MethodPost, annPath+"/agent-sessions", `{"agentId":"clerk"}`)
		made["{plain}"], _ = session["sessionId"].(string)
	},
	"{revision}": func(t *testing.T, w *town, made things) {
		all := bearer(w.token(t, "acme", "ann", w.scopes...))
		etag := w.answer(t, http.MethodGet, "/runtime/v1/models", "", all).header["Etag"]
		w.answer(t, http.MethodPut, "/runtime/v1/models/another", `{"value":{"provider_id":"s","upstream_model":"`+uuid.NewString()+`"}}`, all, http.Header{"If-Match": etag})
		etag = w.answer(t, http.MethodGet, "/runtime/v1/models", "", all).header["Etag"]
		made["{revision}"] = strings.Trim(etag[0], `"`)
	},
	"{workrun}": makeWorkflowRun, "{workask}": makeWorkflowRun,
}

// makeWorkflowRun creates a workflow run that waits for an approval.
func makeWorkflowRun(t *testing.T, w *town, made things) {
	t.Helper()
	if made["{workrun}"] != "" {
		return
	}
	event := uuid.NewString()
	w.own(t, http.MethodPost, "/workflow/event-triggers", `{"match":{"type":"`+event+`"},"target":{"steps":[{"id":"a","agent":{"agent":"clerk","prompt":"refund `+inputSecret+`"}}]}}`)
	w.own(t, http.MethodPost, "/workflow/events", `{"type":"`+event+`"}`)
	list, _ := w.own(t, http.MethodGet, "/workflow/runs?limit=1", "")["items"].([]any)
	if len(list) != 1 {
		t.Fatal("the event begins no run")
	}
	run, _ := list[0].(map[string]any)
	made["{workrun}"], _ = run["id"].(string)
	for end := time.Now().Add(time.Minute); made["{workask}"] == ""; {
		if time.Now().After(end) {
			t.Fatal("the run asks for nothing")
		}
		asked, _ := w.own(t, http.MethodGet, "/workflow/runs/"+made["{workrun}"]+"/interactions", "")["items"].([]any)
		if len(asked) > 0 {
			one, _ := asked[0].(map[string]any)
			made["{workask}"], _ = one["id"].(string)
		}
	}
}
