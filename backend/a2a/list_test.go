package a2a

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/backend/a2a/internal/client"
	"github.com/agentruntime/agentruntime/internal/testkit/peertest"
	"github.com/agentruntime/agentruntime/spec"
)

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
			var h *peertest.Host
			h = peertest.Listing(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("ETag", `"1"`)
				if r.Header.Get("If-None-Match") == `"1"` {
					w.WriteHeader(http.StatusNotModified)
					return
				}
				peertest.WriteJSON(w, wrap([]any{peertest.Named("Clerk_2", h.URL+"/one"), peertest.Named("Round  Table!", h.URL+"/two"), peertest.Named("c", h.URL+"/three")}))
			})
			agents, err := NewFactory(Settings{}).Discover(t.Context(), h.Source(""))
			if err != nil || ids(agents) != "Clerk_2 round-table c" {
				t.Fatalf("found %s, %v", ids(agents), err)
			}
			for i, at := range []string{"/one", "/two", "/three"} {
				p := reachPeer(t, agents[i].Endpoint)
				conn, err := p.Connect(t.Context())
				if err != nil || conn.Iface.URL != h.URL+at {
					t.Errorf("agent %s: %+v, %v", agents[i].ID, conn, err)
					continue
				}
				p.NoteError(&client.HTTPError{Status: http.StatusNotFound}) // the list is asked for again
				if again, err := p.Connect(t.Context()); err != nil || again != conn {
					t.Errorf("agent %s: a list that has not changed gives another card, %v", agents[i].ID, err)
				}
			}
		})
	}
}

// A server without a list has one card. A server that fails to answer is queried again later: its
// agents must not change because it was busy.
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
			agents, err := NewFactory(Settings{}).Discover(t.Context(), peertest.Listing(t, tt.list).Source(""))
			if ids(agents) != tt.want || tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
				t.Errorf("found %q, %v", ids(agents), err)
			}
		})
	}
}

// A list cannot bypass the limits on a single card, use much memory, or send a credential
// elsewhere.
func TestHostileLists(t *testing.T) {
	t.Parallel()
	elsewhere := peertest.NewHost(t)
	for name, tt := range map[string]struct {
		cards func(h *peertest.Host) any
		want  string
		err   string
	}{
		"10,000 cards": {func(*peertest.Host) any {
			cards := make([]any, 10_000)
			for i := range cards {
				cards[i] = map[string]string{"name": fmt.Sprint("a", i)}
			}
			return cards
		}, "", "the list has 10000 cards; allowed are 256"},
		"a huge list": {func(*peertest.Host) any { return []any{strings.Repeat("x", client.MaxList)} }, "", "the list of agent cards of the peer is larger than 4194304 bytes"},
		"a huge card": {func(h *peertest.Host) any {
			huge := peertest.Named("huge", h.URL)
			huge.Description = strings.Repeat("x", client.MaxCard)
			return []any{huge, peertest.Named("a", h.URL)}
		}, "a", ""},
		"two of one name": {func(h *peertest.Host) any { return []any{peertest.Named("a", h.URL), peertest.Named("a", h.URL+"/b")} }, "", `the list has two agents "a"`},
		"two that give one id": {func(h *peertest.Host) any {
			return []any{peertest.Named("a b", h.URL), peertest.Named("a--b", h.URL), peertest.Named("A b", h.URL)}
		}, "", `the list has two agents "a-b"`},
		"a name that is a path": {func(h *peertest.Host) any { return []any{peertest.Named("other/agent", h.URL)} }, "other-agent", ""},
		"no names": {func(h *peertest.Host) any {
			return []any{peertest.Named("", h.URL), peertest.Named("!!!", h.URL), nil, 1, "a"}
		}, "", "the list has no card that can be used"},
		"nothing": {func(*peertest.Host) any { return []any{} }, "", "the list has no card that can be used"},
		"agents elsewhere": {func(h *peertest.Host) any {
			return []any{peertest.Named("a", elsewhere.URL), peertest.Named("b", h.URL)}
		}, "b", ""},
		"cards elsewhere": {func(*peertest.Host) any {
			return []any{map[string]string{"id": "a", "agentCardUrl": elsewhere.URL + "/card.json"}, map[string]string{"id": "b", "agentCardUrl": "/card.json"}}
		}, "b", ""},
		"cards that are no URL": {func(*peertest.Host) any {
			return []any{map[string]string{"id": "a", "agentCardUrl": "file:///etc/passwd"}, map[string]string{"id": "b", "agentCardUrl": "http://x@y/"}}
		}, "", "the list has no card that can be used"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var h *peertest.Host
			h = peertest.Listing(t, func(w http.ResponseWriter, _ *http.Request) {
				peertest.WriteJSON(w, map[string]any{"agents": tt.cards(h)})
			})
			agents, err := NewFactory(Settings{}).Discover(t.Context(), h.Source(""))
			if ids(agents) != tt.want || tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
				t.Errorf("found %q, %v", ids(agents), err)
			}
		})
	}
	if n := len(elsewhere.Seen()); n != 0 {
		t.Errorf("another server was asked %d times", n)
	}
}

// An entry points to its agent's card.
func TestAListMayPointToItsCards(t *testing.T) {
	t.Parallel()
	var h *peertest.Host
	h = peertest.Listing(t, func(w http.ResponseWriter, _ *http.Request) {
		peertest.WriteJSON(w, map[string]any{"agents": []any{map[string]string{"id": "clerk", "description": "Answers.", "agentCardUrl": h.URL + "/clerk" + client.WellKnown}}})
	})
	agents, err := NewFactory(Settings{}).Discover(t.Context(), h.Source(`{"card_list":"/discovery"}`))
	if err != nil || ids(agents) != "clerk" || agents[0].Description != "Answers." {
		t.Fatalf("found %s, %v", ids(agents), err)
	}
	if conn, err := reachPeer(t, agents[0].Endpoint).Connect(t.Context()); err != nil || conn.Card.Name != "Translator" {
		t.Errorf("%+v, %v", conn, err)
	}
	last := h.Seen()[len(h.Seen())-1]
	if last.URL.Path != "/clerk"+client.WellKnown || last.Header.Get("Authorization") != "Bearer hush-hush" {
		t.Errorf("it asks %s with %q", last.URL, last.Header)
	}
}

// An agent that is no longer listed, or is listed twice, is not called.
func TestAnAgentThatLeavesItsListIsNotCalled(t *testing.T) {
	t.Parallel()
	var h *peertest.Host
	var names []string
	h = peertest.Listing(t, func(w http.ResponseWriter, _ *http.Request) {
		cards := []any{}
		for _, name := range names {
			cards = append(cards, peertest.Named(name, h.URL))
		}
		peertest.WriteJSON(w, cards)
	})
	for _, tt := range []struct{ names, want string }{
		{"a b", ""}, {"b", `the list has no agent "a"`}, {"a b a", `the list has two agents "a"`},
	} {
		names = strings.Fields(tt.names)
		e := h.Endpoint(`{"card_list":"/.well-known/agents.json"}`)
		e.Target = "a"
		_, err := reachPeer(t, e).Connect(t.Context())
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("a list of %s: %v", tt.names, err)
		}
	}
}
