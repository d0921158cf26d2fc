package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/spec"
)

// TestHeaders checks that the configuration alone decides what a request
// carries, whatever the environment says.
func TestHeaders(t *testing.T) {
	for name, value := range map[string]string{
		"OPENAI_API_KEY": "sk-environment", "OPENAI_ADMIN_KEY": "sk-admin", "OPENAI_ORG_ID": "org-environment",
		"OPENAI_PROJECT_ID": "proj-environment", "OPENAI_BASE_URL": "http://127.0.0.1:1/environment",
		"OPENAI_CUSTOM_HEADERS": "X-Environment: yes",
	} {
		t.Setenv(name, value)
	}
	for _, tt := range []struct {
		name   string
		config Config
		want   map[string]string
	}{
		{"nothing", Config{}, map[string]string{
			"Authorization": "", "OpenAI-Organization": "", "OpenAI-Project": "", "X-Environment": "",
		}},
		{"everything", Config{APIKey: testKey, Organization: "org-1", Project: "proj-1", Headers: map[string]string{"x-gateway": "a", "User-Agent": "me"}},
			map[string]string{
				"Authorization": "Bearer " + testKey, "OpenAI-Organization": "org-1", "OpenAI-Project": "proj-1",
				"X-Gateway": "a", "User-Agent": "me", "X-Environment": "",
			}},
		{"own authorization", Config{Headers: map[string]string{"authorization": "Basic abcdefgh"}},
			map[string]string{"Authorization": "Basic abcdefgh"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e, _ := serveAt(t, tt.config, func(w http.ResponseWriter, r *http.Request) {
				for name, want := range tt.want {
					if got := r.Header.Get(name); got != want {
						t.Errorf("header %s is %q, want %q", name, got, want)
					}
				}
				answerWith(fixture(t, Responses, "text"))(w, r)
			})
			if _, failure := collect(context.Background(), t, e, hello()); failure != nil {
				t.Fatal(failure)
			}
		})
	}
}

// TestBaseURL checks where requests go.
func TestBaseURL(t *testing.T) {
	for base, want := range map[string]string{
		"":                           "https://api.openai.com/v1/responses",
		"http://localhost:11434/v1":  "http://localhost:11434/v1/responses",
		"http://localhost:11434/v1/": "http://localhost:11434/v1/responses",
		"http://localhost:11434":     "http://localhost:11434/responses",
	} {
		asked := ""
		e := offline(t, Config{BaseURL: base}, func(r *http.Request) (*http.Response, error) {
			asked = r.URL.String()
			return streamResponse(r, io.NopCloser(bytes.NewReader(fixture(t, Responses, "text")))), nil
		})
		if _, failure := collect(context.Background(), t, e, hello()); failure != nil || asked != want {
			t.Errorf("base_url %q is asked at %q (%v), want %q", base, asked, failure, want)
		}
	}
}

// TestKind makes an executor as the runtime does.
func TestKind(t *testing.T) {
	kind := Kind()
	if kind.Type != "openai" || kind.Summary == "" {
		t.Errorf("the kind is %q: %q", kind.Type, kind.Summary)
	}
	e, err := kind.Create(model.Settings{ID: "p"}, kind.NewConfig())
	if err != nil || e == nil {
		t.Fatalf("create without a key: %v", err)
	}
	e, err = kind.Create(model.Settings{ID: "p"}, &Config{BaseURL: "ftp://x"})
	if err == nil || e != nil {
		t.Fatalf("create with a bad base_url returns %v, %v", e, err)
	}
	if e, err := New(model.Settings{ID: "p"}, nil); err != nil || e == nil {
		t.Fatalf("create without a configuration: %v", err)
	}
}

