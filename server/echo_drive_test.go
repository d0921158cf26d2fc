package server_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/testkit/turntest"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/auth"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/dispatch/local"
	"github.com/agentruntime/agentruntime/store/memory"
)

// echoing returns a server of the echo surface, and keys by who shows them: desk may do
// all, mute has no scope, narrow may use another agent, and other is another subject.
func echoing(t *testing.T) *running {
	t.Helper()
	kept := memory.New(store.Settings{})
	s := service.New(service.Settings{Runtime: turntest.Asking(t), Store: kept, Dispatcher: local.New(local.Settings{Concurrency: 2})})
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Close()
		_ = kept.Close()
	})
	key := func(id string, caller service.Caller) auth.Key {
		caller.Tenant = "acme"
		return auth.Key{Hash: auth.HashKey(id + "-key"), Principal: &server.Principal{Caller: caller, KeyID: id}}
	}
	r := start(t, server.Settings{Limits: server.Limits{MaxBodyBytes: 1000}, Authenticator: auth.NewKeys([]auth.Key{
		key("desk", service.Caller{Subject: "desk"}), key("other", service.Caller{Subject: "other"}),
		key("mute", service.Caller{Subject: "desk", Scopes: []string{}}),
		key("narrow", service.Caller{Subject: "desk", Agents: service.NewAgentSet([]string{"another"})}),
	}, time.Now)})
	if err := r.Mount(t.Context(), &echoSurface{s}); err != nil {
		t.Fatal(err)
	}
	return r
}

// told asks as somebody, and wants a status.
func (r *running) told(t *testing.T, who, request, body string, want int) (h echoed) {
	t.Helper()
	got := r.ask(t, request, body, "X-Api-Key", who+"-key", "Content-Type", "application/json")
	if got.status != want {
		t.Fatalf("%s: %s gives %d %s", who, request, got.status, got.body)
	}
	if err := json.Unmarshal([]byte(got.body), &h); err != nil {
		t.Fatalf("%s: %s", request, got.body)
	}
	return h
}

// waiting returns a turn of desk once it waits.
func (r *running) waiting(t *testing.T, id string) echoed {
	t.Helper()
	for {
		var all heardList
		got := r.ask(t, "GET /echo", "", "X-Api-Key", "desk-key")
		if err := json.Unmarshal([]byte(got.body), &all); err != nil {
			t.Fatal(got.body)
		}
		for _, h := range all.All {
			if h.ID == id && len(h.Asks) > 0 {
				return h
			}
		}
	}
}

func TestAFourthSurfaceIsATranslation(t *testing.T) {
	t.Parallel()
	r := echoing(t)
	made := r.told(t, "desk", "POST /echo", `{"agent":"clerk","text":"go"}`, http.StatusOK)
	h := r.waiting(t, made.ID)
	for _, question := range h.Asks {
		r.told(t, "desk", "POST /echo/"+h.ID+"/reply", `{"question":"`+question+`","yes":true}`, http.StatusOK)
	}
	events := r.ask(t, "GET /echo/"+h.ID+"/stream", "", "X-Api-Key", "desk-key")
	if !strings.Contains(events.body, "run_finish") || !strings.Contains(events.body, "all done") {
		t.Errorf("the stream is %d %s", events.status, events.body)
	}
	if ended := r.told(t, "desk", "DELETE /echo/"+h.ID, "", http.StatusOK); ended.State != "succeeded" || ended.Answer != "all done" {
		t.Errorf("a turn that has ended is %+v", ended)
	}
	r = echoing(t) // whose agent has not said all that it has to say
	again := r.waiting(t, r.told(t, "desk", "POST /echo", `{"agent":"clerk","text":"go"}`, http.StatusOK).ID)
	if ended := r.told(t, "desk", "DELETE /echo/"+again.ID, "", http.StatusOK); ended.State != "canceled" {
		t.Errorf("a turn that is canceled is %+v", ended)
	}
}

func TestAFourthSurfaceIsHeldToWhatAllAre(t *testing.T) {
	t.Parallel()
	r := echoing(t)
	h := r.waiting(t, r.told(t, "desk", "POST /echo", `{"agent":"clerk","text":"go"}`, http.StatusOK).ID)
	about := func(method, rest string) string { return method + " /echo/" + h.ID + rest }
	for name, tt := range map[string]struct {
		who, request, body string
		status             int
	}{
		"nobody":               {"nobody", "GET /echo", "", http.StatusUnauthorized},
		"no scope":             {"mute", "GET /echo", "", http.StatusForbidden},
		"another subject":      {"other", about("DELETE", ""), "", http.StatusNotFound},
		"its stream":           {"other", about("GET", "/stream"), "", http.StatusNotFound},
		"its question":         {"other", about("POST", "/reply"), `{"question":"a"}`, http.StatusNotFound},
		"another agent's key":  {"narrow", about("DELETE", ""), "", http.StatusNotFound},
		"an agent not for it":  {"narrow", "POST /echo", `{"agent":"clerk","text":"x"}`, http.StatusBadRequest},
		"a field":              {"desk", "POST /echo", `{"agnet":"clerk"}`, http.StatusBadRequest},
		"a question not asked": {"desk", about("POST", "/reply"), `{"question":"z"}`, http.StatusNotFound},
		"a body too large":     {"desk", "POST /echo", `{"text":"` + strings.Repeat("x", 2000) + `"}`, http.StatusRequestEntityTooLarge},
	} {
		got := r.ask(t, tt.request, tt.body, "X-Api-Key", tt.who+"-key", "Content-Type", "application/json")
		if got.status != tt.status || !strings.Contains(got.body, `"code"`) {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
	}
	op := describedBy(t, r).Paths["/echo/{id}/reply"]["post"]
	if len(op.Security) != 2 || op.Security[0]["bearer"][0] != "runs:write" || op.Responses["429"] == nil {
		t.Errorf("it is described as %+v", op)
	}
}
