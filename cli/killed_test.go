package cli

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/testkit/pgtest"
)

const killedScript = `replies:
  - match: Begin the work
    text: I look around.
    tool_calls:
      - {id: call_count, name: count, arguments: {}}
      - {id: call_look, name: look, arguments: {at: door}}
      - {id: call_ask, name: ask, arguments: {message: Who is there?}}
      - {id: call_read, name: read_file, arguments: {path: list}}
  - {match: it is shut, text: Everything is seen.}
  - match: Tell a story
    text: once upon a time there was a server that was killed in the middle of a word and yet told all of it to the end
    chunks: 40
    chunk_delay: 100ms
  - {match: Look once, tool_calls: [{id: call_once, name: look, arguments: {}}]}
  - {match: seen once, text: It was seen.}
fallback: {text: Hello.}
`

// The tools run by the clients of the tests.
const (
	lookTool = `"tools":[{"kind":"local","name":"look","parameters":{"type":"object"}}]`
	allTools = `"tools":[{"kind":"local","name":"look","parameters":{"type":"object"}},{"kind":"a2a_local","name":"ask","agentCard":{"name":"Peer","x":1}},` +
		`{"kind":"mcp_local","name":"fs","serverInfo":{"version":"1"},"tools":[{"name":"read.file"}]}]`
)

// mortal returns a program whose servers are to be killed, with a store.
func mortal(t *testing.T, store, more string) *serverFleet {
	t.Helper()
	temp, err := os.MkdirTemp("", "killed")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(temp) })
	f := &serverFleet{t: t, dir: t.TempDir(), temp: temp}
	f.counted = filepath.Join(f.dir, "counted")
	config := fmt.Sprintf(`version: 1
providers: {demo: {type: scripted, script: ./script.yaml}}
models: {m: {provider_id: demo, upstream_model: x}}
tools:
  count: {type: command, description: Counts., command: [sh, -c, "echo counted >>'%s'"], effect: once}
agents: {clerk: {model_id: m}}
store: %s
server:
  keys: [{id: desk, key: %s, tenant: acme}]
%s`, f.counted, store, rightKey, more)
	for name, text := range map[string]string{"config.yaml": config, "script.yaml": killedScript} {
		if err := os.WriteFile(filepath.Join(f.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if strings.Contains(store, "postgres") {
		f.command("migrate", "config.yaml")
	}
	return f
}

func onSQLite(*testing.T) string { return "{driver: sqlite}" }

// onPostgres returns an empty database, with a short lease for processes that are
// killed.
func onPostgres(t *testing.T) string {
	t.Helper()
	return fmt.Sprintf("{driver: postgres, dsn: %q}\nturns: {lease: 1s}", pgtest.Start(t).Database(t))
}

func TestRunsSurviveTheDeathOfTheirServer(t *testing.T) {
	t.Parallel()
	for name, store := range map[string]func(*testing.T) string{"sqlite": onSQLite, "postgres": onPostgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := mortal(t, store(t), "")
			s := f.start("127.0.0.1:0")
			c := &runsClient{t: t, base: s.url}

			work := c.begin(`"prompt":"Begin the work",` + allTools)
			early := c.begin(`"prompt":"Look once",` + lookTool)
			late := c.begin(`"prompt":"Look once",` + lookTool)
			_, made := c.post("/agent-sessions", `{"agentId":"clerk",`+lookTool+`}`)
			session := "/agent-sessions/" + made["sessionId"].(string)
			first, second := c.beginAt(session+"/messages", `"prompt":"Look once"`), c.beginAt(session+"/messages", `"prompt":"Good morning"`)
			for _, run := range []*followed{early, late, first} {
				run.await("local_tool_call", 1)
			}
			work.await("local_tool_call", 3)
			work.await("tool_result", 1)
			story := c.begin(`"prompt":"Tell a story"`)
			story.await("assistant_delta", 3)

			// One answer arrives before the server is killed, in the middle of the story, and
			// another while no server runs.
			early.answer(http.StatusOK, "call_once", "seen once")
			s.kill()
			late.answer(0, "call_once", "seen once")
			second.check()
			f.start(s.address)

			late.answer(http.StatusOK, "call_once", "seen once")
			late.answer(http.StatusNotFound, "call_once", "seen once", http.StatusConflict)
			for _, call := range []string{"call_read", "call_ask", "call_look"} {
				work.answer(http.StatusOK, call, "it is shut")
			}
			first.answer(http.StatusOK, "call_once", "seen once")

			for run, want := range map[*followed]string{
				work: "Everything is seen.", early: "It was seen.", late: "It was seen.", first: "It was seen.", second: "Hello.",
				story: "once upon a time there was a server that was killed in the middle of a word and yet told all of it to the end",
			} {
				if last := run.end(); last["type"] != "result" || last["text"] != want {
					t.Errorf("a run ends with %v", last)
				}
				run.compare()
			}
			if got := work.calls(); !slices.Equal(got, []string{"a2a_local ask call_ask", "local look call_look", "mcp_local read.file call_read"}) {
				t.Errorf("it asked for %q", got)
			}
			early.answer(http.StatusConflict, "call_once", "seen once")
			if counted, err := os.ReadFile(f.counted); string(counted) != "counted\n" {
				t.Errorf("the tool of the server left %q, %v", counted, err)
			}
			_, read := c.get(session)
			if got := fmt.Sprint(read["messages"]); got != "[map[content:Look once role:user] map[content:It was seen. role:assistant] map[content:Good morning role:user] map[content:Hello. role:assistant]]" {
				t.Errorf("the session is %s", got)
			}
		})
	}
}