// TestConnectionIsKept checks that a whole answer leaves its connection open
// for the next one.
func TestConnectionIsKept(t *testing.T) {
	for _, api := range []API{Responses, ChatCompletions} {
		stream := fixture(t, api, "text")
		var mu sync.Mutex
		connections := map[string]bool{}
		e, _ := serveAt(t, Config{APIKey: testKey, API: api}, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			mu.Lock()
			connections[r.RemoteAddr] = true
			mu.Unlock()
			answerWith(bytes.SplitAfter(stream, []byte("\n"))...)(w, r)
		})
		for range 5 {
			if _, failure := collect(context.Background(), t, e, hello()); failure != nil {
				t.Fatal(failure)
			}
		}
		mu.Lock()
		if len(connections) != 1 {
			t.Errorf("%s: 5 answers take %d connections", api, len(connections))
		}
		mu.Unlock()
	}
}

// TestServerThatDoesNotClose checks that a whole answer is not held up by a
// server that keeps its stream open.
func TestServerThatDoesNotClose(t *testing.T) {
	e := serve(t, Responses, func(w http.ResponseWriter, r *http.Request) {
		answerWith(fixture(t, Responses, "text"))(w, r)
		<-r.Context().Done()
	})
	events, failure := collect(context.Background(), t, e, hello())
	if failure != nil || !assemble(t, events).Finished {
		t.Fatalf("the answer ends with %v", failure)
	}
}

// TestBreakCloses checks that breaking off an answer ends the request.
func TestBreakCloses(t *testing.T) {
	gone := make(chan struct{})
	e := serve(t, Responses, func(w http.ResponseWriter, r *http.Request) {
		begun, _, _ := bytes.Cut(fixture(t, Responses, "text"), []byte("event: response.completed"))
		answerWith(begun)(w, r)
		<-r.Context().Done()
		close(gone)
	})
	for ev, err := range e.Stream(context.Background(), hello()) {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Type == model.EventText {
			break
		}
	}
	<-gone
}

// closeCounter is a body that counts how often it is closed.
type closeCounter struct {
	io.Reader
	closed int
}

func (c *closeCounter) Close() error { c.closed++; return nil }

// TestBodyIsClosed checks that the body is closed however the stream ends, and
// wherever the consumer breaks off.
func TestBodyIsClosed(t *testing.T) {
	for _, r := range recordings {
		stream := fixture(t, r.api, r.name)
		for stopAfter := range 20 {
			body := &closeCounter{Reader: bytes.NewReader(stream)}
			e := offline(t, Config{API: r.api}, func(req *http.Request) (*http.Response, error) {
				return streamResponse(req, body), nil
			})
			seen := 0
			for _, err := range e.Stream(context.Background(), hello()) {
				if seen++; seen > stopAfter || err != nil {
					break
				}
			}
			if body.closed == 0 {
				t.Fatalf("%s/%s: the body stays open after %d events", r.api, r.name, seen)
			}
		}
	}
}

// TestCancel cancels a request while it waits for the answer, and within it.
func TestCancel(t *testing.T) {
	begun, _, _ := bytes.Cut(fixture(t, Responses, "text"), []byte("event: response.completed"))
	for name, piece := range map[string][]byte{
		"ahead of the answer": nil,
		"within the answer":   begun,
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			e := serve(t, Responses, func(w http.ResponseWriter, r *http.Request) {
				if piece == nil {
					cancel()
				} else {
					answerWith(piece)(w, r)
				}
				<-r.Context().Done()
			})
			var failure error
			for _, err := range e.Stream(ctx, hello()) {
				if failure != nil {
					t.Fatal("something follows the error")
				}
				failure = err
				cancel()
			}
			if got := model.AsError(failure); got.Class != model.Cancelled || !errors.Is(failure, context.Canceled) || got.Provider != "vendor" {
				t.Errorf("the error is %v", failure)
			}
		})
	}
}

// TestDeadline checks that a deadline is told from a cancellation.
func TestDeadline(t *testing.T) {
	ctx, cancel := context.WithDeadline(context.Background(), time.Now().Add(-time.Second))
	defer cancel()
	e := replaying(t, Responses, bytes.NewReader(fixture(t, Responses, "text")))
	if _, failure := collect(ctx, t, e, hello()); failure == nil || failure.Class != model.Timeout {
		t.Errorf("the error is %v", failure)
	}
}

