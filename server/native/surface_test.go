package native

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/internal/testkit/openapitest"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/store"
)

// What belongs to somebody else, or to an agent that a key may not use, looks as
// if it did not exist.
func TestNobodySeesWhatIsNotTheirs(t *testing.T) {
	w := serving(t)
	alice := w.client("alice")
	asks := begin(t, alice, "clerk", "pay")
	until(t, alice, asks.ID, store.Waiting)
	export, err := alice.ExportSession(t.Context(), asks.SessionID)
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	for _, name := range []string{"bob", "eve", "ann"} {
		c := w.client(name)
		sessions, err := c.ListSessions(ctx, SessionQuery{})
		if err != nil || len(sessions.Sessions) != 0 {
			t.Errorf("%s lists %+v, %v", name, sessions, err)
		}
		turns, err := c.ListTurns(ctx, TurnQuery{SessionID: asks.SessionID})
		if err != nil || len(turns.Turns) != 0 {
			t.Errorf("%s lists %+v, %v", name, turns, err)
		}
		for what, of := range map[string]func(session, turn string) error{
			"read a session": func(s, _ string) error { _, err := c.GetSession(ctx, s); return err },
			"export it":      func(s, _ string) error { _, err := c.ExportSession(ctx, s); return err },
			"add to it":      func(s, _ string) error { _, err := c.CreateTurn(ctx, says(s, "x")); return err },
			"read a turn":    func(_, id string) error { _, err := c.GetTurn(ctx, id); return err },
			"cancel it":      func(_, id string) error { _, err := c.CancelTurn(ctx, id, ""); return err },
			"read its log":   func(_, id string) error { _, err := c.ReadEvents(ctx, id, 0, 0); return err },
			"list its waits": func(_, id string) error { _, err := c.ListInteractions(ctx, id); return err },
			"answer for alice": func(_, id string) error {
				_, err := c.AnswerInteraction(ctx, id, interaction.Answer{Target: "perm_call 1/2"})
				return err
			},
			"follow it": func(_, id string) error {
				for _, err := range c.Events(ctx, id, 0) {
					return err
				}
				return nil
			},
		} {
			hidden, none := of(asks.SessionID, asks.ID), of("s", "t")
			if !errors.Is(hidden, store.ErrNotFound) {
				t.Errorf("%s can %s: %v", name, what, hidden)
				continue
			}
			same := strings.NewReplacer(`"`+asks.SessionID+`"`, `"s"`, `"`+asks.ID+`"`, `"t"`).Replace(hidden.Error())
			if none == nil || same != none.Error() {
				t.Errorf("%s cannot %s: %v; but of what does not exist: %v", name, what, hidden, none)
			}
		}
	}
	ann := w.client("ann")
	for _, agent := range []string{"clerk", "boss1"} {
		_, err := ann.CreateSession(ctx, CreateSession{AgentID: agent})
		if want := fmt.Sprintf("agent-not-found: agent %q is not defined", agent); err == nil || err.Error() != want {
			t.Errorf("a session of %q gives %v, want %s", agent, err, want)
		}
	}
	if _, err := ann.ImportSession(ctx, ImportSession{}, export); !errors.As(err, new(*resolve.AgentNotFoundError)) {
		t.Errorf("a session of another agent is imported: %v", err)
	}
	own := begin(t, ann, "boss", "hello")
	other := says(own.SessionID, "hello")
	other.AgentID = "clerk"
	if _, err := ann.CreateTurn(ctx, other); !errors.As(err, new(*resolve.AgentNotFoundError)) {
		t.Errorf("a turn of another agent is made: %v", err)
	}
	if list := followed(t, ann, own.ID, 0); len(list) != 6 {
		t.Errorf("ann follows %v", list)
	}
	turns, err := ann.ListTurns(ctx, TurnQuery{})
	if err != nil || len(turns.Turns) != 1 || turns.Turns[0].ID != own.ID {
		t.Errorf("ann lists %+v, %v", turns, err)
	}
}