// A client's time limit counts from the request to the client.
func TestATimeThatPassesWhileThereIsNoServerPasses(t *testing.T) {
	t.Parallel()
	for name, store := range map[string]func(*testing.T) string{"sqlite": onSQLite, "postgres": onPostgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := mortal(t, store(t), "  agent_runs: {local_tool_timeout: 8s}\n")
			s := f.start("127.0.0.1:0")
			c := &runsClient{t: t, base: s.url}
			over := c.begin(`"prompt":"Look once",` + lookTool)
			over.await("local_tool_call", 1)
			s.kill()
			<-time.After(8 * time.Second)
			f.start(s.address)
			began := time.Now()
			last := over.end()
			if last["type"] != "error" || last["code"] != "local_timeout" || last["subtype"] != "error_local_tool_timeout" {
				t.Errorf("it ends with %v", last)
			}
			if took := time.Since(began); took > 7*time.Second {
				t.Errorf("it took %s from the start", took)
			}
			over.compare()
			over.answer(http.StatusConflict, "call_once", "too late")
		})
	}
}

func TestAnotherReplicaTakesOverARunAndItsStream(t *testing.T) {
	t.Parallel()
	f := mortal(t, onPostgres(t), "")
	one, two := f.start("127.0.0.1:0"), f.start("127.0.0.1:0")
	c := &runsClient{t: t, base: one.url}
	work, story := c.begin(`"prompt":"Begin the work",`+allTools), c.begin(`"prompt":"Tell a story"`)
	work.await("local_tool_call", 3)
	work.await("tool_result", 1)
	story.await("assistant_delta", 3)
	one.kill()
	c.move(two.url)
	for _, call := range []string{"call_ask", "call_look", "call_read"} {
		work.answer(http.StatusOK, call, "it is shut")
	}
	for run, want := range map[*followed]string{
		work:  "Everything is seen.",
		story: "once upon a time there was a server that was killed in the middle of a word and yet told all of it to the end",
	} {
		if last := run.end(); last["type"] != "result" || last["text"] != want {
			t.Errorf("a run ends with %v", last)
		}
		run.compare()
	}
	if counted, err := os.ReadFile(f.counted); string(counted) != "counted\n" {
		t.Errorf("the tool of the server left %q, %v", counted, err)
	}
}
