package anthropic

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
)

// testKey is the key the vendor of these tests accepts.
const testKey = "sk-ant-test-0123456789abcdef"

// checkRequest checks all of a request, and returns its body.
func checkRequest(t testing.TB, r *http.Request) []byte {
	t.Helper()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Errorf("read the body: %v", err)
	}
	if r.Method != http.MethodPost || r.URL.Path != "/v1/messages" || r.URL.RawQuery != "" {
		t.Errorf("the request is %s %s, want POST /v1/messages", r.Method, r.URL)
	}
	for name, want := range map[string]string{
		"X-Api-Key":         testKey,
		"Anthropic-Version": "2023-06-01",
		"Content-Type":      "application/json",
		"Accept":            "text/event-stream",
		"Authorization":     "",
	} {
		if got := r.Header.Get(name); got != want {
			t.Errorf("header %s is %q, want %q", name, got, want)
		}
	}
	checkBody(t, body)
	return body
}

// serve starts a vendor on loopback that checks every request and answers with
// answer. It returns an executor that asks it.
func serve(t testing.TB, answer http.HandlerFunc) *Executor {
	t.Helper()
	return serveAt(t, Config{APIKey: testKey}, func(w http.ResponseWriter, r *http.Request) {
		checkRequest(t, r)
		answer(w, r)
	})
}

func serveAt(t testing.TB, c Config, answer http.HandlerFunc) *Executor {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	transport := vendorhttp.NewTransport()
	t.Cleanup(transport.CloseIdleConnections)
	if c.BaseURL == "" {
		c.BaseURL = server.URL
	}
	e, err := newExecutor(model.Settings{ID: "vendor"}, &c, transport)
	if err != nil {
		t.Fatal(err)
	}
	return e
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
func replaying(t testing.TB, stream io.Reader) *Executor {
	t.Helper()
	return offline(t, Config{}, func(r *http.Request) (*http.Response, error) {
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
func fixture(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name+".sse"))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// hello is the shortest request.
func hello() *model.Request {
	return &model.Request{Model: "claude-opus-5-5", Messages: []model.Message{model.User("Hello")}}
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

func readBody(t testing.TB, r *http.Request) []byte {
	t.Helper()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func streamOf(t testing.TB, name string) io.ReadCloser {
	t.Helper()
	return io.NopCloser(bytes.NewReader(fixture(t, name)))
}

// refusalResponse refuses a request as invalid.
func refusalResponse(r *http.Request, why string) *http.Response {
	message, _ := json.Marshal(why)
	body := fmt.Sprintf(`{"type":"error","error":{"type":"invalid_request_error","message":%s}}`, message)
	res := streamResponse(r, io.NopCloser(strings.NewReader(body)))
	res.StatusCode = http.StatusBadRequest
	res.Header.Set("Content-Type", "application/json")
	return res
}
