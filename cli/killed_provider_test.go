//go:build unix

package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// providersOf is the configuration of a program that hosts a provider that keeps its turns and
// another that does not.
const providersOf = `  sessions: {providers: {desk: {agent: clerk}, keeper: {agent: keeper}, forgetful: {agent: forgetful}}}
agent_providers:
  keeper:
    type: process
    command: [runtime, provider, serve, keeper.yaml]
  forgetful:
    type: process
    command: [provider]
    env: {PROVIDERTEST_MODE: steady}
`

// keeperConfig is the configuration of the provider that keeps its turns.
const keeperConfig = `version: 1
providers: {demo: {type: scripted, script: ./keeper-script.yaml}}
models: {m: {provider_id: demo, upstream_model: x}}
agents: {clerk: {model_id: m}}
store: {driver: sqlite, dsn: ./keeper.db}
`

const keeperScript = `replies:
  - {match: Count once, tool_calls: [{id: call_count, name: count, arguments: {}}]}
  - {match: Hang once, tool_calls: [{id: call_hang, name: hang, arguments: {}}]}
  - match: Tell a story
    text: once upon a time there was a server that was killed in the middle of a word and yet told all of it to the end
    chunks: 20
    chunk_delay: 100ms
fallback: {text: That was all.}
`

// hosting returns a program with hosted agents whose servers are to be killed. Its tool hang does
// not return before the pipe is read.
func hosting(t *testing.T, store string) (f *serverFleet, pipe string) {
	t.Helper()
	f = mortal(t, store, providersOf)
	pipe = filepath.Join(f.dir, "pipe")
	for _, path := range []string{pipe, pipe + "2"} {
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	config, err := os.ReadFile(filepath.Join(f.dir, "config.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(config), "agents: {clerk: {model_id: m}}\n", fmt.Sprintf(`  hang: {type: command, description: Hangs., command: [sh, -c, "echo hung >>'%s'; echo on >'%s'"], effect: once}
agents:
  clerk: {model_id: m}
  keeper: {endpoint: {backend: provider, target: keeper}}
  forgetful: {endpoint: {backend: provider, target: forgetful}}
`, f.counted, pipe), 1)
	for name, text := range map[string]string{"config.yaml": text, "keeper.yaml": keeperConfig, "keeper-script.yaml": keeperScript} {
		if err := os.WriteFile(filepath.Join(f.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return f, pipe
}

// beginAt creates a provider's turn in its own session, with a text and with tools, a JSON array of
// references.
func (c *sessionsClient) beginAt(provider, text, tools string) *follower {
	c.t.Helper()
	var session, turn struct{ ID string }
	c.ask("POST", "/sessions", fmt.Sprintf(`{"provider":%q}`, provider), &session)
	c.ask("POST", "/sessions/"+session.ID+"/turns", fmt.Sprintf(`{"messages":[{"role":"user","text":%q}],"toolRefs":%s}`, text, tools), &turn)
	return &follower{sessionsClient: c, turnID: turn.ID}
}

// hostedEnd is the outcome of a turn.
type hostedEnd struct {
	Status, OutputText, StatusMessage string
}

// ended follows the turn to its end and returns the outcome.
func (f *follower) ended() (o hostedEnd) {
	f.t.Helper()
	f.finish()
	f.ask("GET", "/turns/"+f.turnID, "", &o)
	return o
}

// awaitFile waits until a file contains a text.
func awaitFile(t *testing.T, path, text string) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for late := time.After(storeTime); ; {
		data, _ := os.ReadFile(path)
		if strings.Contains(string(data), text) {
			return
		}
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("%s has %q, not %q", path, data, text)
		}
	}
}

func TestTurnsAtProvidersSurviveTheDeathOfTheirServer(t *testing.T) {
	t.Parallel()
	const all = `[{"plugin":"*"}]` // safe tools alone exclude count and hang
	const story = "once upon a time there was a server that was killed in the middle of a word and yet told all of it to the end"
	for name, store := range map[string]func(*testing.T) string{"sqlite": onSQLite, "postgres": onPostgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, pipe := hosting(t, store(t))
			s := f.start("127.0.0.1:0")
			c := &sessionsClient{t: t, base: s.url}
			told, lost := c.beginAt("keeper", "Tell a story", "[]"), c.beginAt("forgetful", "hold "+pipe+"2", "[]")
			counted, hung := c.beginAt("keeper", "Count once", all), c.beginAt("keeper", "Hang once", all)
			if got := counted.ended(); got.Status != "succeeded" || got.OutputText != "That was all." {
				t.Errorf("a turn came to %+v", got)
			}
			awaitFile(t, f.counted, "hung")
			told.read("assistant.delta", 3)
			s.kill()
			f.start(s.address)

			if got := told.ended(); got.Status != "succeeded" || got.OutputText != story || told.answer() != story {
				t.Errorf("a turn that its provider keeps came to %+v, and showed %q", got, told.answer())
			}
			told.compare()
			if got := lost.ended(); got.Status != "failed" || !strings.Contains(got.StatusMessage, "provider") {
				t.Errorf("a turn that its provider has lost came to %+v", got)
			}
			if got := hung.ended(); got.Status != "succeeded" || got.OutputText != "That was all." {
				t.Errorf("a turn whose tool was running came to %+v", got)
			}
			if left, err := os.ReadFile(f.counted); strings.Count(string(left), "counted\n") != 1 || strings.Count(string(left), "hung\n") != 1 {
				t.Errorf("the tools of the server left %q, %v", left, err)
			}
			if got := c.beginAt("forgetful", "call count", all).ended(); got.Status != "succeeded" {
				t.Errorf("a turn at the process that took the place of the lost one came to %+v", got)
			}
		})
	}
}
