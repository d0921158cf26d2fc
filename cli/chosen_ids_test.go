package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/agentruntime/agentruntime/internal/testkit/pgtest"
)

// chosenID is a request in which a client chooses an id, and a request that reads the result. {id}
// is the id, {agent} an agent that the client may use, and {any}, {session} and {task} are the
// client's own ids.
type chosenID struct{ request, read string }

const chosenInput = `"input":[{"role":"user","parts":[{"type":"text","text":"hello"}]}]`

// chosenIDs are all requests in which clients choose ids.
var chosenIDs = map[string]chosenID{
	"a session":            {"POST /runtime/v1/sessions\n" + `{"id":"{id}","agent_id":"{agent}"}`, "GET /runtime/v1/sessions/{id}"},
	"an imported session":  {"POST /runtime/v1/sessions/import?id={id}&agent_id={agent}\n" + `{"version":1,"exported_at":"2026-01-01T00:00:00Z","session":{"id":"x","agent_id":"{agent}","state":"active","created_at":"2026-01-01T00:00:00Z"}}`, "GET /runtime/v1/sessions/{id}/export"},
	"a turn":               {"POST /runtime/v1/turns\n" + `{"id":"{id}","session_id":"{session}","agent_id":"{agent}",` + chosenInput + `}`, "GET /runtime/v1/turns/{id}/events"},
	"the agents API":       {"POST /agents/{agent}\n" + `{"data":{"message":{"content":[{"text":"hello"}]}},"init":{"sessionId":"{id}"}}`, ""},
	"a context":            {"POST /a2a/{agent}/message:send\n" + `{"message":{"contextId":"{id}","messageId":"{any}","role":"ROLE_USER","parts":[{"text":"hello"}]}}`, "GET /a2a/{agent}/tasks?contextId={id}"},
	"a message":            {"POST /a2a/{agent}/message:send\n" + `{"message":{"messageId":"{id}","role":"ROLE_USER","parts":[{"text":"hello"}]}}`, ""},
	"a push configuration": {"POST /a2a/{agent}/tasks/{task}/pushNotificationConfigs\n" + `{"id":"{id}","url":"{hookurl}"}`, "GET /a2a/{agent}/tasks/{task}/pushNotificationConfigs/{id}"},
	"an older context":     {"POST /a2a/{agent}/v0.3\n" + `{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"kind":"message","contextId":"{id}","messageId":"{any}","role":"user","parts":[{"kind":"text","text":"hello"}]}}}`, ""},
	"a workspace context":  {"POST /api/a2a/{workspace}/agents/{agent}\n" + `{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"contextId":"{id}","parts":[{"kind":"text","text":"hello"}]}}}`, ""},
	"a run of AG-UI":       {"POST /agui/{agent}\n" + `{"threadId":"{id}","runId":"{id}","messages":[{"id":"u","role":"user","content":"hello"}]}`, "GET /runtime/v1/turns/{id}/events"},
	"a chat of the AI SDK": {"POST /aisdk/{agent}\n" + `{"id":"{id}","messages":[{"id":"{id}","role":"user","parts":[{"type":"text","text":"hello"}]}]}`, ""},
	"a reference":          {"POST /api/v1/agent/sessions\n" + `{"clientRef":"{id}"}`, ""},
	"a schedule":           {"POST /workflow/schedules\n" + `{"id":"{id}","cron":"@yearly","target":{"agent":{"agent":"{agent}","prompt":"x"}}}`, "GET /workflow/schedules/{id}"},
	"an event trigger":     {"POST /workflow/event-triggers\n" + `{"id":"{id}","match":{"type":"t"},"target":{"agent":{"agent":"{agent}","prompt":"x"}}}`, "GET /workflow/event-triggers/{id}"},
	"an event of Gestalt":  {"POST /api/v1/workflow/events\n" + `{"id":"{id}","type":"nothing.matches"}`, ""},
	"an event":             {"POST /workflow/events\n" + `{"id":"{id}","type":"nothing.matches"}`, ""},
}

