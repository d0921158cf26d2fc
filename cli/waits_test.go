package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/cli/internal/command"
)

// peerThatAsks is the configuration of a server whose agent needs approval to pay.
const peerThatAsks = `version: 1
providers:
  once: {type: scripted, script: ./once.yaml}
models:
  once: {provider_id: once, upstream_model: x}
tools:
  pay: {type: command, description: Pays a bill., command: [cat]}
agents:
  clerk:
    model_id: once
    plugin_ids: [permission]
    sections: {permission: {default_behavior: allow, rules: [{tool: pay, behavior: ask}]}}
`

const pays = `replies:
  - match: Pay
    tool_calls: [{id: call_1, name: pay, arguments: {amount: 12}}]
  - match: refused
    text: It is not paid.
  - text: It is paid.
`

// waitingConfig is a configuration whose agents each wait for something else. Its variables are the
// addresses of a server of this program and of a silent server.
const waitingConfig = `version: 1
providers:
  silent: {type: scripted, script: ./silent.yaml}
  busy: {type: scripted, script: ./busy.yaml}
  once: {type: scripted, script: ./once.yaml}
  asks: {type: scripted, script: ./asks.yaml}
  asks_fake: {type: scripted, script: ./asks_fake.yaml}
  calls: {type: scripted, script: ./calls.yaml}
models:
  silent: {provider_id: silent, upstream_model: x}
  busy: {provider_id: busy, upstream_model: x}
  once: {provider_id: once, upstream_model: x}
  asks: {provider_id: asks, upstream_model: x}
  asks_fake: {provider_id: asks_fake, upstream_model: x}
  calls: {provider_id: calls, upstream_model: x}
tools:
  pay: {type: command, description: Pays a bill., command: [cat]}
  sleep: {type: command, description: Sleeps., command: [sleep, "60"]}
agents:
  model: {model_id: silent, allowed_tools: []}
  retry: {model_id: busy, allowed_tools: [], sections: {retry: {max_retries: 5}}}
  tool: {model_id: calls, allowed_tools: [sleep]}
  person:
    model_id: once
    allowed_tools: [pay]
    plugin_ids: [permission]
    sections: {permission: {default_behavior: allow, rules: [{tool: pay, behavior: ask}]}}
  peer: {endpoint: {backend: a2a, base_url: "${PEER}", target: clerk, options: {allow_private: [127.0.0.1]}}}
  fake: {endpoint: {backend: a2a, base_url: "${FAKE}", options: {allow_private: [127.0.0.1]}}}
  mute: {endpoint: {backend: a2a, base_url: "${MUTE}", options: {allow_private: [127.0.0.1]}}}
  boss: {model_id: asks, delegates: [peer], allowed_tools: [agent_run_peer]}
  boss_of_fake: {model_id: asks_fake, delegates: [fake], allowed_tools: [agent_run_fake]}
`

var waitingFiles = map[string]string{
	"config.yaml":    waitingConfig,
	"once.yaml":      pays,
	"silent.yaml":    "replies: [{text: Done., delay: 60s}]\n",
	"busy.yaml":      "replies: [{error: {class: rate_limited, retry_after: 50s, times: 9}}]\n",
	"calls.yaml":     "replies: [{tool_calls: [{id: call_1, name: sleep, arguments: {}}]}]\n",
	"asks.yaml":      "replies: [{tool_calls: [{id: call_1, name: agent_run_peer, arguments: {prompt: Pay the bill}}]}, {text: Thanks.}]\n",
	"asks_fake.yaml": "replies: [{tool_calls: [{id: call_1, name: agent_run_fake, arguments: {prompt: Pay the bill}}]}, {text: Thanks.}]\n",
}