func TestBadRequestsAreRefused(t *testing.T) {
	w := serving(t)
	c := w.client("alice")
	turn := begin(t, c, "clerk", "hello")
	followed(t, c, turn.ID, 0)
	deep := strings.Repeat(`{"a":`, 2000) + "1" + strings.Repeat("}", 2000)
	for _, tt := range []struct {
		request, body string
		status        int
		want          string
	}{
		{"POST /turns", `[]`, 400, "body is not a JSON object"},
		{"POST /turns", `null`, 400, "body is not a JSON object"},
		{"POST /turns", `{`, 400, "body is not valid JSON: unexpected end of JSON input at byte 1"},
		{"POST /turns", `{} {}`, 400, "body is not valid JSON: invalid character '{' after top-level value at byte 4"},
		{"POST /turns", "{\"session_id\":\"\xff\"}", 400, "body is not UTF-8"},
		{"POST /turns", deep, 400, "body is nested more than 1000 levels deep"},
		{"POST /turns", `{"session_id":"a","session\u005fid":"b"}`, 400, `body: the key \"session_id\" is there twice`},
		{"POST /turns", `{"sesion_id":"a"}`, 400, `sesion_id: unknown field; did you mean \"session_id\"?`},
		{"POST /turns", `{"Session_ID":"a"}`, 400, `Session_ID: unknown field; did you mean \"session_id\"?`},
		{"POST /turns", `{"whatever":1}`, 400, `whatever: unknown field`},
		{"POST /sessions", `{"metadat":{}}`, 400, `metadat: unknown field; did you mean \"metadata\"?`},
		{"POST /turns", `{"session_id":7}`, 400, "session_id must not be a JSON number"},
		{"POST /turns", `{"session_id":"` + turn.SessionID + `"}`, 400, "no input"},
		{"POST /turns", `{"session_id":"` + turn.SessionID + `","input":[{"role":"assistant","parts":[{"type":"text","text":"x"}]}]}`, 400, "input[0].role"},
		{"POST /turns", `{"session_id":"` + turn.SessionID + `","input":[{"role":"user","parts":[{"type":"image"}]}]}`, 400, "input[0].parts[0]: a part of type image needs its content"},
		{"POST /turns", `{"session_id":"` + turn.SessionID + `","on_busy":"wait","input":[{"role":"user","parts":[{"type":"text"}]}]}`, 400, "on_busy"},
		{"POST /turns", `{"session_id":"none","input":[{"role":"user","parts":[{"type":"text"}]}]}`, 404, `session \"none\" not found`},
		{"POST /turns", `{"metadata":"` + strings.Repeat("x", 1<<20) + `"}`, 413, "at most 1048576 are allowed"},
		{"POST /sessions", `{"id":"a b"}`, 400, `id: session id \"a b\" is not allowed: start with a letter or digit, `},
		{"POST /sessions", `{"metadata":[]}`, 400, "metadata must be a JSON object"},
		{"POST /sessions/import", `{"version":2}`, 400, "version: "},
		{"POST /sessions/import?as=x", `{"version":1}`, 400, "as: unknown parameter"},
		{"POST /turns/" + turn.ID + "/cancel", `{"why":"x"}`, 400, `why: unknown field`},
		{"POST /turns/" + turn.ID + "/interactions/x", `{"action":"resume"}`, 404, `interaction \"x\" not found`},
		{"GET /turns?status=done", "", 400, "status: "},
		{"GET /turns?session=s", "", 400, "session: unknown parameter"},
		{"GET /turns?agent_id=a&agent_id=b", "", 400, "agent_id is given more than once"},
		{"GET /turns?limit=0", "", 400, "limit must be from 1 to 1000"},
		{"GET /turns?limit=1001", "", 400, "limit must be from 1 to 1000"},
		{"GET /turns?limit=-1", "", 400, "limit: "},
		{"GET /turns?after=x", "", 400, "invalid cursor"},
		{"GET /turns?%zz", "", 400, "query cannot be read"},
		{"GET /sessions?state=open", "", 400, "state: "},
		{"GET /sessions?label=x", "", 400, "label must be name=value"},
		{"GET /turns/" + turn.ID + "/events?after=x", "", 400, "after: "},
		{"GET /turns/none/events", "", 404, `turn \"none\" not found`},
	} {
		status, text := w.answerTo(tt.request, tt.body)
		if status != tt.status || !strings.Contains(text, tt.want) || !json.Valid([]byte(text)) {
			t.Errorf("%s %.60s gives %d %s, want %d %s", tt.request, tt.body, status, text, tt.status, tt.want)
		}
	}
	list, err := c.ListTurns(t.Context(), TurnQuery{})
	if err != nil || len(list.Turns) != 1 {
		t.Errorf("a bad request made a turn: %+v, %v", list, err)
	}
	if status, text := w.answerTo("GET /turns/"+turn.ID+"/events", "", "Last-Event-ID", "x"); status != 400 || !strings.Contains(text, "Last-Event-ID: ") {
		t.Errorf("%d %s", status, text)
	}
	if status, text := w.answerTo("GET /turns/"+turn.ID+"/events?after=1", "", "Last-Event-ID", "5"); status != 200 || strings.Contains(text, `"seq":5`) || !strings.Contains(text, `"seq":6`) {
		t.Errorf("%d %s", status, text)
	}
}

