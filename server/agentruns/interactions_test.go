package agentruns

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/plugins/permission"
	"github.com/agentruntime/agentruntime/spec"
	clienttool "github.com/agentruntime/agentruntime/tools/client"
)

// guarded declares an agent whose calls of weather a person has to approve.
func guarded(s *setup) {
	s.more = func(b *builder.AgentRuntimeBuilder) {
		b.WithAvailablePlugin("permission", permission.New()).WithAgentSpec(spec.Agent{
			ID: "guard", Description: "Asks first.", ModelID: "fast", PluginIDs: []string{"permission"},
			Sections: spec.Sections{"permission": json.RawMessage(`{"default_behavior":"allow","rules":[{"tool":"weather","behavior":"ask"},{"tool":"look*","behavior":"ask"}]}`)},
		})
	}
}

// guardedRun begins a run of the guarded agent.
func (w *world) guardedRun(order, more string) string {
	w.t.Helper()
	id, _ := w.must(http.StatusAccepted, http.MethodPost, "/agent-runs", fmt.Sprintf(`{"agentId":"guard","prompt":%q%s}`, order, more))["runId"].(string)
	return id
}

// awaited follows a run until it asks for something that is not for its client.
func (w *world) awaited(id string) map[string]any {
	w.t.Helper()
	for ev, err := range w.follow(id, "") {
		if err != nil {
			w.t.Fatal(err)
		}
		if ev.eventKind() == typeInteraction {
			return ev.data
		}
	}
	w.t.Fatal("the run asks for nothing")
	return nil
}

func TestARunThatWaitsForAnApprovalSaysSoAndIsAnswered(t *testing.T) {
	t.Parallel()
	w := serving(t, guarded)
	for _, tt := range []struct{ name, answer, kinds, said string }{
		{"approved", `{"result":{"approved":true}}`, "started assistant_message tool_call interaction_requested interaction_resolved tool_result assistant_delta assistant_message result", "sunny"},
		{"not approved", `{"action":"resume","result":{"approved":false,"reason":"too late"}}`, "started assistant_message tool_call interaction_requested interaction_resolved tool_result assistant_delta assistant_message result", "too late"},
		{"refused", `{"action":"cancel","reason":"not today"}`, "started assistant_message tool_call interaction_requested interaction_resolved tool_result assistant_delta assistant_message result", "not today"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			id := w.guardedRun("use weather", "")
			asked := w.awaited(id)
			request, _ := asked["interactionId"].(string)
			if asked["action"] != permission.Action || asked["name"] != "weather" || asked["toolUseId"] == "" || !strings.Contains(fmt.Sprint(asked["message"]), "weather") || asked["responseSchema"] == nil {
				t.Errorf("it asks for %v", asked)
			}
			view := w.must(http.StatusOK, http.MethodGet, "/agent-runs/"+id, "")
			list, _ := view["pendingInteractions"].([]any)
			if view["status"] != "running" || len(list) != 1 {
				t.Fatalf("it is read as %v", view)
			}
			pending, _ := list[0].(map[string]any)
			for field, value := range asked["data"].(map[string]any) {
				if !reflect.DeepEqual(pending[field], value) {
					t.Errorf("%s is %v in the event and %v in the snapshot", field, value, pending[field])
				}
			}
			if _, err := time.Parse(time.RFC3339Nano, fmt.Sprint(pending["expiresAt"])); err != nil || pending["createdAt"] == nil {
				t.Errorf("it is pending as %v", pending)
			}
			w.must(http.StatusOK, http.MethodPost, "/agent-runs/"+id+"/interactions/"+request, tt.answer)
			events := w.events(id, "")
			checkPayloads(t, events)
			if got := deltasAsOne(kinds(events)); got != tt.kinds {
				t.Errorf("the events are %s", got)
			}
			if last := events[len(events)-1].data; !strings.Contains(fmt.Sprint(last["text"]), tt.said) {
				t.Errorf("it ends with %v", last)
			}
			w.must(http.StatusOK, http.MethodPost, "/agent-runs/"+id+"/interactions/"+request, tt.answer) // the same again
			if view := w.must(http.StatusOK, http.MethodGet, "/agent-runs/"+id, ""); fmt.Sprint(view["pendingInteractions"]) != "[]" {
				t.Errorf("it is read as %v", view)
			}
		})
	}
}