func filesIn(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// fakePeer answers every message with a question and counts the canceled tasks.
type fakePeer struct {
	mu       sync.Mutex
	asked    int
	canceled int
}

func (p *fakePeer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if r.Method == http.MethodGet {
		fmt.Fprintf(w, `{"name":"fake","description":"","version":"1","capabilities":{},"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"skills":[],
			"supportedInterfaces":[{"url":"http://%s/","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`, r.Host)
		return
	}
	var call struct {
		ID     json.RawMessage
		Method string
	}
	_ = json.NewDecoder(r.Body).Decode(&call)
	p.mu.Lock()
	defer p.mu.Unlock()
	state := "TASK_STATE_INPUT_REQUIRED"
	switch call.Method {
	case "SendMessage":
		p.asked++
	case "CancelTask":
		p.canceled++
		state = "TASK_STATE_CANCELED"
	}
	task := fmt.Sprintf(`{"id":"t1","contextId":"c1","status":{"state":%q,"message":{"messageId":"q","role":"ROLE_AGENT","parts":[{"text":"Which one?"}]}}}`, state)
	if call.Method == "SendMessage" {
		task = `{"task":` + task + `}`
	}
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, call.ID, task)
}

func (p *fakePeer) counts() (asked, canceled int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked, p.canceled
}

// mute returns the address of a server that accepts connections and sends nothing.
func mute(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l.Addr().String()
}

// standing is a server of this program with an agent that asks, and its tasks.
func standing(t *testing.T) *victim {
	t.Helper()
	f := &serverFleet{t: t, dir: filesIn(t, map[string]string{"config.yaml": peerThatAsks, "once.yaml": pays})}
	return f.start("127.0.0.1:0")
}

// tasks returns the states of a server's turns.
func tasks(t *testing.T, server string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "runtime", "turns", "--server", server, "--format", "json").Output()
	if err != nil {
		t.Fatal(err)
	}
	var list struct{ Turns []struct{ Status string } }
	if err := json.Unmarshal(out, &list); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	states := make([]string, len(list.Turns))
	for i := range list.Turns {
		states[i] = list.Turns[i].Status
	}
	return strings.Join(states, " ")
}

// mostCPU limits the CPU time of a command, including startup. A command that busy-waits for these
// seconds uses more.
const mostCPU = 3 * time.Second

// Whatever a turn waits for, and wherever its answer would come from, a signal ends the command:
// soon, with code 130, one terminal event and no busy waiting, and with no task left running at a
// peer.
func TestASignalEndsACommandWhateverItsTurnWaitsFor(t *testing.T) {
	peer := standing(t)
	for _, test := range []struct {
		agent string
		// after is the event after which the turn waits.
		after string
		// answered is set if the turn needs an answer.
		answered bool
	}{
		{"model", "step_start", false},
		{"retry", "model_retry", false},
		{"tool", "tool_call_ready", false},
		{"person", "interaction_requested", true},
		{"peer", "interaction_requested", true},
		{"fake", "interaction_requested", true},
		{"mute", "step_start", false},
		{"boss", "interaction_requested", true},
		{"boss_of_fake", "interaction_requested", true},
	} {
		for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
			t.Run(test.agent+"/"+sig.String(), func(t *testing.T) {
				fake := &fakePeer{}
				server := httptest.NewServer(fake)
				defer server.Close()
				dir := filesIn(t, waitingFiles)
				args := []string{"run", "config.yaml", test.agent, "Pay the bill", "--format", "events"}
				if test.answered {
					args = append(args, "--approve", "ask")
				}
				cmd := exec.CommandContext(t.Context(), "runtime", args...)
				cmd.Dir = dir
				cmd.Env = append(os.Environ(), "PEER="+peer.url+"/a2a", "FAKE="+server.URL, "MUTE=http://"+mute(t))
				in, err := cmd.StdinPipe() // which nobody writes to
				if err != nil {
					t.Fatal(err)
				}
				defer in.Close()
				var stderr bytes.Buffer
				cmd.Stderr = &stderr
				out, err := cmd.StdoutPipe()
				if err == nil {
					err = cmd.Start()
				}
				if err != nil {
					t.Fatal(err)
				}
				log := readUntil(t, out, `"`+test.after+`"`, &stderr)
				if err := cmd.Process.Signal(sig); err != nil {
					t.Fatal(err)
				}
				begun := time.Now()
				if _, err := io.Copy(log, out); err != nil {
					t.Fatal(err)
				}
				failed, ok := errors.AsType[*exec.ExitError](cmd.Wait())
				if !ok || failed.ExitCode() != command.Canceled {
					t.Fatalf("it ended with %v\n%s\n%s", failed, log, stderr.String())
				}
				if took := time.Since(begun); took > 30*time.Second {
					t.Errorf("it took %s to end", took)
				}
				if used := failed.UserTime() + failed.SystemTime(); used > mostCPU {
					t.Errorf("it used %s of a processor", used)
				}
				if status, err := checkEvents(log.String()); err != nil || status != "canceled" {
					t.Errorf("the turn ended %s, %v\n%s", status, err, log)
				}
				if asked, canceled := fake.counts(); canceled < asked {
					t.Errorf("of %d tasks of the peer %d were canceled", asked, canceled)
				}
				if states := tasks(t, peer.url); strings.Contains(states, "waiting") || strings.Contains(states, "running") {
					t.Errorf("the tasks of the peer are %s", states)
				}
			})
		}
	}
}

