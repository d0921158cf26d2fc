package sessions

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
)

// idsOf returns the ids of a list of anybody.
func (w *world) idsOf(name, path string) []string {
	w.t.Helper()
	status, text := w.ask(name, "GET "+path, "")
	var list []struct{ ID string }
	if err := json.Unmarshal([]byte(text), &list); err != nil || status != http.StatusOK {
		w.t.Fatalf("%s: %d %s", path, status, text)
	}
	ids := make([]string, len(list))
	for i := range list {
		ids[i] = list[i].ID
	}
	return ids
}

// TestASummaryIsTheWholeWithoutItsMetadata holds that summaries, which are decoded in
// another way, show the rest of a session as it is.
func TestASummaryIsTheWholeWithoutItsMetadata(t *testing.T) {
	t.Parallel()
	w := serving(t, twoProviders)
	for _, body := range []string{"", `{"clientRef":"r\"1"}`, `{"provider":"plain","model":"fast","metadata":{"agent_sessions":{"provider":"x"},"provider":"y"}}`, `{"metadata":{}}`} {
		do[sessionView](w, "POST /agent/sessions", body)
	}
	whole, short := do[[]sessionView](w, "GET /agent/sessions", ""), do[[]sessionView](w, "GET /agent/sessions?view=summary", "")
	if len(whole) != 4 {
		t.Fatalf("there are %d sessions", len(whole))
	}
	for i := range whole {
		whole[i].Metadata = nil
	}
	if !reflect.DeepEqual(whole, short) {
		t.Errorf("the summaries are\n%+v\nthe sessions are\n%+v", short, whole)
	}
}

func TestListsHaveWhatTheirQueryAsksFor(t *testing.T) {
	t.Parallel()
	w := serving(t, twoProviders)
	var sessions, turns []string
	for range 103 {
		sessions = append(sessions, do[sessionView](w, "POST /agent/sessions", `{"metadata":{"a":1}}`).ID)
	}
	slices.Reverse(sessions)
	for i := range 3 {
		turns = append(turns, w.until(w.say(sessions[102], fmt.Sprint("hi ", i), "").ID, "succeeded").ID)
	}
	slices.Reverse(turns)
	ofTurns := "/agent/sessions/" + sessions[102] + "/turns"
	// The session with the turns is the one with the latest activity.
	sessions = append([]string{sessions[102]}, sessions[:102]...)
	for path, want := range map[string][]string{
		"/agent/sessions":                              sessions,
		"/agent/sessions?view=full":                    sessions,
		"/agent/sessions?summary=false":                sessions,
		"/agent/sessions?view=summary":                 sessions[:100],
		"/agent/sessions?summary=true":                 sessions[:100],
		"/agent/sessions?summary=1&view=summary":       sessions[:100],
		"/agent/sessions?view=summary&limit=103":       sessions,
		"/agent/sessions?limit=2":                      sessions[:2],
		"/agent/sessions?limit=500":                    sessions,
		"/agent/sessions?state=archived":               {},
		"/agent/sessions?provider=plain":               {},
		ofTurns:                                        turns,
		ofTurns + "?limit=1":                           turns[:1],
		ofTurns + "?view=summary&limit=2":              turns[:2],
		ofTurns + "?status=succeeded":                  turns,
		ofTurns + "?status=canceled":                   {},
		ofTurns + "?status=waiting_for_input":          {},
		ofTurns + "?status=succeeded&view=full":        turns,
		"/agent/sessions?view=summary&limit=1":         sessions[:1],
		"/agent/sessions?provider=clerk&limit=3":       sessions[:3],
		"/agent/sessions?state=active&limit=3":         sessions[:3],
		"/agent/sessions?state=active&provider=":       sessions,
		"/agent/turns/" + turns[0] + "/events?limit=1": {turns[0] + ":1"},
	} {
		if got := w.idsOf("alice", path); !slices.Equal(got, want) {
			t.Errorf("%s has %d entries and should have %d: %v", path, len(got), len(want), got)
		}
	}
	for _, path := range []string{ofTurns, "/agent/sessions"} {
		for query, text := range map[string]string{
			"limit=": "limit must be between 1 and 500", "limit=-1": "limit must be between 1 and 500", "limit=1.0": "limit must be between 1 and 500",
			"limit=99999999999999999999": "limit must be between 1 and 500", "summary=yes": "summary must be a boolean", "view=Full": "view must be full or summary",
			"view=full&summary=true": "contradict",
		} {
			if status, got := w.ask("alice", "GET "+path+"?"+query, ""); status != http.StatusBadRequest || !strings.Contains(got, text) {
				t.Errorf("%s?%s: %d %s", path, query, status, got)
			}
		}
	}
	if short := do[[]sessionView](w, "GET /agent/sessions?view=summary&limit=2", ""); short[1].Metadata != nil {
		t.Errorf("the short form has the metadata %v", short[1].Metadata)
	}
}

