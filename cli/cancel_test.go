package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/cli/internal/command"
	"github.com/agentruntime/agentruntime/cli/internal/terminal"
)

// slow is a configuration whose agents take a minute.
const slow = `version: 1
providers:
  waits: {type: scripted, script: ./waits.yaml}
  calls: {type: scripted, script: ./calls.yaml}
models:
  waits: {provider_id: waits, upstream_model: x}
  calls: {provider_id: calls, upstream_model: x}
tools:
  sleep: {type: command, description: Sleeps., command: [sleep, "60"]}
agents:
  waits: {model_id: waits, description: Waits., allowed_tools: []}
  calls: {model_id: calls}
  lead: {model_id: calls, delegates: [waits], allowed_tools: [sleep, agent_run_waits]}
`

var slowFiles = map[string]string{
	"config.yaml": slow,
	"waits.yaml":  "replies: [{text: Done., delay: 60s}]\n",
	"calls.yaml": `replies:
  - match: delegate
    tool_calls: [{id: call_1, name: agent_run_waits, arguments: {prompt: Wait}}]
  - tool_calls: [{id: call_1, name: sleep, arguments: {}}]
`,
}

// TestCancel interrupts a real process in the middle of a turn: it ends soon,
// with code 130 and one run_finish.
func TestCancel(t *testing.T) {
	for _, test := range []struct{ name, agent, prompt, after string }{
		{"model", "waits", "hello", `"step_start"`},
		{"tool", "calls", "hello", `"tool_call_ready"`},
		{"delegate", "lead", "delegate", `"tool_call_ready"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			cmd := slowCommand(t, "run", "config.yaml", test.agent, test.prompt, "--format", "events")
			var stderr strings.Builder
			cmd.Stderr = &stderr
			stdout, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			begun := time.Now()
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			var log strings.Builder
			lines := bufio.NewReader(io.TeeReader(stdout, &log))
			for {
				line, err := lines.ReadString('\n')
				if err != nil {
					t.Fatalf("no %s: %v\n%s%s", test.after, err, log.String(), stderr.String())
				}
				if strings.Contains(line, test.after) {
					break
				}
			}
			interrupt(t, cmd)
			if _, err := io.Copy(io.Discard, lines); err != nil {
				t.Fatal(err)
			}
			wantCanceled(t, cmd, begun)
			if status, err := checkEvents(log.String()); err != nil || status != "canceled" {
				t.Errorf("the turn ended %s, %v\n%s", status, err, log.String())
			}
			if got := stderr.String(); got != "runtime: canceled\n" {
				t.Errorf("stderr is %q", got)
			}
		})
	}
}

// TestCancelPrompt interrupts a process that waits for its prompt.
func TestCancelPrompt(t *testing.T) {
	t.Parallel()
	cmd := slowCommand(t, "run", "config.yaml", "waits", "-")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	begun := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// More than a pipe holds: once it is written the process is reading, and the process listens
	// for signals before it reads.
	if _, err := stdin.Write(bytes.Repeat([]byte("a long prompt "), 1<<16)); err != nil {
		t.Fatal(err)
	}
	interrupt(t, cmd)
	wantCanceled(t, cmd, begun)
}

// TestCanceled runs commands that were canceled before they began.
func TestCanceled(t *testing.T) {
	dir := slowDir(t)
	config := filepath.Join(dir, "config.yaml")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, args := range [][]string{
		{"validate", config},
		{"explain", config, "waits"},
		{"explain", config, "waits", "--tool", "sleep"},
		{"diff", config, config},
		{"run", config, "waits", "hello"},
	} {
		var stdout, stderr strings.Builder
		code := run(ctx, args, terminal.Streams{In: strings.NewReader(""), Out: &stdout, Err: &stderr})
		if code != command.Canceled || stdout.String() != "" || stderr.String() != "runtime: canceled\n" {
			t.Errorf("%v: exit code %d, stdout %q, stderr %q", args, code, stdout.String(), stderr.String())
		}
	}
}

func slowDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range slowFiles {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// slowCommand returns the program as a separate process.
func slowCommand(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Second)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, "runtime", args...)
	cmd.Dir = slowDir(t)
	return cmd
}

func interrupt(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
}

func wantCanceled(t *testing.T, cmd *exec.Cmd, begun time.Time) {
	t.Helper()
	err := cmd.Wait()
	if failed, ok := errors.AsType[*exec.ExitError](err); !ok || failed.ExitCode() != command.Canceled {
		t.Errorf("the process ended with %v, want code %d", err, command.Canceled)
	}
	if took := time.Since(begun); took > 30*time.Second {
		t.Errorf("it took %s", took)
	}
}