// TestAbruptClose cuts the connection within the answer.
func TestAbruptClose(t *testing.T) {
	for _, api := range []API{Responses, ChatCompletions} {
		e := serve(t, api, func(w http.ResponseWriter, r *http.Request) {
			stream := fixture(t, api, "calls")
			answerWith(stream[:len(stream)/2])(w, r)
			conn, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				_ = conn.Close()
			}
		})
		events, failure := collect(context.Background(), t, e, hello())
		if failure == nil || failure.Class != model.StreamInterrupted || len(events) == 0 {
			t.Errorf("%s: %d events, then %v", api, len(events), failure)
		}
	}
}

// TestNobodyThere asks a server that does not exist.
func TestNobodyThere(t *testing.T) {
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	_ = listener.Close()
	e, _ := serveAt(t, Config{BaseURL: "http://" + address}, nil)
	_, failure := collect(context.Background(), t, e, hello())
	if failure == nil || failure.Class != model.Provider || !strings.Contains(failure.Message, "refused") {
		t.Errorf("the error is %v", failure)
	}
}

// TestRedirect checks that a redirect is not followed: it would carry the key
// along.
func TestRedirect(t *testing.T) {
	for _, status := range []int{http.StatusMovedPermanently, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		var asked atomic.Int32
		e, _ := serveAt(t, Config{APIKey: testKey}, func(w http.ResponseWriter, r *http.Request) {
			asked.Add(1)
			http.Redirect(w, r, "/elsewhere?token="+testKey, status)
		})
		_, failure := collect(context.Background(), t, e, hello())
		if asked.Load() != 1 || failure == nil || failure.Class != model.InvalidRequest || failure.Status != status ||
			!strings.Contains(failure.Message, "base_url") {
			t.Errorf("status %d: asked %d times, then %v", status, asked.Load(), failure)
		}
	}
}

// TestNoRetries checks that the SDK does not repeat what fails.
func TestNoRetries(t *testing.T) {
	for _, status := range []int{408, 409, 429, 500, 503} {
		var asked atomic.Int32
		e := serve(t, Responses, func(w http.ResponseWriter, r *http.Request) {
			asked.Add(1)
			w.Header().Set("X-Should-Retry", "true")
			refuseWith(status, `{}`)(w, r)
		})
		if _, failure := collect(context.Background(), t, e, hello()); failure == nil || failure.Status != status || asked.Load() != 1 {
			t.Errorf("status %d: asked %d times, then %v", status, asked.Load(), failure)
		}
	}
}

// TestManyAtOnce streams many answers at the same time from one executor.
func TestManyAtOnce(t *testing.T) {
	e := serve(t, Responses, answerWith(fixture(t, Responses, "calls")))
	req := conversation()
	want := ""
	var mu sync.Mutex
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			events, failure := collect(context.Background(), t, e, req)
			if failure != nil {
				t.Errorf("%v", failure)
				return
			}
			got := mustJSON(t, assemble(t, events).Message())
			mu.Lock()
			defer mu.Unlock()
			if want == "" {
				want = got
			}
			if got != want {
				t.Errorf("the answer is %s, want %s", got, want)
			}
		})
	}
	group.Wait()
}

