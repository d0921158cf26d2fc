package a2abackend

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/spec"
)

// listing returns a host that answers the request for its list, and one for a
// card, as the test says; calls go to it, too.
func listing(t *testing.T, list http.HandlerFunc) *host {
	t.Helper()
	h := newHost(t)
	h.answer(nil, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, wellKnownList) || r.URL.Path == "/discovery" {
			list(w, r)
			return
		}
		taskNotFound(w, r)
	})
	return h
}

func named(name, url string) *a2a.AgentCard {
	card := cardOf(url)
	card.Name = name
	return card
}

func (h *host) source(options string) *spec.RemoteSource {
	return &spec.RemoteSource{
		Name: "cloud", BaseURL: h.URL, Auth: &spec.Auth{Type: spec.AuthBearer, Token: "hush-hush"}, Options: h.endpoint(options).Options,
	}
}

func ids(agents []*spec.Agent) string {
	var list []string
	for _, a := range agents {
		list = append(list, a.ID)
	}
	return strings.Join(list, " ")
}

// Each agent of a list is found, and reached as its own card says.
func TestASourceHasTheAgentsOfItsList(t *testing.T) {
	t.Parallel()
	for form, wrap := range map[string]func(cards []any) any{
		"an object": func(cards []any) any { return map[string]any{"agents": cards, "more": 1} },
		"an array":  func(cards []any) any { return cards },
	} {
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			var h *host
			h = listing(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("ETag", `"1"`)
				if r.Header.Get("If-None-Match") == `"1"` {
					w.WriteHeader(http.StatusNotModified)
					return
				}
				writeJSON(w, wrap([]any{named("Clerk_2", h.URL+"/one"), named("Round  Table!", h.URL+"/two"), named("c", h.URL+"/three")}))
			})
			agents, err := NewFactory(Settings{}).Discover(t.Context(), h.source(""))
			if err != nil || ids(agents) != "Clerk_2 round-table c" {
				t.Fatalf("found %s, %v", ids(agents), err)
			}
			for i, at := range []string{"/one", "/two", "/three"} {
				p := reach(t, agents[i].Endpoint)
				conn, err := p.connect(t.Context())
				if err != nil || conn.iface.URL != h.URL+at {
					t.Errorf("agent %s: %+v, %v", agents[i].ID, conn, err)
					continue
				}
				p.cards.mu.Lock()
				p.cards.expires = time.Time{} // the list is asked for again
				p.cards.mu.Unlock()
				if again, err := p.connect(t.Context()); err != nil || again != conn {
					t.Errorf("agent %s: a list that has not changed gives another card, %v", agents[i].ID, err)
				}
			}
		})
	}
}

// A server without a list has one card. One that cannot say whether it has a list
// is asked again later: its agents must not change because it was busy.
func TestWhatAServerWithoutAListHas(t *testing.T) {
	t.Parallel()
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
	}
	body := func(kind, text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			_, _ = w.Write([]byte(text))
		}
	}
	for name, tt := range map[string]struct {
		list http.HandlerFunc
		want string
		err  string
	}{
		"404":              {status(404), "translator", ""},
		"403":              {status(403), "translator", ""},
		"a redirect":       {status(302), "translator", ""},
		"a page":           {body("text/html", "<html>"), "translator", ""},
		"another object":   {body("application/json", `{"error":"not found"}`), "translator", ""},
		"no JSON":          {body("application/json", `<html>`), "translator", ""},
		"agents of a kind": {body("application/json", `{"agents":{"a":1}}`), "translator", ""},
		"500":              {status(500), "", "fetch the list of agent cards: the peer answers 500"},
		"429":              {status(429), "", "fetch the list of agent cards: the peer answers 429"},
		"a broken answer":  {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "", "fetch the list of agent cards"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			agents, err := NewFactory(Settings{}).Discover(t.Context(), listing(t, tt.list).source(""))
			if ids(agents) != tt.want || tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
				t.Errorf("found %q, %v", ids(agents), err)
			}
		})
	}
}