func TestStatesChangeAsTheyMay(t *testing.T) {
	t.Parallel()
	w := serving(t, twoProviders)
	s := do[sessionView](w, "POST /agent/sessions", `{"metadata":{"a":1}}`)
	for _, state := range []string{"archived", "archived", "active"} {
		if got := do[sessionView](w, "PATCH /agent/sessions/"+s.ID, `{"state":"`+state+`"}`); string(got.State) != state || len(got.Metadata) != 1 {
			t.Errorf("it is %+v and should be %s", got, state)
		}
	}
	done := w.until(w.say(s.ID, "hi", "").ID, "succeeded")
	if after := do[turnView](w, "POST /agent/turns/"+done.ID+"/cancel", `{"reason":"late"}`); after.Status != "succeeded" || after.StatusMessage != "" {
		t.Errorf("a turn that ended is canceled: %+v", after)
	}
	if seen := do[sessionView](w, "GET /agent/sessions/"+s.ID, ""); seen.LastTurnAt.IsZero() {
		t.Error("the session does not know of its turn")
	}
	asks := w.until(w.say(s.ID, "pay", `,"toolRefs":[{"plugin":"pay"}]`).ID, "waiting_for_input")
	asked := do[[]interactionView](w, "GET /agent/turns/"+asks.ID+"/interactions", "")[0]
	if ended := do[turnView](w, "POST /agent/turns/"+asks.ID+"/cancel", ""); ended.Status != "canceled" || ended.StatusMessage != "canceled" {
		t.Errorf("it ended as %+v", ended)
	}
	if left := do[[]interactionView](w, "GET /agent/turns/"+asks.ID+"/interactions", ""); len(left) != 1 || left[0].State != "canceled" {
		t.Errorf("it still asks %+v", left)
	}
	if status, text := w.ask("alice", "POST /agent/turns/"+asks.ID+"/interactions/"+asked.ID+"/resolve", `{"resolution":{"approved":true}}`); status != http.StatusConflict {
		t.Errorf("what was canceled is resolved: %d %s", status, text)
	}
}

func TestKeysAreOfTheirSessionAndCaller(t *testing.T) {
	t.Parallel()
	w := serving(t, twoProviders)
	key := []string{"Idempotency-Key", "k"}
	first := do[sessionView](w, "POST /agent/sessions", "", key...)
	if other := do[sessionView](w, "POST /agent/sessions", `{"provider":"plain"}`, key...); other.ID == first.ID {
		t.Error("the key of another provider is the same")
	}
	if status, text := w.ask("bob", "POST /agent/sessions", "", key...); status != http.StatusCreated || strings.Contains(text, first.ID) {
		t.Errorf("the key of another caller: %d %s", status, text)
	}
	if status, text := w.ask("alice", "POST /agent/sessions", `{"clientRef":"x"}`, key...); status != http.StatusConflict {
		t.Errorf("another body: %d %s", status, text)
	}
	second := do[sessionView](w, "POST /agent/sessions", "")
	body := `{"messages":[{"role":"user","text":"hi"}]}`
	ids := make([]string, 8)
	var replays sync.WaitGroup
	for i := range ids {
		replays.Go(func() {
			status, text := w.ask("alice", "POST /agent/sessions/"+first.ID+"/turns", body, key...)
			var made turnView
			if err := json.Unmarshal([]byte(text), &made); err != nil || status != http.StatusCreated {
				t.Errorf("%d %s", status, text)
			}
			ids[i] = made.ID
		})
	}
	replays.Wait()
	if slices.Sort(ids); len(slices.Compact(ids)) != 1 {
		t.Errorf("there are the turns %v", ids)
	}
	if other := do[turnView](w, "POST /agent/sessions/"+second.ID+"/turns", body, key...); other.ID == ids[0] {
		t.Error("the key of another session is the same")
	}
}

