//go:build unix

package cli

import (
	"fmt"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/testkit/gittest"
	testneeds "github.com/agentruntime/agentruntime/internal/testkit/needs"
)

// hangingGit is a git server over HTTP. While it hangs, it sends the start of a pack and then
// nothing more.
type hangingGit struct {
	url   string
	hangs atomic.Bool
	// begun receives an element for each hanging response, and gone for each whose client has
	// disconnected.
	begun, gone chan struct{}
}

func newHangingGit(t *testing.T) (*hangingGit, *gittest.Repository) {
	t.Helper()
	base := t.TempDir()
	app := gittest.New(t, filepath.Join(base, "app.git"), map[string]string{"a.txt": "one\n"})
	gittest.Write(t, filepath.Join(app.Dir, "git-daemon-export-ok"), "")
	out, err := exec.CommandContext(t.Context(), "git", "--exec-path").Output()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(strings.TrimSpace(string(out)), "git-http-backend")
	if _, err := os.Stat(program); err != nil {
		testneeds.Missing(t, fmt.Errorf("git has no http-backend: %w", err))
	}
	g := &hangingGit{begun: make(chan struct{}, 8), gone: make(chan struct{}, 8)}
	backend := &cgi.Handler{Path: program, Env: []string{"GIT_PROJECT_ROOT=" + base, "GIT_HTTP_EXPORT_ALL=1"}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !g.hangs.Load() || !strings.HasSuffix(r.URL.Path, "/git-upload-pack") {
			backend.ServeHTTP(w, r)
			return
		}
		answer := httptest.NewRecorder()
		backend.ServeHTTP(answer, r)
		w.Header().Set("Content-Type", answer.Header().Get("Content-Type"))
		_, _ = w.Write(answer.Body.Bytes()[:answer.Body.Len()/2])
		_ = http.NewResponseController(w).Flush()
		g.begun <- struct{}{}
		<-r.Context().Done()
		g.gone <- struct{}{}
	}))
	t.Cleanup(func() {
		server.CloseClientConnections() // a killed git's helper may wait for long
		server.Close()
	})
	g.url = server.URL
	return g, app
}

func TestAServerThatIsKilledWhileItClonesLeavesNothingHalf(t *testing.T) {
	t.Parallel()
	git, app := newHangingGit(t)
	host := strings.TrimPrefix(git.url, "http://")
	host, _, _ = strings.Cut(host, ":")
	f := mortal(t, onSQLite(t), fmt.Sprintf(`  sessions: {providers: {desk: {agent: clerk}}}
workspaces: {dir: ./spaces, git: {allowed_repositories: ["%s*/*"], protocols: [http]}}
`, host))
	body := fmt.Sprintf(`{"idempotencyKey":"k","workspace":{"checkouts":[{"url":"%s/app.git","path":"app"}],"cwd":"app"}}`, git.url)
	s := f.start("127.0.0.1:0")
	git.hangs.Store(true)
	asking := make(chan error, 1)
	go func() {
		resp, err := http.DefaultClient.Do(newSessionRequest(t, s.url, body))
		if err == nil {
			err = fmt.Errorf("it is answered with %s", resp.Status)
			_ = resp.Body.Close()
		}
		asking <- err
	}()
	<-git.begun
	half, err := filepath.Glob(filepath.Join(f.dir, "spaces", "*", "*", "app"))
	if err != nil || len(half) != 1 {
		t.Fatalf("half a checkout is %v, %v", half, err)
	}
	s.kill()
	if err := <-asking; err == nil || strings.Contains(err.Error(), "201") {
		t.Errorf("the request ends with %v", err)
	}
	git.hangs.Store(false)
	f.start(s.address)
	http.DefaultClient.CloseIdleConnections() // to the server that was killed
	c := &sessionsClient{t: t, base: s.url}
	var made struct {
		ID, State string
		Metadata  map[string]any
	}
	c.ask("POST", "/sessions", body, &made)
	if kept := fmt.Sprint(made.Metadata["__gestalt.workspace"]); made.State != "active" || !strings.Contains(kept, app.Commit) {
		t.Errorf("the session is %+v", made)
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for late := time.After(storeTime); ; {
		left, err := filepath.Glob(filepath.Join(f.dir, "spaces", "*", "*"))
		if err != nil {
			t.Fatal(err)
		}
		if len(left) == 1 && !strings.HasPrefix(half[0], left[0]) {
			break
		}
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("left are %v", left)
		}
	}
}

// newSessionRequest returns a request for a session.
func newSessionRequest(t *testing.T, base, body string) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/api/v1/agent/sessions", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-API-Key", rightKey)
	return req
}
