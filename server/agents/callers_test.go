package agents

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/agentruntime/agentruntime/agents/wire"
	"github.com/agentruntime/agentruntime/config/settings"
)

// about returns a body about a snapshot and a body about a session.
func about(field, id string) string { return fmt.Sprintf(`{"data":{%q:%q}}`, field, id) }

// TestForeignIDsLookUnknownOnEveryRoute sends the ids of alice, and ids that do not exist,
// to every route for other callers: the answers must not differ.
func TestForeignIDsLookUnknownOnEveryRoute(t *testing.T) {
	t.Parallel()
	w := serving(t)
	done := w.run(say("one", `{"sessionId":"mine"}`))
	asked := w.run(say("pay", `{"sessionId":"asked"}`))
	going := w.run(`{"data":{"message":{"content":[{"text":"hang"}]},"detach":true},"init":{"sessionId":"going"}}`)
	defer w.ask("alice", "POST /agents/clerk/abort", about("snapshotId", going.SnapshotID))
	answer := func(id string) string {
		return fmt.Sprintf(`{"data":{"resume":{"respond":[{"toolResponse":{"name":"pay","ref":"call_1","output":{"approved":true}}}]}},"init":{"snapshotId":%q}}`, id)
	}
	kinds := map[string]map[string]func(id string) string{
		"POST /agents/{name}": {
			"turn": func(id string) string { return say("x", fmt.Sprintf(`{"snapshotId":%q}`, id)) }, "resume": answer,
		},
		"POST /agents/{name}/getSnapshot":     {"snapshot": func(id string) string { return about("snapshotId", id) }, "session": func(id string) string { return about("sessionId", id) }},
		"POST /agents/{name}/waitForSnapshot": {"snapshot": func(id string) string { return about("snapshotId", id) }, "session": func(id string) string { return about("sessionId", id) }},
		"POST /agents/{name}/abort":           {"snapshot": func(id string) string { return about("snapshotId", id) }},
	}
	surface, err := New(Settings{Service: w.service})
	if err != nil {
		t.Fatal(err)
	}
	ids := []string{done.SnapshotID, asked.SnapshotID, going.SnapshotID, "mine", "going"}
	for _, route := range surface.Routes() {
		bodies := kinds[route.Pattern]
		if bodies == nil {
			t.Errorf("%s has no row here", route.Pattern)
		}
		for kind, body := range bodies {
			for _, who := range []string{"bob", "eve", "ann"} {
				for _, id := range ids {
					nothing := strings.Repeat("z", len(id))
					path := strings.Replace(route.Pattern, "{name}", "clerk", 1)
					status, text := w.ask(who, path, body(id))
					wantStatus, want := w.ask(who, path, body(nothing))
					if want = strings.ReplaceAll(want, nothing, id); status != http.StatusNotFound || wantStatus != status || text != want {
						t.Errorf("%s, %s, %s of %s: %d %s; for nothing it is %d %s", route.Pattern, kind, id, who, status, text, wantStatus, want)
					}
				}
			}
			if status, text := w.ask("", strings.Replace(route.Pattern, "{name}", "clerk", 1), body(done.SnapshotID)); status != http.StatusUnauthorized {
				t.Errorf("%s of nobody: %d %s", route.Pattern, status, text)
			}
		}
	}
	if kept := resultOf[wire.Snapshot](w, "/agents/clerk/getSnapshot", about("snapshotId", asked.SnapshotID)); kept.FinishReason != wire.FinishInterrupted {
		t.Errorf("the interrupted turn is %+v", kept)
	}
	if kept := resultOf[wire.Snapshot](w, "/agents/clerk/getSnapshot", about("snapshotId", going.SnapshotID)); kept.Status != wire.SnapshotPending {
		t.Errorf("the detached turn is %+v", kept)
	}
}

func TestRoutesNeedTheirScopes(t *testing.T) {
	t.Parallel()
	w := serving(t)
	done := w.run(say("one", `{"sessionId":"mine"}`))
	for _, tt := range []struct {
		who, path, body string
		status          int
	}{
		{"reads", "/agents/clerk", say("x", "{}"), http.StatusForbidden},
		{"reads", "/agents/clerk/abort", about("snapshotId", done.SnapshotID), http.StatusForbidden},
		{"reads", "/agents/clerk/getSnapshot", about("snapshotId", done.SnapshotID), http.StatusOK},
		{"reads", "/agents/clerk/waitForSnapshot", about("snapshotId", done.SnapshotID), http.StatusOK},
		{"writes", "/agents/clerk", say("x", "{}"), http.StatusOK},
		{"writes", "/agents/clerk/abort", about("snapshotId", done.SnapshotID), http.StatusOK},
		{"writes", "/agents/clerk/getSnapshot", about("snapshotId", done.SnapshotID), http.StatusForbidden},
		{"writes", "/agents/clerk/waitForSnapshot", about("snapshotId", done.SnapshotID), http.StatusForbidden},
	} {
		if status, text := w.ask(tt.who, "POST "+tt.path, tt.body); status != tt.status {
			t.Errorf("%s %s: %d %s", tt.who, tt.path, status, text)
		}
	}
}

// scopesOf are the scopes of callers that have not all of them; both act for alice.
var scopesOf = map[string][]string{"reads": {settings.ScopeSessionsRead}, "writes": {settings.ScopeRunsWrite}}