func TestOddRequestsAreRefusedOrIgnored(t *testing.T) {
	t.Parallel()
	w := serving(t, twoProviders)
	s := do[sessionView](w, "POST /agent/sessions", "")
	turn := w.until(w.say(s.ID, "größe 🙂 \\u0000x", "").ID, "succeeded")
	turns, hi := "POST /agent/sessions/"+s.ID+"/turns", `{"messages":[{"role":"user","text":"hi"}]`
	for name, tt := range map[string]struct {
		request, body string
		status        int
	}{
		"a key twice":            {turns, hi + `,"model":"fast","model":"deep"}`, 400},
		"nested too deep":        {turns, hi + `,"metadata":` + strings.Repeat("[", 2000) + strings.Repeat("]", 2000) + `}`, 400},
		"no UTF-8":               {turns, "{\"messages\":[{\"role\":\"user\",\"text\":\"\xff\xfe\"}]}", 400},
		"half a pair":            {turns, `{"messages":[{"role":"user","text":"\ud800"}]}`, 201},
		"something after it":     {turns, hi + `} {}`, 400},
		"null":                   {turns, `null`, 400},
		"a message that is null": {turns, `{"messages":[null]}`, 400},
		"a part that is null":    {turns, `{"messages":[{"role":"user","parts":[null]}]}`, 400},
		"a role in capitals":     {turns, `{"messages":[{"role":"User","text":"hi"}]}`, 400},
		"a long key":             {turns, hi + `,"idempotencyKey":"` + strings.Repeat("k", 256) + `"}`, 400},
		"too large":              {turns, hi + `,"metadata":"` + strings.Repeat("x", 5<<20) + `"}`, 413},
		"much metadata":          {"POST /agent/sessions", `{"metadata":{"a":"` + strings.Repeat("x", 1<<20) + `"}}`, 400},
		"an image of a tool":     {turns, `{"messages":[{"role":"tool","parts":[{"type":"image_ref","imageRef":{"uri":"https://x.example/a.png"}}]}]}`, 400},
		"an image at http":       {turns, `{"messages":[{"role":"user","parts":[{"type":"image_ref","imageRef":{"uri":"http://x.example/a.png"}}]}]}`, 400},
		"an image on disk":       {turns, `{"messages":[{"role":"user","parts":[{"type":"image_ref","imageRef":{"uri":"file:///etc/passwd"}}]}]}`, 400},
		"an image of before":     {turns, `{"messages":[{"role":" user ","parts":[{"type":"image_ref","imageRef":{"uri":"https://x.example/a.png"}}]},{"role":"assistant","text":"a cat"},{"role":"user","text":"hi"}]}`, 201},
		"a blank key":            {turns, hi + `,"idempotencyKey":" "}`, 201},
		"a schema that is none":  {turns, hi + `,"responseSchema":{"type":5}}`, 400},
		"a session of Unicode":   {"GET /agent/sessions/%F0%9F%99%82", "", 404},
		"a turn with a zero":     {"GET /agent/turns/a%00b", "", 404},
		"an unknown path":        {"GET /agent/nothing", "", 404},
		"another verb":           {"DELETE /agent/sessions/" + s.ID, "", 405},
		"a body of a get":        {"GET /agent/sessions/" + s.ID, `[]`, 200},
	} {
		status, text := w.ask("alice", tt.request, tt.body)
		var body surfacekit.GestaltError
		_ = json.Unmarshal([]byte(text), &body) // what is not an error has none
		if status != tt.status || status >= 400 && (body.Error == "" || strings.Contains(body.Error, "internal")) {
			t.Errorf("%s: %d %.300s", name, status, text)
		}
	}
	stream := "/agent/turns/" + turn.ID + "/events/stream"
	all, _ := w.stream(stream)
	for _, id := range []string{"", "x", "-1", "99999999999999999999", "1.5", turn.ID + ":2"} {
		if events, _ := w.stream(stream, "Last-Event-ID", id); typesOf(events) != typesOf(all) {
			t.Errorf("after %q there are %s", id, typesOf(events))
		}
	}
	if events, _ := w.stream(stream, "Last-Event-ID", "999"); len(events) != 0 {
		t.Errorf("after the last one there are %s", typesOf(events))
	}
	for _, query := range []string{"after=x", "after=-1", "after=1.5", "limit=x", "limit=1001", "limit=-1", "until=never"} {
		if status, text := w.ask("alice", "GET "+stream+"?"+query, ""); status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", query, status, text)
		}
	}
	if mine := w.idsOf("bob", "/agent/sessions"); len(mine) != 0 {
		t.Errorf("a stranger lists %v", mine)
	}
}