// variable matches parts that differ between any two answers: server-generated ids, and times.
var variable = regexp.MustCompile(`(run_)?[0-9a-f]{8}-[0-9a-f-]{27}|\d{4}-\d\d-\d\dT[0-9:.]+Z|"(duration_ms|durationMs|latency_ms|time_to_first_token_ms|input_tokens)":\d+`)

// TestAnIDOfSomebodyElseIsFree compares ids used by others with unused ids.
func TestAnIDOfSomebodyElseIsFree(t *testing.T) {
	t.Run("memory", func(t *testing.T) { testChosenIDs(t, "{driver: memory}") })
	t.Run("postgres", func(t *testing.T) {
		testChosenIDs(t, fmt.Sprintf("{driver: postgres, dsn: %q}", pgtest.Start(t).Database(t)))
	})
}

func testChosenIDs(t *testing.T, store string) {
	t.Helper()
	w := newTown(t, "agents: [nothing-*]", "agents: [second]", "store: {driver: memory}", "  second: {model_id: m, description: Helps.}\nstore: "+store)
	callers := map[string]struct {
		tenant, agent string
		header        http.Header
	}{
		"another tenant":                      {"globex", "clerk", bearer(w.token(t, "globex", "bob", w.scopes...))},
		"another subject":                     {"acme", "clerk", bearer(w.token(t, "acme", "ben", w.scopes...))},
		"a key of the subject's for an agent": {"acme", "second", bearer(eveKey)},
	}
	for name, chosen := range chosenIDs {
		t.Run(name, func(t *testing.T) {
			own := map[string]string{} // a session and a task of each caller
			prepare := func(agent string, header http.Header) (session, task string) {
				key := fmt.Sprint(header)
				if own[key] == "" {
					made := w.ask(t, http.MethodPost, "/runtime/v1/sessions", `{"agent_id":"`+agent+`"}`, header)
					sent := w.ask(t, http.MethodPost, "/a2a/"+agent+"/message:send", `{"message":{"messageId":"`+uuid.NewString()+`","role":"ROLE_USER","parts":[{"text":"hello"}]}}`, header)
					own[key] = field(t, made.body, "id") + " " + field(t, sent.body, "task", "id")
				}
				session, task, _ = strings.Cut(own[key], " ")
				return session, task
			}
			send := func(request, tenant, agent, id string, header http.Header) string {
				request = strings.NewReplacer("{id}", id, "{agent}", agent, "{workspace}", tenant, "{any}", uuid.NewString(), "{hookurl}", w.receiver).Replace(request)
				session, task := prepare(agent, header)
				request = strings.NewReplacer("{session}", session, "{task}", task).Replace(request)
				line, body, _ := strings.Cut(request, "\n")
				method, path, _ := strings.Cut(line, " ")
				headers := []http.Header{header}
				if strings.Contains(path, "/v0.3") {
					headers = append(headers, http.Header{"A2a-Version": {"0.3"}})
				}
				if strings.HasSuffix(path, "/events") && method == http.MethodGet {
					headers = append(headers, http.Header{"Accept": {"text/event-stream"}}) // which waits for the first one
				}
				got := w.ask(t, method, path, body, headers...)
				return fmt.Sprint(got.status, " ", variable.ReplaceAllString(strings.ReplaceAll(got.body, id, "ID"), "*"))
			}
			taken := "taken-" + uuid.NewString()[:8]
			ann := send(chosen.request, "acme", "clerk", taken, bearer(annKey))
			if !strings.HasPrefix(ann, "2") {
				t.Fatalf("the first one is told %s", ann)
			}
			for who, c := range callers {
				free := "free-" + uuid.NewString()[:8]
				for _, request := range []string{chosen.request, chosen.read, chosen.request} {
					if request == "" {
						continue
					}
					got, want := send(request, c.tenant, c.agent, taken, c.header), send(request, c.tenant, c.agent, free, c.header)
					if got != want || strings.Contains(got, "@") && !strings.Contains(got, "@yearly") {
						t.Errorf("%s: %s\nis told %s\nand for a free id %s", who, request, got, want)
					}
					if request == chosen.read && !strings.HasPrefix(got, "200") {
						t.Errorf("%s cannot read what it made: %s", who, got)
					}
				}
			}
		})
	}
}