// TestD1EveryStreamHasOneEnd: the original loses the end of many turns that fail.
func TestD1EveryStreamHasOneEnd(t *testing.T) {
	t.Parallel()
	w := serving(t)
	for i := range 50 {
		text, want := "fine", `"finishReason":"stop"`
		if i%2 == 0 {
			text, want = "fail", `"finishReason":"failed"`
		}
		_, stream := w.ask("alice", "POST /agents/clerk", say(text, "{}"), "Accept", "text/event-stream")
		frames := strings.Split(stream, "\n\n")
		if strings.Count(stream, `"turnEnd":`) != 1 || !strings.Contains(frames[len(frames)-2], `"turnEnd":`) || !strings.Contains(frames[len(frames)-2], want) || !strings.Contains(frames[len(frames)-1], want) {
			t.Fatalf("got %s", stream)
		}
	}
}

// TestD2OverlappingTurnsAreSerialized: the original keeps one of them alone.
func TestD2OverlappingTurnsAreSerialized(t *testing.T) {
	t.Parallel()
	w := serving(t)
	var all sync.WaitGroup
	for _, text := range []string{"one", "two", "three"} {
		all.Go(func() {
			if status, body := w.ask("alice", "POST /agents/clerk", say(text, `{"sessionId":"mine"}`)); status != http.StatusOK || !strings.Contains(body, `"finishReason":"stop"`) {
				t.Errorf("%d %s", status, body)
			}
		})
	}
	all.Wait()
	kept := resultOf[wire.Snapshot](w, "/agents/clerk/getSnapshot", about("sessionId", "mine"))
	var texts []string
	for i := range kept.State.Messages {
		texts = append(texts, string(kept.State.Messages[i].Role)+":"+kept.State.Messages[i].Text())
	}
	if len(texts) != 6 {
		t.Fatalf("got %q", texts)
	}
	for i := 0; i < len(texts); i += 2 {
		if strings.TrimPrefix(texts[i], "user:") != strings.TrimPrefix(texts[i+1], "model:") {
			t.Errorf("got %q", texts)
		}
	}
}

// TestD7BodiesWithoutALengthAreRead: the original ignores chunked bodies.
func TestD7BodiesWithoutALengthAreRead(t *testing.T) {
	t.Parallel()
	w := serving(t)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.url+"/agents/clerk", io.MultiReader(strings.NewReader(say("chunked", "{}"))))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer alice")
	req.ContentLength = -1
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var reply wire.Reply[*wire.Output]
	if err := json.NewDecoder(resp.Body).Decode(&reply); err != nil || resp.StatusCode != http.StatusOK || reply.Result.Message.Text() != "chunked" {
		t.Errorf("%s %+v %v", resp.Status, reply.Result, err)
	}
}

// TestD8ListsOfMediaTypesAreRead: the original knows only a header that is the one type.
func TestD8ListsOfMediaTypesAreRead(t *testing.T) {
	t.Parallel()
	w := serving(t)
	for accept, want := range map[string]bool{
		"text/event-stream": true, "text/event-stream, */*": true, "application/json, text/event-stream;q=0.5": true, "TEXT/Event-Stream; charset=utf-8": true,
		"": false, "*/*": false, "application/json": false, "text/event-stream;q=0, application/json": false, "text/event-stream-like": false, ",;=": false,
	} {
		resp := w.send("alice", "POST /agents/clerk", say("x", "{}"), "Accept", accept)
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if got := strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream;"); got != want || resp.StatusCode != http.StatusOK {
			t.Errorf("%q: %d %s", accept, resp.StatusCode, resp.Header.Get("Content-Type"))
		}
	}
}

// TestD9LargeBodiesAreRefused: the original reads bodies of any size.
func TestD9LargeBodiesAreRefused(t *testing.T) {
	t.Parallel()
	w := serving(t)
	body := say(string(bytes.Repeat([]byte("a"), maxBody)), "{}")
	for _, path := range []string{"", "/getSnapshot", "/waitForSnapshot", "/abort"} {
		if status, text := w.ask("alice", "POST /agents/clerk"+path, body); status != http.StatusRequestEntityTooLarge {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
}

// TestStatusesOfTheProtocol has what the specification observed of the original, with the
// better behaviour where that has a defect.
func TestStatusesOfTheProtocol(t *testing.T) {
	t.Parallel()
	w := serving(t)
	for _, tt := range []struct {
		body   string
		status wire.Status
	}{
		{`{"data":{},"init":{}}`, wire.StatusInvalidArgument},
		{`{"data":{"message":{"role":"model","content":[{"text":"x"}]}}}`, wire.StatusInvalidArgument},
		{`{"data":{"message":{"content":[]}}}`, wire.StatusInvalidArgument},
		{`{"data":{"resume":{"respond":[{"toolResponse":{"name":"pay","ref":"r","output":1}}]}}}`, wire.StatusInvalidArgument},
		{`{"data":{"resume":{"restart":[{"toolRequest":{"name":"pay","ref":"r","input":1}}]}}}`, wire.StatusInvalidArgument},
	} {
		out := w.run(tt.body)
		if out.FinishReason != wire.FinishFailed || out.Error == nil || out.Error.Status != tt.status || out.Message != nil {
			t.Errorf("%s: %+v", tt.body, out)
		}
	}
	for _, method := range []string{"GET", "PUT", "DELETE"} {
		if status, _ := w.ask("alice", method+" /agents/clerk", ""); status != http.StatusMethodNotAllowed {
			t.Errorf("%s: %d", method, status)
		}
	}
}
