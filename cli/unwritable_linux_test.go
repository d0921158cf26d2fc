package cli

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/agentruntime/agentruntime/internal/testkit/pgtest"
)

// outage makes a store reject writes and ends the outage.
type outage struct {
	// store is the store section of a configuration.
	store      string
	begin, end func(t *testing.T)
}

// outages make each store reject writes.
var outages = map[string]func(*testing.T) *outage{"a full disk": fullDisk, "a read-only database": readOnlyDatabase}

// fullDisk is a small file system that is filled.
func fullDisk(t *testing.T) *outage {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=8m"); err != nil {
		t.Skipf("no file system can be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	filler, file := filepath.Join(dir, "filler"), filepath.Join(dir, "runtime.db")
	return &outage{
		store: fmt.Sprintf("{driver: sqlite, dsn: %q}", file),
		begin: func(t *testing.T) {
			t.Helper()
			holdLog(t, file)
			into, err := os.Create(filler)
			if err != nil {
				t.Fatal(err)
			}
			defer into.Close()
			for block := make([]byte, 4<<10); err == nil; {
				_, err = into.Write(block)
			}
			if !errors.Is(err, syscall.ENOSPC) {
				t.Fatal(err)
			}
		},
		end: func(t *testing.T) {
			t.Helper()
			if err := os.Remove(filler); err != nil {
				t.Fatal(err)
			}
		},
	}
}

// holdLog keeps a file in a read transaction until the test ends, so that its log cannot restart: a
// restart would leave room for writes on a full disk.
func holdLog(t *testing.T, file string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+file+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	tx, err := db.BeginTx(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback() })
	var turns int
	if err := tx.QueryRowContext(t.Context(), "SELECT count(*) FROM turns").Scan(&turns); err != nil || turns == 0 {
		t.Fatalf("%d turns, %v", turns, err)
	}
}

// readOnlyDatabase is a database that becomes read-only and disconnects its clients.
func readOnlyDatabase(t *testing.T) *outage {
	t.Helper()
	server := pgtest.Start(t)
	dsn := server.Database(t)
	return &outage{
		store: fmt.Sprintf("{driver: postgres, dsn: %q}", dsn),
		begin: func(t *testing.T) { t.Helper(); server.SetReadOnly(t, dsn, true) },
		end:   func(t *testing.T) { t.Helper(); server.SetReadOnly(t, dsn, false) },
	}
}

const countingConfig = `version: 1
providers: {demo: {type: scripted, script: ./script.yaml}}
models: {m: {provider_id: demo, upstream_model: x}}
tools:
  count: {type: command, description: Counts., command: [sh, -c, "echo counted >>'DIR/counted'; until test -e 'DIR/release'; do sleep 0.02; done; echo released"], effect: once}
agents: {clerk: {model_id: m}}
store: STORE
turns: {lease: 1s, strikes: 1}
server:
  keys: [{id: desk, key: KEY, tenant: acme}]
`

const countingScript = `replies:
  - {match: Begin, tool_calls: [{id: call_1, name: count, arguments: {}}]}
  - {match: released, text: It is counted.}
fallback: {text: Hello.}
`