// readUntil reads lines until one contains a text.
func readUntil(t *testing.T, out io.Reader, text string, stderr *bytes.Buffer) *bytes.Buffer {
	t.Helper()
	var log bytes.Buffer
	one := make([]byte, 1)
	for line := ""; ; line = "" {
		for !strings.HasSuffix(line, "\n") {
			if _, err := io.ReadFull(out, one); err != nil {
				t.Fatalf("no %s: %v\n%s%s", text, err, log.String(), stderr.String())
			}
			line += string(one)
		}
		log.WriteString(line)
		if strings.Contains(line, text) {
			return &log
		}
	}
}

// A remote agent's question is answered like a local agent's, however the answers arrive; if no
// answer is possible the command fails, names the awaited answer, and leaves no task at the peer.
func TestAPeerThatAsksIsAnsweredAsAnAgentHere(t *testing.T) {
	peer := standing(t)
	for _, agent := range []string{"person", "peer"} {
		for _, test := range []struct {
			approve, in string
			code        int
			out, err    string
			// task is the outcome of the peer's task.
			task string
		}{
			{"yes", "", 0, "It is paid.\n", "  yes\n", "succeeded"},
			{"no", "", 0, "It is not paid.\n", "  no\n", "succeeded"},
			{"ask", "y\n", 0, "It is paid.\n", "needs your approval", "succeeded"},
			{"ask", "s\n", 0, "It is paid.\n", "[s] for the session", "succeeded"},
			{"ask", "n\n", 0, "It is not paid.\n", "anything else refuses", "succeeded"},
			{"ask", "", 0, "It is not paid.\n", "anything else refuses", "succeeded"},
			{"auto", "", command.Failed, "", "the turn waits for a person, and this command cannot ask one\n  Agent", "canceled"},
		} {
			t.Run(agent+"/"+test.approve+" "+strings.TrimSpace(test.in), func(t *testing.T) {
				cmd := exec.CommandContext(t.Context(), "runtime", "run", "config.yaml", agent, "Pay the bill", "--approve", test.approve)
				cmd.Dir = filesIn(t, waitingFiles)
				cmd.Env = append(os.Environ(), "PEER="+peer.url+"/a2a", "FAKE=http://127.0.0.1:1", "MUTE=http://127.0.0.1:1")
				cmd.Stdin = strings.NewReader(test.in)
				var stdout, stderr bytes.Buffer
				cmd.Stdout, cmd.Stderr = &stdout, &stderr
				code := 0
				if failed, ok := errors.AsType[*exec.ExitError](cmd.Run()); ok {
					code = failed.ExitCode()
				}
				if code != test.code || !strings.HasSuffix(stdout.String(), test.out) || !strings.Contains(stderr.String(), test.err) {
					t.Errorf("code %d\n%s\n%s", code, stdout.String(), stderr.String())
				}
				states := tasks(t, peer.url)
				if agent == "peer" && !strings.Contains(states, test.task) || strings.Contains(states, "waiting") || strings.Contains(states, "running") {
					t.Errorf("the tasks of the peer are %s", states)
				}
			})
		}
	}
}