// field returns a text in a JSON object.
func field(t *testing.T, body string, path ...string) string {
	t.Helper()
	var value any
	if err := json.Unmarshal([]byte(body), &value); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	for _, name := range path {
		object, _ := value.(map[string]any)
		value = object[name]
	}
	text, _ := value.(string)
	return text
}

// idFields are the id fields of requests, by route: the value is the request's name in chosenIDs,
// or empty if the field names an existing object.
var idFields = map[string]string{
	"post /runtime/v1/sessions id": "a session", "post /runtime/v1/turns id": "a turn",
	"post /workflow/schedules id": "a schedule", "post /workflow/event-triggers id": "an event trigger", "post /workflow/events id": "an event", "post /api/v1/workflow/events id": "an event of Gestalt",
	"post /v1/responses previous_response_id": "",
	"post /aisdk/{agent} id":                  "a chat of the AI SDK", "post /aisdk/{agent} messages[].id": "a chat of the AI SDK", "post /aisdk/{agent} message.id": "", "post /aisdk/{agent} messageId": "",
	"post /aisdk/{agent} messages[].parts[].toolCallId": "", "post /aisdk/{agent} message.parts[].toolCallId": "",
	"post /aisdk/{agent} messages[].parts[].approval.id": "", "post /aisdk/{agent} message.parts[].approval.id": "",
	"post /agui/{agent} threadId": "a run of AG-UI", "post /agui/{agent} runId": "a run of AG-UI", "post /agui/{agent} parentRunId": "",
	"post /agui/{agent} messages[].id": "", "post /agui/{agent} messages[].toolCallId": "", "post /agui/{agent} messages[].toolCalls[].id": "", "post /agui/{agent} resume[].interruptId": "",
	"put /workflow/schedules/{id} id": "", "put /workflow/event-triggers/{id} id": "",
	"post /runtime/v1/sessions agent_id": "", "post /runtime/v1/turns agent_id": "", "post /runtime/v1/turns model_id": "", "post /runtime/v1/turns session_id": "", "post /runtime/v1/turns snapshot_id": "",
	"post /api/v1/workspaces/{workspace}/agent-runs/{id}/tool-results toolUseId": "", "post /api/v1/workspaces/{workspace}/agent-runs/{id}/interactions/{interaction} id": "",
	"post /runtime/v1/turns/{turn}/interactions/{interaction} id": "", "post /runtime/v1/tenants/{tenant}/logins/{server}/finish id": "",
	"post /api/a2a/{workspace}/agents/{agent} id": "", "post /a2a/{agent} id": "", "post /a2a/{agent}/v0.3 id": "",
	"post /api/oauth/revoke client_id": "", "post /api/oauth/token client_id": "",
}

// TestEveryFieldWithAnIDIsKnown fails for a new id field of a request.
func TestEveryFieldWithAnIDIsKnown(t *testing.T) {
	w := newTown(t)
	var document struct {
		Paths      map[string]map[string]json.RawMessage
		Components struct{ Schemas map[string]map[string]any }
	}
	if err := json.Unmarshal([]byte(w.ask(t, http.MethodGet, "/openapi.json", "").body), &document); err != nil {
		t.Fatal(err)
	}
	for path, methods := range document.Paths {
		for method, raw := range methods {
			var operation struct {
				RequestBody struct {
					Content map[string]struct{ Schema map[string]any }
				}
			}
			_ = json.Unmarshal(raw, &operation) // common parameters are a list
			for _, content := range operation.RequestBody.Content {
				schema := content.Schema
				if ref, ok := schema["$ref"].(string); ok {
					schema = document.Components.Schemas[strings.TrimPrefix(ref, "#/components/schemas/")]
				}
				properties, _ := schema["properties"].(map[string]any)
				for _, name := range slices.Sorted(maps.Keys(properties)) {
					if name == "id" || strings.HasSuffix(name, "Id") || strings.HasSuffix(name, "_id") {
						at := method + " " + path + " " + name
						if chosen, ok := idFields[at]; !ok || chosen != "" && chosenIDs[chosen].request == "" {
							t.Errorf("%s: say in idFields whether clients choose it, and test it in chosenIDs", at)
						}
					}
				}
			}
		}
	}
}
