package native

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/store"
)

func TestATurnIsMadeFollowedAndReadBack(t *testing.T) {
	w := serving(t)
	c := w.client("alice")
	s, err := c.CreateSession(t.Context(), CreateSession{ID: "books", AgentID: "clerk", Labels: map[string]string{"team": "a=b"}, Metadata: json.RawMessage(`{"n":1}`)})
	if err != nil || s.ID != "books" || s.Owner.Subject != "alice" || s.Labels["team"] != "a=b" || s.ActiveAt() != s.CreatedAt {
		t.Fatalf("%+v, %v", s, err)
	}
	made, err := c.CreateTurn(t.Context(), CreateTurn{SessionID: "books", ID: "t1", Input: []model.Message{model.User("one two")}, Metadata: json.RawMessage(`{"k":"v"}`), Background: true})
	if err != nil || made.ID != "t1" || made.AgentID != "clerk" || !made.Background {
		t.Fatalf("%+v, %v", made, err)
	}
	want := []string{"1 run_start", "2 step_start", "3 text_delta", "4 inference_complete", "5 step_end", "6 run_finish"}
	if diff := cmp.Diff(want, followed(t, c, "t1", 0)); diff != "" {
		t.Errorf("the events (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want[4:], followed(t, c, "t1", 4)); diff != "" {
		t.Errorf("the events behind the fourth (-want +got):\n%s", diff)
	}
	turn, err := c.GetTurn(t.Context(), "t1")
	if err != nil || turn.Status != store.Succeeded || turn.Outcome.Response != "one two" || turn.Events != 6 || string(turn.Metadata) != `{"k":"v"}` {
		t.Errorf("%+v, %v", turn, err)
	}
	s, err = c.GetSession(t.Context(), "books")
	if err != nil || s.SnapshotID == "" || s.ActiveAt() != s.LastTurnAt || s.LastTurnAt.IsZero() {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := c.CancelTurn(t.Context(), "t1", ""); err != nil {
		t.Errorf("one that has ended is canceled: %v", err)
	}
}

// What a Local gives in the process a Client gives over HTTP.
func TestAClientGivesWhatALocalGives(t *testing.T) {
	w := serving(t)
	c, here := w.client("alice"), &Local{Service: w.service, Caller: service.Caller{Tenant: "acme", Subject: "alice"}}
	turn := begin(t, c, "clerk", "one two three")
	asks := begin(t, c, "clerk", "pay")
	followed(t, c, turn.ID, 0)
	until(t, c, asks.ID, store.Waiting)
	ctx := t.Context()
	for name, of := range map[string]func(kept) (any, error){
		"sessions": func(k kept) (any, error) { return k.ListSessions(ctx, SessionQuery{}) },
		"sessions of a query": func(k kept) (any, error) {
			return k.ListSessions(ctx, SessionQuery{State: store.SessionActive, AgentID: "clerk", Page: store.Page{Limit: 1}})
		},
		"a session": func(k kept) (any, error) { return k.GetSession(ctx, turn.SessionID) },
		"turns":     func(k kept) (any, error) { return k.ListTurns(ctx, TurnQuery{}) },
		"turns of a query": func(k kept) (any, error) {
			return k.ListTurns(ctx, TurnQuery{SessionID: asks.SessionID, AgentID: "clerk", Statuses: []store.Status{store.Waiting, store.Failed}})
		},
		"a turn":          func(k kept) (any, error) { return k.GetTurn(ctx, asks.ID) },
		"interactions":    func(k kept) (any, error) { return k.ListInteractions(ctx, asks.ID) },
		"events":          func(k kept) (any, error) { return k.ReadEvents(ctx, turn.ID, 0, 0) },
		"a part of them":  func(k kept) (any, error) { return k.ReadEvents(ctx, turn.ID, 2, 3) },
		"no events":       func(k kept) (any, error) { return k.ReadEvents(ctx, turn.ID, 100, 3) },
		"no session":      func(k kept) (any, error) { return k.GetSession(ctx, "nothing") },
		"no turn":         func(k kept) (any, error) { return k.GetTurn(ctx, "a/../b?c#d") },
		"no turn at all":  func(k kept) (any, error) { return k.GetTurn(ctx, "..") },
		"no such place":   func(k kept) (any, error) { return k.ListTurns(ctx, TurnQuery{Page: store.Page{After: "x"}}) },
		"events of none":  func(k kept) (any, error) { return k.ReadEvents(ctx, "nothing", 0, 0) },
		"answers of none": func(k kept) (any, error) { return k.ListInteractions(ctx, "nothing") },
	} {
		t.Run(name, func(t *testing.T) {
			want, wantErr := of(here)
			got, err := of(c)
			if fmt.Sprint(err) != fmt.Sprint(wantErr) || errors.Is(wantErr, store.ErrNotFound) != errors.Is(err, store.ErrNotFound) {
				t.Fatalf("the error is %v, want %v", err, wantErr)
			}
			if err != nil {
				return
			}
			if diff := cmp.Diff(asText(t, want), asText(t, got)); diff != "" {
				t.Errorf("(-local +client):\n%s", diff)
			}
		})
	}
}

// kept is what a Local and a Client have in common for reading.
type kept interface {
	ListSessions(context.Context, SessionQuery) (*SessionList, error)
	GetSession(context.Context, string) (*Session, error)
	ListTurns(context.Context, TurnQuery) (*TurnList, error)
	GetTurn(context.Context, string) (*Turn, error)
	ListInteractions(context.Context, string) ([]Interaction, error)
	ReadEvents(context.Context, string, uint64, int, ...service.EventFilter) ([]event.Record, error)
}

func asText(t *testing.T, v any) string {
	t.Helper()
	text, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	if string(text) == "[]" {
		return "null" // a list without anything
	}
	return string(text)
}

func TestWhatATurnWaitsForIsAnswered(t *testing.T) {
	w := serving(t)
	c := w.client("alice")
	turn := begin(t, c, "clerk", "pay")
	waiting := until(t, c, turn.ID, store.Waiting)
	list, err := c.ListInteractions(t.Context(), turn.ID)
	if err != nil || len(list) != 1 || len(waiting.WaitsFor) != 1 || waiting.WaitsFor[0].ID != list[0].ID || list[0].Request.Tool != "pay" || list[0].State != store.InteractionPending {
		t.Fatalf("%+v, %v, %+v", list, err, waiting)
	}
	answer := interaction.Answer{Target: list[0].Request.CallID, ID: "a1", Action: interaction.Resume, Result: json.RawMessage(`{"approved":"perhaps"}`)}
	_, err = c.AnswerInteraction(t.Context(), turn.ID, answer)
	if err == nil || !strings.Contains(err.Error(), "cannot be used") {
		t.Errorf("an answer that does not fit gives %v", err)
	}
	answer.Result = json.RawMessage(`{"approved":true}`)
	for range 2 { // the same again changes nothing
		got, err := c.AnswerInteraction(t.Context(), turn.ID, answer)
		if err != nil || got.State != store.InteractionAnswered || got.AnsweredBy != "alice" {
			t.Fatalf("%+v, %v", got, err)
		}
	}
	answer.ID, answer.Result = "a2", json.RawMessage(`{"approved":false}`)
	if _, err := c.AnswerInteraction(t.Context(), turn.ID, answer); !errors.As(err, new(*store.ConflictError)) {
		t.Errorf("another answer gives %v", err)
	}
	if end := until(t, c, turn.ID, store.Succeeded); end.Outcome.Response != "It is done." {
		t.Errorf("%+v", end.Outcome)
	}
	if _, err := c.AnswerInteraction(t.Context(), turn.ID, interaction.Answer{Target: "none"}); err == nil || err.Error() != `interaction "none" not found` {
		t.Errorf("one that there is not gives %v", err)
	}
}

func TestASessionGoesFromOneServerToAnother(t *testing.T) {
	one, two := serving(t), serving(t)
	from, to := one.client("alice"), two.client("bob")
	turn := begin(t, from, "clerk", "hello")
	followed(t, from, turn.ID, 0)
	export, err := from.ExportSession(t.Context(), turn.SessionID)
	if err != nil {
		t.Fatal(err)
	}
	made, err := to.ImportSession(t.Context(), ImportSession{ID: "copy", AgentID: "boss", IdempotencyKey: "k"}, export)
	if err != nil || made.ID != "copy" || made.AgentID != "boss" {
		t.Fatalf("%+v, %v", made, err)
	}
	if again, err := to.ImportSession(t.Context(), ImportSession{ID: "copy", AgentID: "boss", IdempotencyKey: "k"}, export); err != nil || again.ID != "copy" {
		t.Errorf("the same again: %+v, %v", again, err)
	}
	there, err := to.ExportSession(t.Context(), "copy")
	if err != nil || len(there.Snapshots) != 1 || !bytes.Equal(there.Snapshots[0].Messages[0], export.Snapshots[0].Messages[0]) {
		t.Errorf("%+v, %v", there, err)
	}
	broken := *export
	broken.Snapshots = slices.Clone(broken.Snapshots)
	broken.Snapshots[0].Messages = []json.RawMessage{json.RawMessage(`{"role":"tool","parts":[{"type":"tool_result"}]}`)}
	if _, err := to.ImportSession(t.Context(), ImportSession{}, &broken); !errors.As(err, new(*service.InvalidError)) {
		t.Errorf("a message without its content gives %v", err)
	}
	if _, err := to.ImportSession(t.Context(), ImportSession{}, &service.SessionExport{}); err == nil || !strings.Contains(err.Error(), "version") {
		t.Errorf("an export of no version gives %v", err)
	}
}

// A request that is repeated because nobody heard the answer makes nothing twice.
func TestARequestWhoseAnswerIsLostIsCarriedOutOnce(t *testing.T) {
	w := serving(t)
	losing := &losing{next: w.transport()}
	told := 0
	c, err := NewClient(ClientSettings{URL: w.url, Key: "alice", Transport: losing, Broken: func(error) { told++ }})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.ListTurns(t.Context(), TurnQuery{}); err != nil {
		t.Fatal(err)
	}
	losing.lost.Store(3) // the session's first two, and the turn's first
	turn := begin(t, c, "clerk", "hello")
	list, err := c.ListTurns(t.Context(), TurnQuery{})
	if err != nil || len(list.Turns) != 1 || list.Turns[0].ID != turn.ID {
		t.Errorf("%+v, %v", list, err)
	}
	sessions, err := c.ListSessions(t.Context(), SessionQuery{})
	if err != nil || len(sessions.Sessions) != 1 {
		t.Errorf("%+v, %v", sessions, err)
	}
	if told != 1 {
		t.Errorf("it is told of %d breaks, want one", told)
	}
}

// losing loses the answers to some requests that were carried out.
type losing struct {
	next http.RoundTripper
	lost atomic.Int64
}

func (l *losing) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := l.next.RoundTrip(r)
	if err == nil && l.lost.Add(-1) >= 0 {
		_ = resp.Body.Close()
		return nil, io.ErrUnexpectedEOF
	}
	return resp, err
}

func TestAServerThatNeverAnsweredIsGivenUpAtOnce(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close()
	c, err := NewClient(ClientSettings{URL: "http://" + address + "/prefix/", Key: "ark_secret", Broken: func(error) { t.Error("it tries again") }})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, err = c.ListTurns(t.Context(), TurnQuery{SessionID: "private"})
	if err == nil || !strings.HasPrefix(err.Error(), "GET http://"+address+"/prefix/runtime/v1/turns: dial tcp ") || strings.Contains(err.Error(), "private") || strings.Contains(err.Error(), "secret") {
		t.Errorf("the error is %v", err)
	}
	for _, err := range c.Events(t.Context(), "t", 0) {
		if !errors.As(err, new(*net.OpError)) {
			t.Errorf("the error is %v", err)
		}
	}
}

// A URL of another kind of server gives an error that explains it.
func TestAnAnswerOfSomethingElseIsNamedAsSuch(t *testing.T) {
	t.Parallel()
	const strange = "the response is not from a runtime server: is the URL right?"
	for _, tt := range []struct{ mediaType, body, want string }{
		{"text/html", "<h1>Not here</h1>", strange},
		{"application/json", `{"message":"no such thing"}`, strange},
		{"", "", strange},
		{"", "Client sent an HTTP request to an HTTPS server.\n", strange + ` It says "Client sent an HTTP request to an HTTPS server."`},
		{"text/plain; charset=utf-8", "a\x1b[31mb", strange + ` It says "a\x1b[31mb"`},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = nil
			if tt.mediaType != "" {
				w.Header().Set("Content-Type", tt.mediaType)
			}
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, tt.body)
		}))
		t.Cleanup(s.Close)
		c, err := NewClient(ClientSettings{URL: s.URL})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		_, err = c.GetTurn(t.Context(), "t")
		if want := "GET " + s.URL + "/runtime/v1/turns/t: 404: " + tt.want; err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestTheSettingsOfAClient(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"http://h":                  "",
		"https://h:1/a%2Fb":         "",
		"":                          "must be http:// or https://",
		"h:8080":                    "must be http:// or https://",
		"ftp://h":                   "must be http:// or https://",
		"http://":                   "must be http:// or https://",
		"http://\x7f":               "cannot be read",
		"http://u:secret@h":         "neither a user nor a query",
		"http://h/?key=secret":      "neither a user nor a query",
		"http://h/#secret":          "neither a user nor a query",
		"ftp://user:secret@h:21/xy": "must be http:// or https://",
	} {
		_, err := NewClient(ClientSettings{URL: url})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret")) {
			t.Errorf("%q gives %v", url, err)
		}
	}
	for _, key := range []string{"a b", "secret\n", "sécret"} {
		if _, err := NewClient(ClientSettings{URL: "http://h", Key: key}); err == nil || strings.Contains(err.Error(), "cret") {
			t.Errorf("the key %q gives %v", key, err)
		}
	}
}
