package google

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
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
	"google.golang.org/genai"
)

// testKey is the key the vendor of these tests accepts.
const testKey = "AIzaTest-0123456789abcdef"

const (
	oldModel = "gemini-2.5-flash"
	newModel = "gemini-3.1-flash"
)

// vendorBody is a request as the vendor reads it, in the SDK's own types.
type vendorBody struct {
	Contents          []*genai.Content        `json:"contents"`
	SystemInstruction *genai.Content          `json:"systemInstruction"`
	Tools             []*genai.Tool           `json:"tools"`
	ToolConfig        *genai.ToolConfig       `json:"toolConfig"`
	GenerationConfig  *genai.GenerationConfig `json:"generationConfig"`
}

// checkBody checks the body of a request: it holds no field the SDK does not
// know, and the conversation is one the vendor takes.
func checkBody(t testing.TB, body []byte) *vendorBody {
	t.Helper()
	v := &vendorBody{}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		t.Errorf("the SDK does not read the body: %v\n%s", err, body)
		return v
	}
	calls := 0
	for i, c := range v.Contents {
		if c.Role != genai.RoleUser && c.Role != genai.RoleModel || len(c.Parts) == 0 {
			t.Errorf("content %d has the role %q and %d parts", i, c.Role, len(c.Parts))
		}
		results := 0
		for _, p := range c.Parts {
			checkPart(t, c.Role, p)
			if p.FunctionResponse != nil {
				results++
			}
		}
		if calls > 0 && results != calls {
			t.Errorf("content %d answers %d calls with %d results", i, calls, results)
		}
		calls = 0
		for _, p := range c.Parts {
			if p.FunctionCall != nil {
				calls++
			}
		}
	}
	return v
}

// checkPart checks that a part holds one thing, and one its role may say.
func checkPart(t testing.TB, role string, p *genai.Part) {
	t.Helper()
	things := 0
	for _, is := range []bool{p.Text != "", p.InlineData != nil, p.FileData != nil, p.FunctionCall != nil, p.FunctionResponse != nil} {
		if is {
			things++
		}
	}
	if things != 1 {
		t.Errorf("a part holds %d things: %s", things, mustJSON(t, p))
	}
	if p.FunctionCall != nil && (role != genai.RoleModel || p.FunctionCall.Name == "") ||
		p.FunctionResponse != nil && (role != genai.RoleUser || p.FunctionResponse.Name == "") {
		t.Errorf("the role %s says %s", role, mustJSON(t, p))
	}
}

// checkRequest checks all of a request but its body, which it returns.
func checkRequest(t testing.TB, r *http.Request) []byte {
	t.Helper()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Errorf("read the body: %v", err)
	}
	if r.Method != http.MethodPost || !strings.HasPrefix(r.URL.Path, "/v1beta/models/gemini-") ||
		!strings.HasSuffix(r.URL.Path, ":streamGenerateContent") || r.URL.RawQuery != "alt=sse" {
		t.Errorf("the request is %s %s", r.Method, r.URL)
	}
	for name, want := range map[string]string{
		"X-Goog-Api-Key": testKey,
		"Authorization":  "",
		"Content-Type":   "application/json",
		"Accept":         "text/event-stream",
	} {
		if got := r.Header.Get(name); got != want {
			t.Errorf("header %s is %q, want %q", name, got, want)
		}
	}
	return body
}

// serve starts a vendor on loopback that checks every request and answers with
// answer. It returns an executor that asks it.
func serve(t testing.TB, answer http.HandlerFunc) *Executor {
	t.Helper()
	e, _ := serveAt(t, Config{APIKey: testKey}, func(w http.ResponseWriter, r *http.Request) {
		checkBody(t, checkRequest(t, r))
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
		c.BaseURL = server.URL
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
	data, err := os.ReadFile(filepath.Join("testdata", "streams", name+".sse"))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// hello is the shortest request.
func hello() *model.Request {
	return &model.Request{Model: newModel, Messages: []model.Message{model.User("Hello")}}
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

func parse(t testing.TB, data string) (v any) {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(data))
	dec.UseNumber() // a float64 would hide a lost digit
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%v:\n%s", err, data)
	}
	return v
}