// TestAServerRecoversByItselfWhenItsStoreTakesWritesAgain makes a server's store reject writes
// while a turn's tool runs, for longer than the turn's lease.
func TestAServerRecoversByItselfWhenItsStoreTakesWritesAgain(t *testing.T) {
	t.Parallel()
	for name, prepare := range outages {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := prepare(t)
			f := &serverFleet{t: t, dir: t.TempDir()}
			f.counted = filepath.Join(f.dir, "counted")
			config := strings.NewReplacer("DIR", f.dir, "STORE", out.store, "KEY", rightKey).Replace(countingConfig)
			f.write("config.yaml", config)
			f.write("script.yaml", countingScript)
			f.command("migrate", "config.yaml")
			s := f.start("127.0.0.1:0")
			c := &runsClient{t: t, base: s.url}
			run := c.begin(`"prompt":"Begin"`)
			turn := "/runtime/v1/turns/" + filepath.Base(run.at)
			waitUntil(t, "the tool runs", func() bool { return f.read("counted") != "" })

			out.begin(t)
			waitUntil(t, "a run is refused", func() bool {
				status, header, body := s.ask(t, http.MethodPost, runsPath+"/agent-runs", `{"agentId":"clerk","prompt":"Good morning"}`)
				if status == http.StatusAccepted { // what the store holds already may have room
					return false
				}
				if status != http.StatusServiceUnavailable || header.Get("Retry-After") == "" {
					t.Fatalf("a run is refused with %d, again after %q: %s", status, header.Get("Retry-After"), body)
				}
				return true
			})
			check := func(when string) {
				t.Helper()
				for request, want := range map[string]int{
					"GET /readyz": http.StatusServiceUnavailable, "GET /healthz": http.StatusOK, "GET " + runsPath + run.at: http.StatusOK, "GET " + turn: http.StatusOK,
					"GET /runtime/v1/turns": http.StatusOK, `POST /runtime/v1/sessions {"agent_id":"clerk"}`: http.StatusServiceUnavailable,
				} {
					method, rest, _ := strings.Cut(request, " ")
					path, body, _ := strings.Cut(rest, " ")
					got, header, text := s.ask(t, method, path, body)
					for range 20 { // the next user of a closed connection detects it
						if strings.Contains(text, "the store cannot be reached") {
							got, header, text = s.ask(t, method, path, body)
						}
					}
					if got != want || method == http.MethodPost && header.Get("Retry-After") == "" {
						t.Errorf("%s %s is told %d: %s", when, request, got, text)
					}
					if path == turn && !strings.Contains(text, `"status":"running"`) {
						t.Errorf("%s the turn is %s", when, text)
					}
				}
			}
			check("before the tool ends")
			f.write("release", "")
			s.await(t, "turn waits for the store to take writes", 1)
			s.await(t, "heartbeat failed", 4) // longer than the lease
			check("after the lease")

			out.end(t)
			if end := run.end(); end["type"] != "result" {
				t.Errorf("the run ends with %v", end)
			}
			run.compare()
			_, _, text := s.ask(t, http.MethodGet, turn, "")
			if !strings.Contains(text, `"status":"succeeded"`) || strings.Contains(text, `"strikes"`) {
				t.Errorf("the turn is %s", text)
			}
			if counted := f.read("counted"); counted != "counted\n" {
				t.Errorf("the tool ran %d times", strings.Count(counted, "counted"))
			}
			waitUntil(t, "the server is ready", func() bool {
				status, _, _ := s.ask(t, http.MethodGet, "/readyz", "")
				return status == http.StatusOK
			})
			if end := c.begin(`"prompt":"Good morning"`).end(); end["type"] != "result" {
				t.Errorf("another run ends with %v", end)
			}
		})
	}
}

const runsPath = "/api/v1/workspaces/acme"

// write writes a configuration file.
func (f *serverFleet) write(name, text string) {
	f.t.Helper()
	if err := os.WriteFile(filepath.Join(f.dir, name), []byte(text), 0o600); err != nil {
		f.t.Fatal(err)
	}
}

// read returns a file's content, empty if it does not exist.
func (f *serverFleet) read(name string) string {
	text, err := os.ReadFile(filepath.Join(f.dir, name))
	if err != nil && !os.IsNotExist(err) {
		f.t.Fatal(err)
	}
	return string(text)
}

// ask sends a request and reads the answer.
func (v *victim) ask(t *testing.T, method, path, body string) (int, http.Header, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, v.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = bearer(rightKey)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(text)
}

// reads matches POST requests that write nothing, probes, and clients and methods that are rejected
// for another reason.
var reads = regexp.MustCompile(`"(GetTask|ListTasks|SubscribeToTask|tasks/get|tasks/resubscribe|Nothing|` +
	`GetTaskPushNotificationConfig|ListTaskPushNotificationConfigs|tasks/pushNotificationConfig/(get|list)|GetExtendedAgentCard|agent/getAuthenticatedExtendedCard)"|` +
	`:subscribe|^POST /api/oauth/|^POST /runtime/v1/(tenants/acme/)?(validate|agents/\{agent\}/check-call)|^POST /agents/clerk/(getSnapshot|waitForSnapshot)|^POST /api/v1/agent/harnesses/|^DELETE /a2a/{agent}$|^POST (/api/v1)?/workflow/events|^POST /v1/responses/\{response\}/cancel|/(\{session\}/stop|\{run\}/feedback)$|^GET `)

