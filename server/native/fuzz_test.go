package native

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/store"
)

// FuzzBodies reads arbitrary bodies of requests: nothing panics, what is refused is
// the client's mistake, and what is taken has a form that is taken again.
func FuzzBodies(f *testing.F) {
	f.Add(`{"session_id":"s","input":[{"role":"user","parts":[{"type":"text","text":"x"},{"type":"image","blob":{"media_type":"image/png","data":"AAAA"}}]}]}`)
	f.Add(`{"version":1,"session":{"id":"s"},"snapshots":[{"id":"p","messages":[{"role":"tool","parts":[{"type":"tool_result"}]}]}]}`)
	f.Add(`{"id":"x","agent_id":"a","labels":{"a":"b"},"metadata":{}}`)
	f.Add(`{"action":"resume","result":{"approved":true}}`)
	f.Add(`{"reason":7}`)
	f.Fuzz(func(t *testing.T, body string) {
		for _, into := range []any{new(CreateTurn), new(CreateSession), new(answer), new(cancellation), new(service.SessionExport)} {
			_, export := into.(*service.SessionExport)
			if err := server.DecodeJSON([]byte(body), into, !export); err != nil {
				if !errors.As(err, new(*service.InvalidError)) {
					t.Fatalf("%T: %v", into, err)
				}
				continue
			}
			switch v := into.(type) {
			case *CreateTurn:
				_ = checkInput(v.Input)
			case *service.SessionExport:
				_ = checkExport(v)
			}
			text, err := json.Marshal(into)
			if err != nil {
				t.Fatalf("%T: %v", into, err)
			}
			if err := server.DecodeJSON(text, into, !export); err != nil {
				t.Fatalf("%T is written as %s: %v", into, text, err)
			}
		}
	})
}

// FuzzStream reads arbitrary streams: nothing panics, reading ends, and what is
// read has a number and a type.
func FuzzStream(f *testing.F) {
	f.Add([]byte("id: 1\ndata: {\"seq\":1,\"time\":\"2026-01-02T03:04:05Z\",\"event_type\":\"run_start\",\"turn_id\":\"t\"}\n\n"))
	f.Add([]byte(": keep-alive\n\n\r\ndata: {\"seq\":1,\r\ndata: \"event_type\":\"x\"}\r\n\r\n"))
	f.Add([]byte("data\n\n"))
	f.Add([]byte("id: 2\ndata: {\"seq\":1}\n\n"))
	f.Add([]byte("data: {\"seq\":1,\"event_type\":\"x\"}"))
	f.Fuzz(func(t *testing.T, stream []byte) {
		lines := newEventReader(bytes.NewReader(stream), func() {})
		for range len(stream) + 2 {
			record, err := lines.next()
			if err != nil {
				if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, errStream) {
					t.Fatal(err)
				}
				return
			}
			if record.Seq == 0 || record.Type == "" {
				t.Fatalf("%+v", record)
			}
			if text, err := json.Marshal(record); err != nil || json.Unmarshal(text, new(event.Record)) != nil {
				t.Fatalf("%+v is written as %s, %v", record, text, err)
			}
		}
		t.Fatal("there is no end")
	})
}

// FuzzAnswers reads arbitrary answers of a server: nothing panics, and no message
// is without bounds.
func FuzzAnswers(f *testing.F) {
	f.Add(`{"error":{"code":"not_found","message":"m","request_id":"r","details":{"kind":"turn","id":"t"}}}`)
	f.Add(`{"error":{"code":"exists","message":"m","details":{"kind":7}}}`)
	f.Add(`{"turns":[{"id":"t","status":"running","created_at":"2026-01-02T03:04:05Z"}]}`)
	f.Add(`{"error":null}`)
	f.Fuzz(func(t *testing.T, body string) {
		e := &Error{Method: http.MethodGet, URL: "http://h", Status: 400}
		decodeError([]byte(body), e)
		if text := e.Error(); len(text) > maxMessage+400 {
			t.Errorf("the message has %d bytes", len(text))
		}
		for _, into := range []any{new(Turn), new(TurnList), new(Session), new(SessionList), new(interactionList), new(eventList)} {
			_ = json.Unmarshal([]byte(body), into)
		}
	})
}

