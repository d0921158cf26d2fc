package server_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/server"
)

// mountServer puts a server under /agents of a program's own HTTP server.
func mountServer(t *testing.T, settings server.Settings, mounted ...server.Route) (*server.Server, *httptest.Server) {
	t.Helper()
	s, err := server.New(settings)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Mount(t.Context(), routes(mounted)); err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/agents/", http.StripPrefix("/agents", s.Handler()))
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "the program") })
	own := httptest.NewServer(mux)
	t.Cleanup(own.Close)
	t.Cleanup(func() { _ = s.Shutdown(context.Background()) })
	return s, own
}

// getText returns the status and the text of an answer.
func getText(t *testing.T, url string, headers ...string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

func TestAServerIsAHandlerOfAnotherProgram(t *testing.T) {
	t.Parallel()
	_, own := mountServer(t, server.Settings{Authenticator: keys()}, server.Route{Pattern: "GET /who", Handler: echo})
	for _, c := range []struct {
		path, key string
		status    int
		body      string
	}{
		{"/", "", 200, "the program"},
		{"/agents/healthz", "", 200, "ok\n"},
		{"/agents/who", goodKey, 200, "acme/good"},
		{"/agents/who", "", 401, ""},
		{"/agents/who", expiredKey, 401, ""},
		{"/agents/nowhere", goodKey, 404, ""},
	} {
		status, body := getText(t, own.URL+c.path, "Authorization", "Bearer "+c.key)
		if status != c.status || c.body != "" && body != c.body {
			t.Errorf("GET %s with key %q: %d %q, want %d %q", c.path, c.key, status, body, c.status, c.body)
		}
	}
}

// eventsUntilTold streams until its context ends, and says why it did.
var eventsUntilTold = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	server.ServeEvents(w, r, func(ctx context.Context, out *server.EventStream) {
		<-ctx.Done()
		_ = out.Write(func(b *bytes.Buffer) error {
			_, err := b.WriteString("data: " + context.Cause(ctx).Error() + "\n\n")
			return err
		})
	})
})

// readBody sends a request and returns the body of the answer; began is closed once its
// header has come.
func readBody(t *testing.T, req *http.Request, began chan<- struct{}) string {
	t.Helper()
	defer func() {
		if began != nil {
			close(began)
		}
	}()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Error(err)
		return ""
	}
	defer resp.Body.Close()
	close(began)
	began = nil
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Error(err)
	}
	return string(text)
}

func TestTheStreamsOfAMountedServerEndWithIt(t *testing.T) {
	t.Parallel()
	s, own := mountServer(t, server.Settings{Authenticator: keys()},
		server.Route{Pattern: "GET /stream", Handler: untilTold, Stream: true},
		server.Route{Pattern: "GET /events", Handler: eventsUntilTold, Stream: true})
	bodies := make(chan string, 2)
	for _, path := range []string{"/agents/stream", "/agents/events"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, own.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+goodKey)
		began := make(chan struct{})
		go func() {
			bodies <- readBody(t, req, began)
		}()
		<-began
	}
	if err := s.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	for range 2 {
		if body := <-bodies; body != "hello the server is shutting down" && body != "data: the server is shutting down\n\n" {
			t.Errorf("a stream ended with %q", body)
		}
	}
	if status, _ := getText(t, own.URL+"/agents/healthz"); status != http.StatusServiceUnavailable {
		t.Errorf("after Shutdown the handler answers %d", status)
	}
	if status, _ := getText(t, own.URL+"/"); status != http.StatusOK {
		t.Errorf("after Shutdown the program answers %d", status)
	}
}

func TestRequestsOfAMountedServerAreCutShort(t *testing.T) {
	t.Parallel()
	causes, began := make(chan error, 1), make(chan struct{})
	s, own := mountServer(t, server.Settings{Authenticator: keys()}, server.Route{Pattern: "GET /wait", Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(began)
		<-r.Context().Done()
		causes <- context.Cause(r.Context())
	})})
	answered := make(chan int, 1)
	go func() {
		status, _ := getText(t, own.URL+"/agents/wait", "Authorization", "Bearer "+goodKey)
		answered <- status
	}()
	<-began
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := s.Shutdown(ctx); !errors.Is(err, server.ErrCutShort) {
		t.Errorf("shutdown: %v", err)
	}
	if cause := <-causes; !errors.Is(cause, server.ErrCutShort) {
		t.Errorf("the request ended with %v", cause)
	}
	<-answered
}

func TestAMountedServerWithoutCredentialsAnswersOnLoopbackOnly(t *testing.T) {
	t.Parallel()
	s, err := server.New(server.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Mount(t.Context(), routes{{Pattern: "GET /who", Handler: echo}}); err != nil {
		t.Fatal(err)
	}
	handler := s.Handler()
	for name, c := range map[string]struct {
		local  net.Addr
		status int
	}{
		"loopback":        {&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80}, http.StatusOK},
		"another address": {&net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 80}, http.StatusForbidden},
		"an unknown one":  {nil, http.StatusForbidden},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/who", nil)
		if c.local != nil {
			r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, c.local))
		}
		w := httptest.NewRecorder()
		if handler.ServeHTTP(w, r); w.Code != c.status {
			t.Errorf("%s: %d, want %d", name, w.Code, c.status)
		}
	}
}