// TestEachRequestIsAnsweredOrRefusedForNowWhileTheStoreTakesNoWrites sends every request to a
// server whose database is read-only, and again to a server whose database is writable.
func TestEachRequestIsAnsweredOrRefusedForNowWhileTheStoreTakesNoWrites(t *testing.T) {
	t.Parallel()
	out := readOnlyDatabase(t)
	f := &serverFleet{t: t, dir: t.TempDir()}
	f.write("config.yaml", "version: 1\nstore: "+out.store+"\n")
	f.command("migrate", "config.yaml")
	w := newTown(t, "{driver: memory}", out.store)
	conn, methods := w.dialGRPC(t, "clerk"), grpcMethods()

	type question struct {
		asked inquiry
		made  things
	}
	var questions []question
	for _, route := range w.Routes() {
		for _, q := range rows[route.Pattern].asks {
			questions = append(questions, question{q, w.make(t, q.request)})
		}
	}
	calls := make(map[string]things)
	for name, row := range callRows {
		calls[name] = w.make(t, row.request)
	}
	key := bearer(w.token(t, "acme", "ann", w.scopes...))
	// The next user of a closed connection detects it.
	put := func(q *question) (got heard) {
		v := visit{town: w, asked: q.asked, made: q.made}
		waitUntil(t, "the database is reached by "+q.asked.request, func() bool {
			got = v.send(t, q.made, "acme", key, "")
			return !strings.Contains(got.body, "the store cannot be reached")
		})
		return got
	}

	out.begin(t)
	waitUntil(t, "the server is not ready", func() bool {
		return w.ask(t, http.MethodGet, "/readyz", "").status == http.StatusServiceUnavailable
	})
	for i := range questions {
		q := &questions[i]
		if q.asked.request == "GET /readyz" {
			continue
		}
		got := put(q)
		refused := strings.Contains(got.body, "takes no writes")
		// An invalid request is rejected as usual.
		switch reading := reads.MatchString(q.asked.request) || q.asked.owner == http.StatusBadRequest || q.asked.owner == http.StatusNotFound; {
		case reading && (refused || got.status != q.asked.owner):
			t.Errorf("%s, which writes nothing, is told %d: %s", q.asked.request, got.status, got.body)
		case !reading && (!refused || got.header.Get("Retry-After") == ""):
			t.Errorf("%s is told %d, again after %q: %s", q.asked.request, got.status, got.header.Get("Retry-After"), got.body)
		case !reading && got.status != http.StatusServiceUnavailable && !strings.Contains(q.asked.request, `"jsonrpc"`):
			t.Errorf("%s is refused with %d: %s", q.asked.request, got.status, got.body)
		}
	}
	readCalls := regexp.MustCompile(`/(Get|List|SubscribeTo|TaskSubscription)`)
	for name, made := range calls {
		_, err := invoke(t, conn, methods[name], made.fill(callRows[name].request, ""), bearer(annKey))
		want := codes.Unavailable
		if readCalls.MatchString(name) {
			want = codes.OK
		}
		if status.Code(err) != want || want != codes.OK && !strings.Contains(err.Error(), "takes no writes") {
			t.Errorf("%s is told %v, want %s", name, err, want)
		}
	}

	out.end(t)
	waitUntil(t, "the server is ready", func() bool {
		return w.ask(t, http.MethodGet, "/readyz", "").status == http.StatusOK
	})
	for i := range questions {
		q := &questions[i]
		if got := put(q); got.status != q.asked.owner || strings.Contains(got.body, "takes no writes") {
			t.Errorf("where writes are taken again %s is told %d: %s", q.asked.request, got.status, got.body)
		}
	}
	for name, made := range calls {
		if _, err := invoke(t, conn, methods[name], made.fill(callRows[name].request, ""), bearer(annKey)); err != nil {
			t.Errorf("where writes are taken again %s is told %v", name, err)
		}
	}
}

// waitUntil waits until a condition holds.
func waitUntil(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for late := time.After(storeTime); !holds(); {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("it does not come to it that %s", what)
		}
	}
}