// A query is read as it was written.
func TestPropertyQueriesCrossTheWire(t *testing.T) {
	text := rapid.StringMatching(`[a-z=&?/ü ]{0,6}`)
	page := rapid.Custom(func(t *rapid.T) store.Page {
		return store.Page{After: text.Draw(t, "after"), Limit: rapid.IntRange(0, store.MaxPage).Draw(t, "limit")}
	})
	request := func(v url.Values) *http.Request { return &http.Request{URL: &url.URL{RawQuery: v.Encode()}} }
	rapid.Check(t, func(t *rapid.T) {
		sessions := SessionQuery{
			State: rapid.SampledFrom([]store.SessionState{"", store.SessionActive, store.SessionArchived}).Draw(t, "state"), AgentID: text.Draw(t, "agent"), Page: page.Draw(t, "page"),
			Labels: rapid.MapOf(rapid.StringMatching(`[a-z&ü ]{1,4}`), text).Draw(t, "labels"),
		}
		var got SessionQuery
		err := surfacekit.ReadRequest(request(surfacekit.QueryOf(sessions)), &got)
		if diff := cmp.Diff(sessions, got, cmpopts.EquateEmpty()); err != nil || diff != "" {
			t.Fatalf("%v (-want +got):\n%s", err, diff)
		}
		turns := TurnQuery{
			SessionID: text.Draw(t, "session"), AgentID: text.Draw(t, "agent"), Page: page.Draw(t, "page"),
			Statuses: rapid.SliceOf(rapid.SampledFrom([]store.Status{store.Pending, store.Running, store.Waiting, store.Canceled})).Draw(t, "statuses"),
			Tenant:   text.Draw(t, "tenant"), Text: text.Draw(t, "text"), Labels: rapid.MapOf(rapid.StringMatching(`[a-z&ü ]{1,4}`), text).Draw(t, "labels of turns"),
			MinCost: rapid.Float64Range(0, 1e9).Draw(t, "cost"), MinDuration: time.Duration(rapid.Int64Range(0, 1e9).Draw(t, "ms")) * time.Millisecond,
		}
		var list TurnQuery
		err = surfacekit.ReadRequest(request(surfacekit.QueryOf(turns)), &list)
		if diff := cmp.Diff(turns, list, cmpopts.EquateEmpty()); err != nil || diff != "" {
			t.Fatalf("%v (-want +got):\n%s", err, diff)
		}
	})
}

// The answer of another kind of server gives an error that explains it, and no redirect
// is followed.
func TestAnswersThatMakeNoSenseAreRefused(t *testing.T) {
	t.Parallel()
	const stream = "text/event-stream"
	for name, tt := range map[string]struct {
		status          int
		mediaType, body string
		want            string
	}{
		"a page":          {200, "text/html", "<html>", "the answer is not application/json: is this the server?"},
		"no media type":   {200, "", "{}", "the answer is not application/json: is this the server?"},
		"no JSON":         {200, "application/json", "{", "the answer is not the JSON that it should be"},
		"no turn":         {200, "application/json", "null", "the answer is not the JSON that it should be"},
		"another shape":   {200, "application/json", `{"id":"t"}`, "the answer is not the JSON that it should be"},
		"a redirect":      {302, "text/html", "", ": 302: the server sends elsewhere"},
		"a proxy's error": {400, "text/html", "<html>", ": 400"},
		"an error":        {400, "application/json", `{"error":"x"}`, ": 400"},
		"an error inside": {500, "application/json", `{"error":{"code":"internal","message":"m","request_id":"r1"}}`, ": 500 internal: m (request r1)"},
	} {
		c, err := NewClient(ClientSettings{URL: "http://h", Key: "ark_secret", Transport: fixed{tt.status, tt.mediaType, tt.body}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.GetTurn(t.Context(), "t")
		if err == nil || !strings.HasPrefix(err.Error(), "GET http://h/runtime/v1/turns/t: ") || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s gives %v, want %s", name, err, tt.want)
		}
	}
	for name, body := range map[string]string{
		"no event":    "data: {}\n\n",
		"two numbers": "id: 2\ndata: {\"seq\":1,\"event_type\":\"x\"}\n\n",
		"no JSON":     "data: x\n\n",
	} {
		c, err := NewClient(ClientSettings{URL: "http://h", Transport: fixed{200, stream, body}})
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range c.Events(t.Context(), "t", 0) {
			if err == nil || !strings.Contains(err.Error(), "the stream makes no sense") {
				t.Errorf("%s gives %v", name, err)
			}
		}
	}
	long := newEventReader(io.MultiReader(strings.NewReader("data: "), endless{}), func() {})
	if _, err := long.next(); !errors.Is(err, errStream) {
		t.Errorf("an event without end gives %v", err)
	}
}

// fixed answers everything alike.
type fixed struct {
	status          int
	mediaType, body string
}

func (f fixed) RoundTrip(r *http.Request) (*http.Response, error) {
	h := http.Header{"Location": {"http://elsewhere"}}
	if f.mediaType != "" {
		h.Set("Content-Type", f.mediaType)
	}
	return &http.Response{StatusCode: f.status, Header: h, Body: io.NopCloser(strings.NewReader(f.body)), Request: r}, nil
}

// endless is a reader of a line that does not end.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}
