package cli

import (
	"fmt"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/cli/internal/command"
	"github.com/agentruntime/agentruntime/cli/internal/terminal"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/testkit/usage"
)

const (
	// patience is the CPU time limit for a hostile file; on an idle machine it takes less than two
	// seconds.
	patience = 15 * time.Second
	// appetite is the memory limit for a hostile file, in bytes.
	appetite = 768 << 20

	head = "version: 1\nproviders: {p: {type: scripted}}\nmodels: {m: {provider_id: p, upstream_model: x}}\n"
)

// TestHostile validates deliberately malicious files. Each ends soon, in bounded memory, with
// errors.
func TestHostile(t *testing.T) {
	if raceEnabled {
		t.Skip("time and memory mean little with the race detector: make plain runs it without")
	}
	for _, test := range []struct {
		name, text string
		code       diag.Code // of the only one, or all
		least      int
	}{
		{"5 MB", head + strings.Repeat("# what is this for\n", 5_000_000/19), diag.InvalidYAML, 1},
		{"10 MB", head + "agents: {a: {model_id: m, system_prompt: " + strings.Repeat("x", 10_000_000) + "}}\n", diag.InvalidYAML, 1},
		{"one line of 4.9 MB", head + "agents: {a: {model_id: n, system_prompt: " + strings.Repeat("x", 4_900_000) + "}}\n", diag.ModelNotFound, 1},
		{"agents in 4.6 MB", head + "agents:\n" + lines(50_000, "  agent-%d: {model_id: m, system_prompt: You are number %[1]d of them., max_rounds: -1}\n"), diag.InvalidValue, 1000},
		{"keys in 4.6 MB", head + "agents:\n  a:\n    model_id: m\n" + lines(250_000, "    key-%d: x\n"), diag.UnknownField, 1000},
		{"deep flow", head + "agents: " + strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000) + "\n", diag.InvalidYAML, 1},
		{"deep flow mappings", head + "agents: " + strings.Repeat("{a: ", 10_000) + "x" + strings.Repeat("}", 10_000) + "\n", diag.InvalidYAML, 1},
		{"deep block", head + "agents:\n" + deepBlock(2_000), diag.InvalidYAML, 1},
		{"deep sequences", head + "agents:\n" + strings.Repeat("- ", 10_000) + "x\n", diag.InvalidYAML, 1},
		{"unclosed", head + "agents: " + strings.Repeat("[", 100_000), diag.InvalidYAML, 1},
		{"alias bomb", head + aliasBomb() + "agents: {a: {model_id: m, sections: {x: *l9}}}\n", diag.InvalidYAML, 1},
		{"merge bomb", head + "agents:\n  a0: &a0 {model_id: n}\n" + lines(20_000, "  b%d: {<<: [*a0, *a0, *a0, *a0, *a0, *a0, *a0]}\n"), diag.ModelNotFound, 1},
		{"alias of itself", head + "agents: &a\n  b: *a\n", diag.InvalidYAML, 1},
		{"binary", "\x7fELF\x02\x01\x01\x00" + strings.Repeat("\x00\xff\xfe\x01", 100_000), diag.InvalidYAML, 1},
		{"random text", "\u00e9" + strings.Repeat("%@`\x00\n", 1000), diag.InvalidYAML, 1},
		{"wrong references", head + "agents:\n  b: {model_id: m}\n  a:\n    model_id: m\n    delegates:\n" + lines(1000, "      - agent-%d\n"), diag.AgentNotFound, 1000},
		{"wrong references of many agents", head + "agents:\n" + lines(1000, "  agent-%d: {model_id: model-%[1]d}\n"), diag.ModelNotFound, 1000},
		{"bad patterns", head + "agents:\n  a:\n    model_id: m\n    allowed_tool_patterns:\n" + lines(1000, "      - \"[%d\"\n"), diag.InvalidPattern, 1000},
	} {
		t.Run(test.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "config.yaml")
			if err := os.WriteFile(file, []byte(test.text), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, format := range []string{"json", "text"} {
				var stdout, stderr strings.Builder
				took, peak := measure(func() {
					code := run(t.Context(), []string{"validate", "--format", format, file}, terminal.Streams{Out: &stdout, Err: &stderr})
					if code != command.Failed || stderr.Len() > 0 {
						t.Errorf("exit code %d, stderr %q", code, stderr.String())
					}
				})
				t.Logf("%s: %s, %d MB, %d bytes", format, took.Round(time.Millisecond), peak>>20, stdout.Len())
				if took > patience || peak > appetite {
					t.Errorf("%s took %s and %d MB", format, took, peak>>20)
				}
				if stdout.Len() > 2<<20 {
					t.Errorf("%s has %d bytes", format, stdout.Len())
				}
				want := fmt.Sprintf("\nerror[%s]", test.code)
				if format == "json" {
					want = fmt.Sprintf("%q: %q,\n      \"severity\": \"error\"", "code", test.code)
				}
				if n := strings.Count("\n"+stdout.String(), want); n < test.least {
					t.Errorf("%s has %d of %s, want %d:\n%.2000s", format, n, test.code, test.least, stdout.String())
				}
			}
		})
	}
}

// measure returns the CPU time that f takes, and what the heap grows to meanwhile.
func measure(f func()) (time.Duration, uint64) {
	goruntime.GC()
	var before goruntime.MemStats
	goruntime.ReadMemStats(&before)
	var peak atomic.Uint64
	done := make(chan struct{})
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			var now goruntime.MemStats
			goruntime.ReadMemStats(&now)
			if now.HeapAlloc > before.HeapAlloc && now.HeapAlloc-before.HeapAlloc > peak.Load() {
				peak.Store(now.HeapAlloc - before.HeapAlloc)
			}
			select {
			case <-done:
				return
			case <-tick.C:
			}
		}
	}()
	begun := usage.CPUTime()
	f()
	took := usage.CPUTime() - begun
	close(done)
	<-stopped
	return took, peak.Load()
}

// lines returns n lines of a format with a number.
func lines(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

func deepBlock(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat(" ", i+1) + "a:\n")
	}
	return b.String()
}

func aliasBomb() string {
	text := "x0: &l0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := 1; i < 10; i++ {
		text += fmt.Sprintf("x%d: &l%[1]d [%s]\n", i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*l%d, ", i-1), 10), ", "))
	}
	return text
}