func TestAnAnswerToAnInteractionMayBeRefused(t *testing.T) {
	t.Parallel()
	w := serving(t, guarded)
	lax := w.beyond()
	id := w.guardedRun("use weather", "")
	request, _ := w.awaited(id)["interactionId"].(string)
	at := "/agent-runs/" + id + "/interactions/"
	const yes = `{"result":{"approved":true}}`
	check := func(as, path, body string, status int, code string) {
		t.Helper()
		lax.as = as
		got, answer := lax.do(http.MethodPost, path, body)
		if got != status || answer["code"] != code || fmt.Sprint(answer["hint"]) == "" {
			t.Errorf("%s %s %s: %d %v", as, path, body, got, answer)
		}
	}
	base := "/api/v1/workspaces/"
	check("ann", base+"alices"+at+request, yes, http.StatusNotFound, "not_found")
	check("bob", base+"bobs"+at+request, yes, http.StatusNotFound, "not_found")
	check("bob", base+"alices"+at+request, yes, http.StatusNotFound, "not_found")
	check("al", base+"alices"+at+request, yes, http.StatusNotFound, "not_found") // whose key is for another agent
	check("joe", base+"joes"+at+request, yes, http.StatusForbidden, "insufficient_scope")
	check("alice", "/agent-runs/none/interactions/"+request, "no JSON", http.StatusNotFound, "not_found")
	check("alice", at+"none", yes, http.StatusNotFound, "unknown_interaction")
	for _, body := range []string{
		"", "no JSON", "[]", "{}", `{"result":null}`, `{"result":{"approved":"yes"}}`, `{"result":{"approved":true,"more":1}}`, `{"result":"yes"}`,
		`{"action":"allow"}`, `{"action":1}`, `{"id":1,"result":{"approved":true}}`, `{"reason":[],"result":{"approved":true}}`,
		`{"resul":{"approved":true}}`, `{"result":{"approved":true},"result":{"approved":true}}`, `{"result":{"approved":true},"arguments":1}`,
	} {
		check("alice", at+request, body, http.StatusBadRequest, "invalid_request")
	}
	lax.as = "alice"
	answer := lax.must(http.StatusOK, http.MethodPost, at+request, `{"result":{"approved":true},"by":"ann"}`)
	if !strings.Contains(fmt.Sprint(answer["warnings"]), "by") {
		t.Errorf("it is answered with %v", answer)
	}
	check("alice", at+request, `{"result":{"approved":false}}`, http.StatusConflict, "answered")
	w.events(id, "")
	check("alice", at+request, `{"result":{"approved":false}}`, http.StatusConflict, "answered")
	check("alice", at+"none", yes, http.StatusNotFound, "unknown_interaction")
	over := w.guardedRun("use weather", "")
	request, _ = w.awaited(over)["interactionId"].(string)
	w.must(http.StatusOK, http.MethodPost, "/agent-runs/"+over+"/cancel", "")
	check("alice", "/agent-runs/"+over+"/interactions/"+request, yes, http.StatusConflict, "run_terminal")
}

// TestACallOfTheClientThatNeedsAnApproval is asked for twice: first somebody has to
// approve it, and then the client makes it. Either is pending in the snapshot.
func TestACallOfTheClientThatNeedsAnApproval(t *testing.T) {
	t.Parallel()
	w := serving(t, guarded)
	id := w.guardedRun("use look", lookRef)
	request, _ := w.awaited(id)["interactionId"].(string)
	w.must(http.StatusOK, http.MethodPost, "/agent-runs/"+id+"/interactions/"+request, `{"result":{"approved":true}}`)
	list := w.answered(id, func(call map[string]any) string {
		view := w.must(http.StatusOK, http.MethodGet, "/agent-runs/"+id, "")
		pending, _ := view["pendingInteractions"].([]any)
		if len(pending) != 1 || pending[0].(map[string]any)["toolUseId"] != call["toolUseId"] || pending[0].(map[string]any)["action"] != clienttool.Action {
			t.Errorf("it is read as %v", view)
		}
		return `,"result":"seen"`
	})
	if got := deltasAsOne(kinds(list)); got != "started assistant_message interaction_requested interaction_resolved local_tool_call local_tool_result_in assistant_delta assistant_message result" {
		t.Errorf("the events are %s", got)
	}
	checkPayloads(t, list)
}

func TestAnApprovalThatNobodyGivesEndsTheRun(t *testing.T) {
	t.Parallel()
	w := serving(t, guarded, func(s *setup) { s.settings.LocalToolTimeout = 50 * time.Millisecond })
	list := w.events(w.guardedRun("use weather", ""), "")
	last := list[len(list)-1].data
	if last["type"] != typeError || last["errorClass"] != classLocalTimeout || last["error"] != "Timed out waiting for the answer to an interaction" || last["subtype"] != nil {
		t.Errorf("it ends with %v", last)
	}
}