func TestSessionsAreAlsoFoundWithASlashAtTheEnd(t *testing.T) {
	t.Parallel()
	w := serving(t, twoProviders)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // the path is not described
	for _, tt := range []struct {
		method, key, body string
		status            int
		text              string
	}{
		{http.MethodPost, "alice", `{"clientRef":"r"}`, http.StatusCreated, `"clientRef":"r"`},
		{http.MethodGet, "alice", "", http.StatusOK, `"clientRef":"r"`},
		{http.MethodGet, "bob", "", http.StatusOK, `[]`},
		{http.MethodGet, "", "", http.StatusUnauthorized, `"error"`},
		{http.MethodDelete, "alice", "", http.StatusMethodNotAllowed, `"error"`},
	} {
		req, err := http.NewRequestWithContext(t.Context(), tt.method, w.url+"/api/v1/agent/sessions/", strings.NewReader(tt.body))
		if err != nil {
			t.Fatal(err)
		}
		if tt.key != "" {
			req.Header.Set("Authorization", "Bearer "+tt.key)
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != tt.status || !strings.Contains(string(text), tt.text) {
			t.Errorf("%s for %q: %s %s %v", tt.method, tt.key, resp.Status, text, err)
		}
	}
}

func TestSpacesAroundNamesAreTrimmed(t *testing.T) {
	t.Parallel()
	w := serving(t, twoProviders)
	s := do[sessionView](w, "POST /agent/sessions", `{"clientRef":" a ","idempotencyKey":"k"}`, "Idempotency-Key", "")
	if again := do[sessionView](w, "POST /agent/sessions", `{"clientRef":"a"}`, "Idempotency-Key", "k"); again.ID != s.ID || s.ClientRef != "a" {
		t.Errorf("%+v and %+v are two sessions", s, again)
	}
	if got := do[sessionView](w, "PATCH /agent/sessions/"+s.ID, `{"clientRef":" b "}`); got.ClientRef != "b" {
		t.Errorf("the reference is %q", got.ClientRef)
	}
	if list := do[[]sessionView](w, "GET /agent/sessions?summary=%20true&limit=1%20&provider=%20"+s.Provider, ""); len(list) != 1 {
		t.Errorf("the list has %v", list)
	}
	turn := do[turnView](w, "POST /agent/sessions/"+s.ID+"/turns", `{"toolSource":" explicit ","toolRefs":[{"plugin":" pay "}],"messages":[{"role":" user ",
		"parts":[{"type":" text ","text":" hi "},{"type":"image_ref ","imageRef":{"uri":" https://x.example/a.png ","mimeType":" image/png "}}]}]}`)
	want := []message{{Role: "user", Parts: []part{{Type: partText, Text: " hi "}, {Type: partImageRef, ImageRef: &imageRef{"https://x.example/a.png", "image/png"}}}}}
	if !reflect.DeepEqual(turn.Messages, want) {
		t.Errorf("the messages are %+v", turn.Messages)
	}
}