// TestConcessions checks what is done without once a model refused it, and
// that this is remembered where it is the model's nature.
func TestConcessions(t *testing.T) {
	refusal := func(param, code string) string {
		return `{"error":{"message":"Not supported with this model.","type":"invalid_request_error","param":"` + param + `","code":"` + code + `"}}`
	}
	thought := func() *model.Request {
		req := hello()
		req.Messages = append(req.Messages, model.Message{Role: model.RoleAssistant, Parts: []model.Part{
			reasoning("x", "gAAA", "rs_1"), model.Text("a"),
		}}, model.User("b"))
		req.ReasoningEffort = &spec.Effort{Level: "max"}
		req.Tools = []model.Tool{{Name: "look"}}
		req.ToolChoice.Mode = model.ToolsRequired
		req.Output = &spec.OutputSchema{Schema: json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)}
		return req
	}
	for _, tt := range []struct {
		name    string
		api     API
		marker  string // what the server refuses, as it stands in the body
		refusal string
		first   int32 // requests of the first call
		later   int32 // and of the second
	}{
		{"encrypted reasoning", Responses, `"include":`, refusal("include", ""), 2, 1},
		{"summary", Responses, `"summary":"auto"`, refusal("reasoning.summary", "unsupported_parameter"), 2, 1},
		{"max effort", Responses, `"effort":"max"`, refusal("reasoning.effort", "unsupported_value"), 2, 1},
		{"xhigh effort", Responses, `"reasoning":{"effort":"`, refusal("reasoning.effort", "unsupported_value"), 3, 1},
		{"effort in chat", ChatCompletions, `"reasoning_effort":"max"`, refusal("reasoning_effort", "unsupported_value"), 2, 1},
		{"every effort", ChatCompletions, `"reasoning_effort":`, `{"error":{"message":"litellm.UnsupportedParamsError: local does not support parameters: ['reasoning_effort'], for model=x.","type":"None","param":"None","code":"400"}}`, 4, 1},
		{"choice of tools", ChatCompletions, `"tool_choice":`, `{"error":{"message":"this model does not support this tool_choice","type":"invalid_request_error"}}`, 2, 1},
		{"choice of tools", Responses, `"tool_choice":`, refusal("tool_choice", "unsupported_parameter"), 2, 1},
		{"form of the answer", ChatCompletions, `"response_format":`, `{"object":"error","message":"[{'type': 'extra_forbidden', 'loc': ('body', 'response_format')}]","type":"BadRequestError","code":400}`, 2, 1},
		{"form of the answer", Responses, `"text":{"format"`, refusal("text.format", "unsupported_parameter"), 2, 1},
		{"a schema", Responses, `"strict":true`, refusal("text.format.schema", "invalid_json_schema"), 2, 2},
		{"a schema", ChatCompletions, `"strict":true`, `{"error":{"message":"Invalid schema for response_format 'output': 'x' is not permitted.","type":"invalid_request_error","param":"response_format","code":null}}`, 2, 2},
		{"every schema", ChatCompletions, `"response_format":`, `{"error":{"message":"Invalid schema for response_format 'output'.","param":"response_format"}}`, 2, 2},
		{"foreign reasoning", Responses, `"encrypted_content":`, refusal("", "invalid_encrypted_content"), 2, 2},
		{"something else", Responses, `"model":`, refusal("model", ""), 1, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var asked atomic.Int32
			e, _ := serveAt(t, Config{APIKey: testKey, API: tt.api, ReasoningSummary: "auto"}, func(w http.ResponseWriter, r *http.Request) {
				asked.Add(1)
				sent := checkRequest(t, tt.api, r)
				checkBody(t, tt.api, sent)
				if strings.Contains(string(sent), tt.marker) && tt.name != "xhigh effort" ||
					tt.name == "xhigh effort" && (strings.Contains(string(sent), `"max"`) || strings.Contains(string(sent), `"xhigh"`)) {
					refuseWith(http.StatusBadRequest, tt.refusal)(w, r)
					return
				}
				answerWith(fixture(t, tt.api, "text"))(w, r)
			})
			for i, want := range []int32{tt.first, tt.later} {
				asked.Store(0)
				_, failure := collect(context.Background(), t, e, thought())
				if asked.Load() != want || (failure != nil) != (tt.name == "something else" || tt.name == "every schema") {
					t.Errorf("call %d: asked %d times, then %v; want %d times", i, asked.Load(), failure, want)
				}
			}
		})
	}
}