// A list cannot make the runtime take what a card by itself cannot, use much
// memory, or send a credential elsewhere.
func TestHostileLists(t *testing.T) {
	t.Parallel()
	elsewhere := newHost(t)
	for name, tt := range map[string]struct {
		cards func(h *host) any
		want  string
		err   string
	}{
		"10,000 cards": {func(*host) any {
			cards := make([]any, 10_000)
			for i := range cards {
				cards[i] = map[string]string{"name": fmt.Sprint("a", i)}
			}
			return cards
		}, "", "the list has 10000 cards; allowed are 256"},
		"a huge list": {func(*host) any { return []any{strings.Repeat("x", maxList)} }, "", "the list of agent cards of the peer is larger than 4194304 bytes"},
		"a huge card": {func(h *host) any {
			huge := named("huge", h.URL)
			huge.Description = strings.Repeat("x", maxCard)
			return []any{huge, named("a", h.URL)}
		}, "a", ""},
		"two of one name":       {func(h *host) any { return []any{named("a", h.URL), named("a", h.URL+"/b")} }, "", `the list has two agents "a"`},
		"two that give one id":  {func(h *host) any { return []any{named("a b", h.URL), named("a--b", h.URL), named("A b", h.URL)} }, "", `the list has two agents "a-b"`},
		"a name that is a path": {func(h *host) any { return []any{named("other/agent", h.URL)} }, "other-agent", ""},
		"no names":              {func(h *host) any { return []any{named("", h.URL), named("!!!", h.URL), nil, 1, "a"} }, "", "the list has no card that can be used"},
		"nothing":               {func(*host) any { return []any{} }, "", "the list has no card that can be used"},
		"agents elsewhere":      {func(h *host) any { return []any{named("a", elsewhere.URL), named("b", h.URL)} }, "b", ""},
		"cards elsewhere": {func(*host) any {
			return []any{map[string]string{"id": "a", "agentCardUrl": elsewhere.URL + "/card.json"}, map[string]string{"id": "b", "agentCardUrl": "/card.json"}}
		}, "b", ""},
		"cards that are no URL": {func(*host) any {
			return []any{map[string]string{"id": "a", "agentCardUrl": "file:///etc/passwd"}, map[string]string{"id": "b", "agentCardUrl": "http://x@y/"}}
		}, "", "the list has no card that can be used"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var h *host
			h = listing(t, func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, map[string]any{"agents": tt.cards(h)}) })
			agents, err := NewFactory(Settings{}).Discover(t.Context(), h.source(""))
			if ids(agents) != tt.want || tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
				t.Errorf("found %q, %v", ids(agents), err)
			}
		})
	}
	if n := len(elsewhere.seen()); n != 0 {
		t.Errorf("another server was asked %d times", n)
	}
}

// What an entry points to is the card of its agent.
func TestAListMayPointToItsCards(t *testing.T) {
	t.Parallel()
	var h *host
	h = listing(t, func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, map[string]any{"agents": []any{map[string]string{"id": "clerk", "description": "Answers.", "agentCardUrl": h.URL + "/clerk" + wellKnown}}})
	})
	agents, err := NewFactory(Settings{}).Discover(t.Context(), h.source(`{"card_list":"/discovery"}`))
	if err != nil || ids(agents) != "clerk" || agents[0].Description != "Answers." {
		t.Fatalf("found %s, %v", ids(agents), err)
	}
	if conn, err := reach(t, agents[0].Endpoint).connect(t.Context()); err != nil || conn.card.Name != "Translator" {
		t.Errorf("%+v, %v", conn, err)
	}
	last := h.seen()[len(h.seen())-1]
	if last.URL.Path != "/clerk"+wellKnown || last.Header.Get("Authorization") != "Bearer hush-hush" {
		t.Errorf("it asks %s with %q", last.URL, last.Header)
	}
}

// An agent that is no longer listed, or is listed twice, is not called.
func TestAnAgentThatLeavesItsListIsNotCalled(t *testing.T) {
	t.Parallel()
	var h *host
	var names []string
	h = listing(t, func(w http.ResponseWriter, _ *http.Request) {
		cards := []any{}
		for _, name := range names {
			cards = append(cards, named(name, h.URL))
		}
		writeJSON(w, cards)
	})
	for _, tt := range []struct{ names, want string }{
		{"a b", ""}, {"b", `the list has no agent "a"`}, {"a b a", `the list has two agents "a"`},
	} {
		names = strings.Fields(tt.names)
		e := h.endpoint(`{"card_list":"/.well-known/agents.json"}`)
		e.Target = "a"
		_, err := reach(t, e).connect(t.Context())
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("a list of %s: %v", tt.names, err)
		}
	}
}

// Each agent of a list is examined, with what is wrong with it.
func TestTheAgentsOfAListAreExamined(t *testing.T) {
	t.Parallel()
	var h *host
	h = listing(t, func(w http.ResponseWriter, _ *http.Request) {
		bad := named("bad", "https://elsewhere.example/")
		writeJSON(w, map[string]any{"agents": []any{named("good", h.URL), bad, named("twin", h.URL), named("twin", h.URL), named("", h.URL)}})
	})
	found, err := NewFactory(Settings{}).Examine(t.Context(), h.endpoint(""), nil)
	if err != nil {
		t.Fatal(err)
	}
	has := func(name, text string) bool {
		return slices.ContainsFunc(found.Checks, func(c backend.Check) bool { return c.Name == name && strings.Contains(c.Seen, text) })
	}
	for name, text := range map[string]string{
		"card list": "5 agents at", "good: choice": "the runtime speaks JSONRPC", "bad: choice": "no interface of it can be used",
	} {
		if !has(name, text) {
			t.Errorf("no check %q says %q: %+v", name, text, found.Checks)
		}
	}
	if !has("card list", `two agents "twin"`) || !has("card list", "card 4 has no name") {
		t.Errorf("the checks are %+v", found.Checks)
	}
	if raw, err := json.Marshal(found); err != nil || strings.Contains(string(raw), "twin: choice") {
		t.Errorf("%s, %v", raw, err)
	}
}
