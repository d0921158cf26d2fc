package agentruns

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// TestLimitsHoldOnEveryRoute asks for runs, sessions and messages at each limit and one
// beyond it. Requests within a limit succeed, and those beyond leave nothing in the
// store.
func TestLimitsHoldOnEveryRoute(t *testing.T) {
	t.Parallel()
	w := serving(t)
	session, _ := w.must(http.StatusCreated, http.MethodPost, "/agent-sessions", `{"systemPrompt":"s"}`)["sessionId"].(string)
	routes := map[string]int{"/agent-runs": http.StatusAccepted, "/agent-sessions": http.StatusCreated, "/agent-sessions/" + session + "/messages": http.StatusAccepted}
	for _, l := range limits() {
		for n, fits := range map[int]bool{l.low: true, l.high: true, l.high + 1: false} {
			for path, want := range routes {
				body := l.write(n)
				if path == "/agent-sessions" {
					body = withoutInput(t, body)
				}
				status, answer := w.do(http.MethodPost, path, body)
				switch {
				case fits && status != want, !fits && (status != http.StatusBadRequest || answer["code"] != "invalid_request" || answer["message"] == ""):
					t.Errorf("%s of %d at %s: %d %v", l.name, n, path, status, answer)
				}
				if id, begun := answer["runId"].(string); begun && n == l.high {
					w.events(id, "")
				}
			}
		}
	}
}

func withoutInput(t *testing.T, body string) string {
	t.Helper()
	var f map[string]json.RawMessage
	if err := json.Unmarshal([]byte(body), &f); err != nil {
		t.Fatal(err)
	}
	delete(f, fieldPrompt)
	return jsonOf(f)
}

func TestTheLimitsOfResults(t *testing.T) {
	t.Parallel()
	w := serving(t)
	for name, tt := range map[string]struct {
		field string
		size  int
	}{"result": {"result", maxToolResult}, "error": {"error", maxToolError}} {
		id, call := w.waiting(lookRef)
		at := "/agent-runs/" + id + "/tool-results"
		answer := func(size int) string {
			return jsonOf(map[string]string{"toolUseId": call, tt.field: strings.Repeat("x", size)})
		}
		if got := w.must(http.StatusBadRequest, http.MethodPost, at, answer(tt.size+1)); got["code"] != "invalid_request" {
			t.Errorf("%s: %v", name, got)
		}
		w.must(http.StatusOK, http.MethodPost, at, answer(tt.size))
		w.events(id, "")
	}
}

// TestSchemasAreTakenAsTheyAre sends what the SDKs make of the types of their
// languages.
func TestSchemasAreTakenAsTheyAre(t *testing.T) {
	t.Parallel()
	w := serving(t)
	for _, schema := range []string{
		`{"type":"object","properties":{"mail":{"type":"string","format":"email","pattern":"^(?!\\.)(?!.*\\.\\.)[a-z]+$"}}}`,
		`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{}}`,
		`{"type":"object","properties":{"at":{"type":"string","format":"date-time"}},"additionalProperties":false}`,
		`{"type":"nonsense"}`, `{"$ref":"https://x.example/schema.json"}`, `{}`,
	} {
		list := w.events(w.begin("say what you like", `,"outputSchema":{"schema":`+schema+`}`), "")
		if last := list[len(list)-1].data; last["ok"] != true {
			t.Errorf("%s: it ends with %v", schema, last)
		}
	}
	for _, parameters := range []string{
		`{"type":"object","properties":{"mail":{"type":"string","pattern":"^(?!\\.)[a-z]+$"}}}`, `{"type":"array"}`, `"x"`, `{}`, `null`,
		`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object"}`,
	} {
		ref := `,"tools":[{"kind":"local","name":"look","parameters":` + parameters + `,"outputSchema":` + parameters + `}]`
		list := w.answered(w.begin("call 1", ref), func(map[string]any) string { return `,"result":"seen"` })
		if last := list[len(list)-1].data; last["text"] != "seen" {
			t.Errorf("%s: it ends with %v", parameters, last)
		}
	}
}
