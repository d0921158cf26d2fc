package app_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/app/shipped"
	"github.com/agentruntime/agentruntime/server"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// startupRequests are requests to every surface, each with the start of its error body.
var startupRequests = []struct{ surface, read, long, want string }{
	{"openai", "/v1/models", "/v1/chat/completions", `{"error":{"message":"the server is starting","type":"server_error"`},
	{"aisdk", "/aisdk/a/c", "/aisdk/a", `the server is starting`},
	{"agui", "/agui/a", "/agui/a", `{"error":"unavailable","message":"the server is starting"}`},
	{"mcp", "/mcp", "/mcp", `{"jsonrpc":"2.0","id":null,"error":{`},
	{"mcp of an agent", "/mcp/a", "/mcp/a", `{"jsonrpc":"2.0","id":null,"error":{`},
	{"a2a", "/a2a/a/v1/tasks/t", "/a2a/a/message:send", `{"error":{"code":503`},
	{"a2a JSON-RPC", "", "/a2a/a", `{"error":{"code":`},
	{"agentruns", "/api/v1/workspaces/w/agent-runs/r", "/api/v1/workspaces/w/agent-runs", `{"error":"unavailable","code":"unavailable","message":"the server is starting"`},
	{"sessions", "/api/v1/agent/sessions", "/api/v1/agent/sessions", `{"error":"the server is starting","code":"unavailable"}`},
	{"workflows of Gestalt", "/api/v1/workflow/runs", "/api/v1/workflow/events", `{"error":"the server is starting","code":"unavailable"}`},
	{"agents", "/agents/a", "/agents/a", `UNAVAILABLE: the server is starting`},
	{"native", "/runtime/v1/agents", "/runtime/v1/turns", `{"error":{"code":"unavailable","message":"the server is starting"`},
	{"workflows", "/workflow/runs", "/workflow/events", `{"error":{"code":"unavailable","message":"the server is starting"`},
}

// startupStreams are streams that clients read without an Accept header that says so.
var startupStreams = []string{
	"/aisdk/a/c/stream", "/v1/responses/r?stream=true", "/a2a/a/v1/tasks/t:subscribe",
	"/api/v1/workspaces/w/agent-runs/r/stream", "/api/v1/agent/turns/t/events/stream",
}

// startingServer returns a server that is starting and a function that sends a request to it.
func startingServer(t *testing.T) (*server.Server, func(method, path, accept string) (int, string), *sdkmetric.ManualReader) {
	t.Helper()
	numbers := sdkmetric.NewManualReader()
	s, err := server.New(server.Settings{Address: "127.0.0.1:0", MeterProvider: sdkmetric.NewMeterProvider(sdkmetric.WithReader(numbers))})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	components := shipped.Components()
	s.BeginStartup(components.StartupErrors()...)
	client := &http.Client{Transport: new(http.Transport)}
	t.Cleanup(func() {
		client.CloseIdleConnections()
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil {
			t.Error(err)
		}
	})
	return s, func(method, path, accept string) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), method, s.LocalURL()+path, strings.NewReader("{}"))
		if err != nil {
			t.Error(err)
			return 0, ""
		}
		if accept != "" {
			r.Header.Set("Accept", accept)
		}
		resp, err := client.Do(r)
		if err != nil {
			t.Error(err)
			return 0, ""
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Error(err)
		}
		if resp.StatusCode == http.StatusServiceUnavailable && resp.Header.Get("Retry-After") != "1" {
			t.Errorf("%s %s has no Retry-After", method, path)
		}
		return resp.StatusCode, string(body)
	}, numbers
}

// awaitRequests waits until the server has n pending requests.
func awaitRequests(t *testing.T, numbers *sdkmetric.ManualReader, n int64) {
	t.Helper()
	again := time.NewTicker(2 * time.Millisecond)
	defer again.Stop()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); <-again.C {
		var all metricdata.ResourceMetrics
		if err := numbers.Collect(t.Context(), &all); err != nil {
			t.Fatal(err)
		}
		var active int64
		for _, scope := range all.ScopeMetrics {
			for _, m := range scope.Metrics {
				if sum, ok := m.Data.(metricdata.Sum[int64]); ok && m.Name == "http.server.active_requests" {
					for _, point := range sum.DataPoints {
						active += point.Value
					}
				}
			}
		}
		if active == n {
			return
		}
	}
	t.Fatalf("the server never had %d requests", n)
}

func TestAStartingServerAnswersReadsInTheFormatOfTheSurface(t *testing.T) {
	t.Parallel()
	_, send, _ := startingServer(t)
	for _, tt := range startupRequests {
		if tt.read == "" {
			continue
		}
		if status, body := send(http.MethodGet, tt.read, ""); status != http.StatusServiceUnavailable || !strings.HasPrefix(body, tt.want) {
			t.Errorf("%s: GET %s is answered with %d %s, want %s", tt.surface, tt.read, status, body, tt.want)
		}
	}
}

// everything answers all requests with 204.
type everything struct{}

func (everything) Routes() []server.Route {
	return []server.Route{{Pattern: "/", Public: true, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })}}
}

func (everything) OpenAPI() []byte {
	return []byte(`{"openapi":"3.1.0","info":{"title":"Everything","version":"1"},"paths":{"/":{"get":{"operationId":"all","responses":{"204":{"description":"Nothing."}}}}}}`)
}

func TestLongRequestsAndStreamsWaitForTheEndOfTheStartup(t *testing.T) {
	t.Parallel()
	s, send, numbers := startingServer(t)
	answers := make(chan string)
	n := 0
	ask := func(method, path, accept string) {
		n++
		go func() {
			status, body := send(method, path, accept)
			if status == http.StatusNoContent {
				body = ""
			} else {
				body = method + " " + path + " is answered with " + http.StatusText(status) + " " + body
			}
			answers <- body
		}()
	}
	for _, tt := range startupRequests {
		ask(http.MethodPost, tt.long, "")
		if tt.read != "" {
			ask(http.MethodGet, tt.read, "text/event-stream")
		}
	}
	for _, path := range startupStreams {
		ask(http.MethodGet, path, "")
	}
	awaitRequests(t, numbers, int64(n))
	if err := s.Mount(t.Context(), everything{}); err != nil {
		t.Fatal(err)
	}
	s.EndStartup()
	for range n {
		if problem := <-answers; problem != "" {
			t.Error(problem)
		}
	}
}

// TestWaitingRequestsEndWithTheServer drains a server that never starts.
func TestWaitingRequestsEndWithTheServer(t *testing.T) {
	t.Parallel()
	s, send, numbers := startingServer(t)
	type answer struct {
		tt   int
		body string
	}
	answers := make(chan answer)
	for i, tt := range startupRequests {
		go func() {
			_, body := send(http.MethodPost, tt.long, "")
			answers <- answer{i, body}
		}()
	}
	awaitRequests(t, numbers, int64(len(startupRequests)))
	done := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		done <- s.Shutdown(ctx)
	}()
	for range startupRequests {
		got := <-answers
		if tt := startupRequests[got.tt]; !strings.HasPrefix(got.body, tt.want) {
			t.Errorf("%s: POST %s is answered with %s, want %s", tt.surface, tt.long, got.body, tt.want)
		}
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}
