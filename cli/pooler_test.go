package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/cli/internal/command"
	"github.com/agentruntime/agentruntime/internal/testkit/pgtest"
)

// request sends a request and returns the body of the response.
func (s *lateServer) request(t *testing.T, method, path, body string) []byte {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if method == http.MethodGet {
		req.Header.Set("Accept", "text/event-stream")
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode >= http.StatusBadRequest {
		t.Fatalf("%s %s: %d %s, %v", method, path, resp.StatusCode, text, err)
	}
	return text
}

// TestReplicasShareAPooler serves two replicas through PgBouncer in transaction mode, with
// default settings. Each streams the turns that were created at the other one.
func TestReplicasShareAPooler(t *testing.T) {
	t.Parallel()
	database := pgtest.Start(t)
	dsn := database.Pool(t, database.Database(t))
	replicas := []*lateServer{serveDatabase(t, dsn), serveDatabase(t, dsn)}
	for _, s := range replicas {
		s.wait(t, "ready", func() bool { return s.status(http.MethodGet, "/readyz") == http.StatusOK })
	}
	for i := range 20 {
		at, other := replicas[i%2], replicas[1-i%2]
		var session, created struct{ ID string }
		if err := json.Unmarshal(at.request(t, http.MethodPost, "/runtime/v1/sessions", `{"agent_id":"a"}`), &session); err != nil {
			t.Fatal(err)
		}
		body := fmt.Sprintf(`{"session_id":%q,"agent_id":"a","input":[{"role":"user","parts":[{"type":"text","text":"turn %d"}]}]}`, session.ID, i)
		if err := json.Unmarshal(at.request(t, http.MethodPost, "/runtime/v1/turns", body), &created); err != nil {
			t.Fatal(err)
		}
		stream := other.request(t, http.MethodGet, "/runtime/v1/turns/"+created.ID+"/events", "")
		if !bytes.Contains(stream, []byte("succeeded")) || !bytes.Contains(stream, fmt.Appendf(nil, "turn %d", i)) {
			t.Errorf("the stream of turn %d at the other replica is %s", i, stream)
		}
	}
	for _, s := range replicas {
		if code := s.end(t); code != command.OK {
			t.Errorf("exit code %d: %s", code, s.said)
		}
		if said := s.said.String(); strings.Contains(said, "SQLSTATE") || strings.Contains(said, "WARN") && strings.Contains(said, "listen") {
			t.Errorf("it says %s", said)
		}
	}
}