func TestASilentStreamShowsThatItIsThere(t *testing.T) {
	w := serving(t, func(_ *service.Settings, s *server.SurfaceSettings) { s.KeepAlive = 5 * time.Millisecond })
	turn := begin(t, w.client("alice"), "clerk", "hang")
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.url+Prefix+"/turns/"+turn.ID+"/events", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer alice")
	req.Header.Set("Accept", streamType)
	resp, err := openapitest.Transport(t, w.transport(), w.describe).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if got := resp.Header.Get("X-Accel-Buffering") + ", " + resp.Header.Get("Cache-Control"); got != "no, no-cache, no-transform" {
		t.Errorf("the headers are %v", resp.Header)
	}
	beats := 0
	for lines := bufio.NewScanner(resp.Body); beats < 3 && lines.Scan(); {
		if lines.Text() == ": keep-alive" {
			beats++
		}
	}
	if beats != 3 {
		t.Errorf("it shows it %d times", beats)
	}
}

// The headers of tools are secrets; a client that reads a session sees only their
// names.
func TestValuesOfHeadersAreNotReadBack(t *testing.T) {
	w := serving(t)
	const metadata = `{"agent_runs":{"spec":{"tools":[{"kind":"mcp","Headers":{"Authorization":"Bearer s3cret"}},{"headers":"s3cret"}],"n":12345678901234567890}}}`
	const want = `{"agent_runs":{"spec":{"n":12345678901234567890,"tools":[{"Headers":{"Authorization":"***"},"kind":"mcp"},{"headers":"***"}]}}}`
	c := w.client("alice")
	s, err := c.CreateSession(t.Context(), CreateSession{AgentID: "clerk", Metadata: json.RawMessage(metadata)})
	if err != nil || string(s.Metadata) != want {
		t.Errorf("%s, %v", s.Metadata, err)
	}
	turn := says(s.ID, "hello")
	turn.Metadata = json.RawMessage(metadata)
	made, err := c.CreateTurn(t.Context(), turn)
	if err != nil || string(made.Metadata) != want {
		t.Errorf("%s, %v", made.Metadata, err)
	}
	followed(t, c, made.ID, 0)
	for _, request := range []string{"/sessions", "/sessions/" + s.ID, "/sessions/" + s.ID + "/export", "/turns", "/turns/" + made.ID, "/turns/" + made.ID + "/events"} {
		if status, text := w.answerTo("GET "+request, ""); status != http.StatusOK || strings.Contains(text, "s3cret") {
			t.Errorf("%s gives %d %s", request, status, text)
		}
	}
	kept, err := w.service.GetSession(t.Context(), service.Caller{Tenant: "acme", Subject: "alice"}, s.ID)
	if err != nil || string(kept.Metadata) != metadata {
		t.Errorf("what is kept is %s, %v", kept.Metadata, err)
	}
	plain := json.RawMessage(`{"b":1, "a":2}`)
	if got := withoutHeaders(plain); string(got) != string(plain) {
		t.Errorf("metadata without headers becomes %s", got)
	}
}

// A page of large events ends early, so that it need not be held whole.
func TestAPageOfLargeEventsEndsEarly(t *testing.T) {
	w := serving(t)
	c := w.client("alice")
	s, err := c.CreateSession(t.Context(), CreateSession{AgentID: "boss"})
	if err != nil {
		t.Fatal(err)
	}
	made, err := w.service.CreateTurn(t.Context(), service.Caller{Tenant: "acme", Subject: "alice"}, service.CreateTurn{
		SessionID: s.ID, Input: says("", strings.Repeat("x", maxRead)).Input,
	})
	if err != nil {
		t.Fatal(err)
	}
	want := followed(t, c, made.ID, 0)
	var got []string
	pages := 0
	for after := uint64(0); ; pages++ {
		records, err := c.ReadEvents(t.Context(), made.ID, after, store.MaxPage)
		if err != nil {
			t.Fatal(err)
		}
		if len(records) == 0 {
			break
		}
		for i := range records {
			got = append(got, fmt.Sprintf("%d %s", records[i].Seq, records[i].Type))
			after = records[i].Seq
		}
	}
	if !slices.Equal(got, want) || pages < 2 {
		t.Errorf("%d pages have %v, want %v", pages, got, want)
	}
}

func TestTheSettingsOfASurface(t *testing.T) {
	t.Parallel()
	if _, err := New(server.SurfaceSettings{}); err == nil {
		t.Error("a surface needs a service")
	}
	if !strings.Contains(string(new(Surface).OpenAPI()), string(event.TypeRunFinish)) {
		t.Error("the description does not name the terminal event")
	}
}
