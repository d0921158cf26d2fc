package cli

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/cli/internal/command"
	"github.com/agentruntime/agentruntime/cli/internal/terminal"
	"github.com/agentruntime/agentruntime/internal/testkit/pgtest"
)

// lateServer is the command serve with a database that may be unavailable.
type lateServer struct {
	url  string
	said *sharedOutput
	stop context.CancelFunc
	code chan int
}

// serveDatabase starts the command serve with a database.
func serveDatabase(t *testing.T, dsn string) *lateServer {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "config.yaml")
	text := head + "agents: {a: {model_id: m}}\nstore: {driver: postgres, dsn: \"" + dsn + "\"}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	s := &lateServer{url: "http://" + address, said: new(sharedOutput), stop: stop, code: make(chan int, 1)}
	go func() {
		s.code <- run(ctx, []string{"serve", file, "--listen", address}, terminal.Streams{In: strings.NewReader(""), Out: io.Discard, Err: s.said})
	}()
	t.Cleanup(stop)
	return s
}

// status returns the status of a request, or 0 if nothing listens.
func (s *lateServer) status(method, path string) int {
	req, err := http.NewRequestWithContext(context.Background(), method, s.url+path, strings.NewReader("{}"))
	if err != nil {
		return -1
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return 0
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

// wait waits until a condition holds.
func (s *lateServer) wait(t *testing.T, what string, isSo func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(storeTime)
	for !isSo() {
		select {
		case <-tick.C:
		case code := <-s.code:
			t.Fatalf("%s: the server ended with %d: %s", what, code, s.said)
		case <-deadline:
			t.Fatalf("%s: it says %s", what, s.said)
		}
	}
}

// end stops the server with SIGTERM and returns its exit code.
func (s *lateServer) end(t *testing.T) int {
	t.Helper()
	s.stop()
	select {
	case code := <-s.code:
		return code
	case <-time.After(storeTime):
		t.Fatalf("it does not end: %s", s.said)
		return 0
	}
}

func TestAServerWaitsForAnUnreachableDatabase(t *testing.T) {
	t.Parallel()
	database := pgtest.New(t)
	dsn := database.Database(t)
	database.Stop(t)
	s := serveDatabase(t, dsn)
	s.wait(t, "alive", func() bool { return s.status(http.MethodGet, "/healthz") == http.StatusOK })
	retries := func(n int) func() bool {
		return func() bool { return strings.Count(s.said.String(), "store unreachable; retrying") >= n }
	}
	s.wait(t, "two retries", retries(2))
	for method, path := range map[string]string{http.MethodGet: "/readyz", http.MethodPost: "/runtime/v1/turns"} {
		if got := s.status(method, path); got != http.StatusServiceUnavailable {
			t.Errorf("%s %s is answered with %d", method, path, got)
		}
	}
	database.Start(t)
	s.wait(t, "ready", func() bool { return s.status(http.MethodGet, "/readyz") == http.StatusOK })
	if code := s.end(t); code != command.OK {
		t.Errorf("exit code %d: %s", code, s.said)
	}
}

func TestAServerThatWaitsForItsDatabaseEndsCleanly(t *testing.T) {
	t.Parallel()
	s := serveDatabase(t, "postgres://agent@127.0.0.1:1/agents?connect_timeout=1")
	s.wait(t, "a retry", func() bool { return strings.Contains(s.said.String(), "store unreachable; retrying") })
	if code := s.end(t); code != command.OK {
		t.Errorf("exit code %d: %s", code, s.said)
	}
}

func TestADatabaseThatRejectsTheServerEndsIt(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Start(t).Database(t)
	for wrong, want := range map[string]string{
		strings.Replace(dsn, "postgres@", "nobody@", 1): `role "nobody" does not exist`,
		strings.Replace(dsn, "/test", "/none", 1):       "does not exist (SQLSTATE 3D000)",
	} {
		s := serveDatabase(t, wrong)
		select {
		case code := <-s.code:
			if said := s.said.String(); code != command.Failed || !strings.Contains(said, want) || strings.Contains(said, "retrying") {
				t.Errorf("exit code %d: %s", code, said)
			}
		case <-time.After(storeTime):
			t.Errorf("it still runs: %s", s.said)
		}
	}
}
