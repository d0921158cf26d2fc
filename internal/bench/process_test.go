//go:build unix

package bench

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// BenchmarkValidateProcess measures "runtime validate" as a whole process. The metric peak-MiB is
// the peak resident memory of a run.
func BenchmarkValidateProcess(b *testing.B) {
	command := buildCommand(b)
	b.Run("team", func(b *testing.B) { validateProcess(b, command, "../../examples/team/config.yaml") })
	for _, agents := range []int{1_000, 10_000} {
		b.Run(fmt.Sprintf("agents=%d/tools=200", agents), func(b *testing.B) {
			file := filepath.Join(b.TempDir(), "fleet.yaml")
			if err := os.WriteFile(file, fleet(agents, 200), 0o600); err != nil {
				b.Fatal(err)
			}
			validateProcess(b, command, file)
		})
	}
}

// BenchmarkServeProcess measures the time until "runtime serve" listens, as a whole process.
func BenchmarkServeProcess(b *testing.B) {
	command := buildCommand(b)
	file := filepath.Join(b.TempDir(), "config.yaml")
	config := append(fleet(1, 1), "server:\n  listen: 127.0.0.1:0\n  keys:\n    - {id: desk, key: a-key-of-32-characters-that-is-for-tests}\n"...)
	if err := os.WriteFile(file, config, 0o600); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		cmd := exec.CommandContext(b.Context(), command, "serve", file)
		log, err := cmd.StderrPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			b.Fatal(err)
		}
		lines := bufio.NewScanner(log)
		for lines.Scan() && !strings.Contains(lines.Text(), "listening on") {
		}
		if lines.Err() != nil || lines.Text() == "" {
			b.Error("the server does not start", lines.Err())
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	}
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms/start")
}

// buildCommand builds the runtime and returns its path.
func buildCommand(b *testing.B) string {
	b.Helper()
	command := filepath.Join(b.TempDir(), "runtime")
	if out, err := exec.CommandContext(b.Context(), "go", "build", "-o", command, "../../cmd/runtime").CombinedOutput(); err != nil {
		b.Fatalf("build the command: %v\n%s", err, out)
	}
	return command
}

func validateProcess(b *testing.B, command, file string) {
	b.Helper()
	var peak int64
	for b.Loop() {
		cmd := exec.CommandContext(b.Context(), command, "validate", file)
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
		if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok && runtime.GOOS == "linux" {
			peak = max(peak, usage.Maxrss)
		}
	}
	b.ReportMetric(float64(peak)/1024, "peak-MiB")
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms/run")
}

// fleet returns a configuration of many agents: each with a model, patterns, an
// exclusion, a delegate and a section.
func fleet(agents, tools int) []byte {
	var s strings.Builder
	s.WriteString("version: 1\nproviders:\n  demo: {type: scripted}\nmodels:\n")
	const models = 20
	for i := range models {
		fmt.Fprintf(&s, "  m%d: {provider_id: demo, upstream_model: up%d}\n", i, i)
	}
	s.WriteString("tools:\n")
	for i := range tools {
		fmt.Fprintf(&s, `  tool_%d:
    type: command
    description: Tool number %d.
    command: [wc, -w]
    parameters:
      type: object
      properties:
        text: {type: string, description: The text.}
        limit: {type: integer, minimum: 0}
      required: [text]
      additionalProperties: false
    effect: read
`, i, i)
	}
	s.WriteString("agents:\n")
	for i := range agents {
		fmt.Fprintf(&s, `  agent_%d:
    description: Agent number %d.
    model_id: m%d
    system_prompt: You are agent %d and you help.
    max_rounds: 8
    allowed_tool_patterns: ["tool_%d*", "agent_run_*"]
    excluded_tools: [tool_%d]
    sections:
      retry: {max_retries: 3}
`, i, i, i%models, i, i%10, i%tools)
		if i+1 < agents {
			fmt.Fprintf(&s, "    delegates: [agent_%d]\n", i+1)
		}
	}
	return []byte(s.String())
}
