package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
	oai "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// testKey is the key the vendor of these tests accepts.
const testKey = "sk-test-0123456789abcdef"

// apis are the two APIs, as the vendor of these tests knows them.
var apis = map[API]struct {
	path   string
	schema string
	decode func([]byte) error
}{
	Responses: {
		path: "/v1/responses", schema: "responses_request.schema.json",
		decode: func(body []byte) error { return new(responses.ResponseNewParams).UnmarshalJSON(body) },
	},
	ChatCompletions: {
		path: "/v1/chat/completions", schema: "chat_request.schema.json",
		decode: func(body []byte) error { return new(oai.ChatCompletionNewParams).UnmarshalJSON(body) },
	},
}

// compiled holds the schemas of the request bodies, which refuse every field
// that they do not name.
var compiled = sync.OnceValue(func() map[string]*jsonschema.Schema {
	all := map[string]*jsonschema.Schema{}
	for _, api := range apis {
		c := jsonschema.NewCompiler()
		s, err := c.Compile(filepath.Join("testdata", api.schema))
		if err != nil {
			panic(err)
		}
		all[api.schema] = s
	}
	return all
})

// checkBody checks the body of a request against the vendor's published API:
// against a schema that allows nothing unknown, and with the SDK's own types.
func checkBody(t testing.TB, api API, body []byte) {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		t.Fatalf("the body is no JSON: %v\n%s", err, body)
	}
	if err := compiled()[apis[api].schema].Validate(doc); err != nil {
		t.Errorf("the body is not what the API takes: %v\n%s", err, body)
	}
	if err := apis[api].decode(body); err != nil {
		t.Errorf("the SDK does not read the body: %v", err)
	}
}

// checkRequest checks all of a request but its body, which it returns.
func checkRequest(t testing.TB, api API, r *http.Request) []byte {
	t.Helper()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Errorf("read the body: %v", err)
	}
	if r.Method != http.MethodPost || r.URL.Path != apis[api].path || r.URL.RawQuery != "" {
		t.Errorf("the request is %s %s, want POST %s", r.Method, r.URL, apis[api].path)
	}
	for name, want := range map[string]string{
		"Authorization": "Bearer " + testKey,
		"Content-Type":  "application/json",
		"Accept":        "text/event-stream",
	} {
		if got := r.Header.Get(name); got != want {
			t.Errorf("header %s is %q, want %q", name, got, want)
		}
	}
	return body
}

// serve starts a vendor on loopback that checks every request and answers with
// answer. It returns an executor that asks it.
func serve(t testing.TB, api API, answer http.HandlerFunc) *Executor {
	t.Helper()
	e, _ := serveAt(t, Config{APIKey: testKey, API: api}, func(w http.ResponseWriter, r *http.Request) {
		checkBody(t, api, checkRequest(t, api, r))
		answer(w, r)
	})
	return e
}

func serveAt(t testing.TB, c Config, answer http.HandlerFunc) (*Executor, *httptest.Server) {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	transport := vendorhttp.NewTransport()
	t.Cleanup(transport.CloseIdleConnections)
	if c.BaseURL == "" {
		c.BaseURL = server.URL + "/v1"
	}
	e, err := newExecutor(model.Settings{ID: "vendor"}, &c, transport)
	if err != nil {
		t.Fatal(err)
	}
	return e, server
}

// roundTrip is a transport without a network.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// offline returns an executor whose every request is answered with what answer
// returns.
func offline(t testing.TB, c Config, answer roundTrip) *Executor {
	t.Helper()
	if c.APIKey == "" {
		c.APIKey = testKey
	}
	e, err := newExecutor(model.Settings{ID: "vendor"}, &c, answer)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// replaying returns an executor that is answered with a stream.
func replaying(t testing.TB, api API, stream io.Reader) *Executor {
	t.Helper()
	return offline(t, Config{API: api}, func(r *http.Request) (*http.Response, error) {
		return streamResponse(r, io.NopCloser(stream)), nil
	})
}

func streamResponse(r *http.Request, body io.ReadCloser) *http.Response {
	return &http.Response{
		StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header:  http.Header{"Content-Type": {"text/event-stream; charset=utf-8"}},
		Body:    body,
		Request: r,
	}
}

// answerWith returns a handler that answers with a stream, piece by piece.
func answerWith(pieces ...[]byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, piece := range pieces {
			_, _ = w.Write(piece)
			w.(http.Flusher).Flush()
		}
	}
}

// refuseWith returns a handler that refuses with a status and a body.
func refuseWith(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// fixture returns a recorded stream.
func fixture(t testing.TB, api API, name string) []byte {
	t.Helper()
	folder := map[API]string{Responses: "responses", ChatCompletions: "chat"}[api]
	data, err := os.ReadFile(filepath.Join("testdata", folder, name+".sse"))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// hello is the shortest request.
func hello() *model.Request {
	return &model.Request{Model: "gpt-6-astra", Messages: []model.Message{model.User("Hello")}}
}

// collect asks e and returns the events up to the end of the answer.
func collect(ctx context.Context, t testing.TB, e *Executor, req *model.Request) ([]model.Event, *model.Error) {
	t.Helper()
	var events []model.Event
	for ev, err := range e.Stream(ctx, req) {
		if err != nil {
			failure, ok := errors.AsType[*model.Error](err)
			if !ok {
				t.Fatalf("the error is a %T, want a *model.Error", err)
			}
			if failure.Provider != "vendor" {
				t.Errorf("the error names the provider %q", failure.Provider)
			}
			return events, failure
		}
		if ev.Usage != nil {
			usage := *ev.Usage // it is valid until the next event only
			ev.Usage = &usage
		}
		events = append(events, ev)
	}
	return events, nil
}

// assemble puts an answer together; the events must be in order.
func assemble(t testing.TB, events []model.Event) *model.Answer {
	t.Helper()
	answer := &model.Answer{}
	for i := range events {
		if err := answer.Add(&events[i]); err != nil {
			t.Fatalf("event %d: %v", i, err)
		}
	}
	return answer
}

func mustJSON(t testing.TB, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
