package http

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/tools"
)

// received is what a server got to see of a request.
type received struct {
	Method, Target, Host, Body string
	Header                     http.Header
}

// record returns a server that keeps its requests, and answers with handler or
// else with "ok".
func record(t *testing.T, handler http.HandlerFunc) (base string, requests <-chan received) {
	t.Helper()
	got := make(chan received, 1024)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Errorf("read the request: %v", err)
		}
		got <- received{r.Method, r.RequestURI, r.Host, string(body), r.Header}
		if handler != nil {
			handler(w, r)
			return
		}
		_, _ = io.WriteString(w, "ok")
	}))
	t.Cleanup(server.Close)
	return server.URL, got
}

// respond returns a server that gives one answer to everything.
func respond(t *testing.T, status int, typ, body string) string {
	t.Helper()
	base, _ := record(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", typ)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	})
	return base
}

// newTool makes a tool whose configuration allows loopback addresses.
func newTool(t *testing.T, c config) *tool {
	t.Helper()
	if c.Description == "" {
		c.Description = "A test."
	}
	if c.AllowPrivate == nil {
		c.AllowPrivate = []string{"127.0.0.1"}
	}
	if c.Parameters == nil {
		c.Parameters = json.RawMessage(`{"type":"object"}`)
	}
	made, err := Kind().Create(tools.Settings{ID: "test"}, &c)
	if err != nil {
		t.Fatal(err)
	}
	tl := made.(*tool)
	t.Cleanup(func() { _ = tl.Close() })
	return tl
}

func arg(arguments string) *tools.Call {
	return &tools.Call{ID: "call_1", Tool: "test", Arguments: json.RawMessage(arguments), IdempotencyKey: "key-1"}
}

func mustCall(t *testing.T, tl *tool, arguments string) tools.Result {
	t.Helper()
	result, err := tl.Call(t.Context(), arg(arguments))
	if err != nil {
		t.Fatalf("call with %s: %v", arguments, err)
	}
	return result
}

// text calls a tool that must succeed and returns what the model reads.
func text(t *testing.T, tl *tool, arguments string) string {
	t.Helper()
	result := mustCall(t, tl, arguments)
	if result.IsError {
		t.Fatalf("call with %s: error result %q", arguments, model.PartsText(result.Content))
	}
	return model.PartsText(result.Content)
}

// refusal calls a tool that must return an error result and returns its text.
func refusal(t *testing.T, tl *tool, arguments string) string {
	t.Helper()
	result := mustCall(t, tl, arguments)
	if !result.IsError {
		t.Fatalf("call with %s: no error, but %q", arguments, model.PartsText(result.Content))
	}
	return model.PartsText(result.Content)
}

func contains(t *testing.T, got string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(got, w) {
			t.Errorf("%q does not say %q", got, w)
		}
	}
}

func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// The least and the most that max_output may be, in bytes.
const (
	minOutput = 256
	maxOutput = 1 << 20
)
