package server_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/server"
)

// listening returns a server that listens at an address of this machine, and has
// ended with the test.
func listening(t *testing.T, settings server.Settings) *server.Server {
	t.Helper()
	settings.Address = "127.0.0.1:0"
	s, err := server.New(settings)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil {
			t.Errorf("shutdown: %v", err)
		}
	})
	return s
}

// get returns what a server answers a client.
func get(t *testing.T, client *http.Client, url string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Error(err)
		return answer{}
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Error(err)
		return answer{}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Errorf("%s: %v", url, err)
	}
	return answer{resp.StatusCode, resp.Header, string(body), resp.Close}
}

// A server that starts is alive and not ready, whatever it will answer.
func TestAServerAnswersWhileItStarts(t *testing.T) {
	t.Parallel()
	var asked atomic.Bool
	s := listening(t, server.Settings{Authenticator: keys(), Ready: func(context.Context) error {
		asked.Store(true)
		return nil
	}})
	s.BeginStartup()
	client := &http.Client{Transport: new(http.Transport)}
	defer client.CloseIdleConnections()
	url := s.LocalURL()
	if got := get(t, client, url+"/healthz"); got.status != http.StatusOK || got.body != "ok\n" {
		t.Errorf("/healthz: %v", got)
	}
	if got := get(t, client, url+"/readyz"); got.status != http.StatusServiceUnavailable || got.body != "starting\n" || got.header.Get("Retry-After") != "1" {
		t.Errorf("/readyz: %v", got)
	}
	for _, path := range []string{"/", "/later", "/metrics", "/openapi.json", "/healthz/", "//readyz"} {
		got := get(t, client, url+path)
		if got.status != http.StatusServiceUnavailable || got.header.Get("Retry-After") != "1" || !strings.Contains(got.body, `"code":"unavailable"`) {
			t.Errorf("%s: %v", path, got)
		}
	}
	if asked.Load() {
		t.Error("it was asked whether the server is ready before it could be")
	}
	if err := s.Mount(t.Context(), routes{{Pattern: "GET /later", Handler: echo, Public: true}}); err != nil {
		t.Fatal(err)
	}
	if got := get(t, client, url+"/later"); got.status != http.StatusServiceUnavailable {
		t.Errorf("a surface is seen before all are there: %v", got)
	}
	s.EndStartup()
	if got := get(t, client, url+"/readyz"); got.status != http.StatusOK || got.body != "ready\n" {
		t.Errorf("/readyz: %v", got)
	}
	if got := get(t, client, url+"/later"); got.body != "nobody" {
		t.Errorf("/later: %v", got)
	}
}

// From its first answer on no request to a server fails, whatever clients do while
// surfaces are mounted and the startup ends.
func TestNoConnectionEndsWithTheStartup(t *testing.T) {
	t.Parallel()
	s := listening(t, server.Settings{})
	s.BeginStartup()
	url := s.LocalURL()
	kept, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Close()
	answers := bufio.NewReader(kept)
	ask := func() int { // on one connection, without trying again
		if _, err := io.WriteString(kept, "GET /late HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(answers, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		_, _ = io.Copy(io.Discard, resp.Body)
		return resp.StatusCode
	}
	if got := ask(); got != http.StatusServiceUnavailable {
		t.Errorf("at the start: %d", got)
	}

	stop := make(chan struct{})
	var asking sync.WaitGroup
	for i, path := range []string{"/healthz", "/late", "/healthz", "/late"} {
		asking.Go(func() {
			client := &http.Client{Transport: &http.Transport{DisableKeepAlives: i%2 == 0}}
			defer client.CloseIdleConnections()
			for ended := false; !ended; {
				got := get(t, client, url+path)
				if ok := got.status == http.StatusOK; !ok && (path == "/healthz" || got.status != http.StatusServiceUnavailable) {
					t.Errorf("%s: %v", path, got)
				}
				select {
				case <-stop:
					ended = true
				default:
				}
			}
		})
	}
	for _, one := range []string{"early", "late"} {
		surface := titled{one, routes{{Pattern: "GET /" + one, Handler: echo, Public: true}}}
		if err := s.Mount(t.Context(), surface); err != nil {
			t.Fatal(err)
		}
	}
	s.EndStartup()
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	for range 100 {
		if got := ask(); got != http.StatusOK {
			t.Errorf("after the start: %d", got)
		}
	}
	close(stop)
	asking.Wait()
	end()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// titled is a surface of a test with a name.
type titled struct {
	title string
	routes
}

// OpenAPI describes the routes.
func (s titled) OpenAPI() []byte { return describing(s.title, s.routes) }

// A server that is never ready gives its address back, and one that can no longer
// accept connections says so.
func TestAServerThatDoesNotStart(t *testing.T) {
	t.Parallel()
	s := listening(t, server.Settings{})
	s.BeginStartup()
	if err := s.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", strings.TrimPrefix(s.LocalURL(), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()

	broken, err := server.New(server.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	conns := newPipes()
	broken.ListenOn(conns)
	broken.BeginStartup()
	_ = conns.Close() // as the system does when it takes the address away
	if err := broken.Serve(t.Context()); !errors.Is(err, net.ErrClosed) {
		t.Errorf("it ends with %v", err)
	}
	if err := broken.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}
