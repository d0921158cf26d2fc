package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/cli/internal/terminal"
)

// TestDiffOfLargeFilesCostsLittleMoreThanValidation compares two files of 1,000 agents that differ
// in one agent. Only this agent is resolved again, so diff allocates at most three times as much as
// validate.
func TestDiffOfLargeFilesCostsLittleMoreThanValidation(t *testing.T) {
	dir := t.TempDir()
	before, after := filepath.Join(dir, "before.yaml"), filepath.Join(dir, "after.yaml")
	large := largeFleet(1_000)
	for name, text := range map[string]string{before: large, after: strings.Replace(large, "prompt 7\n", "another prompt\n", 1)} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	validated := allocatedBy(t, "validate", before)
	compared := allocatedBy(t, "diff", before, after)
	if compared > 3*validated {
		t.Errorf("diff allocates %d MB, and validate %d MB", compared>>20, validated>>20)
	}
}

// largeFleet is a configuration of many agents that share 100 tools.
func largeFleet(agents int) string {
	var b strings.Builder
	b.WriteString("version: 1\nproviders:\n  p: {type: openai, base_url: 'http://127.0.0.1:9/v1'}\nmodels:\n  m: {provider_id: p, upstream_model: m}\ntools:\n")
	for i := range 100 {
		fmt.Fprintf(&b, "  t%d: {type: http, description: tool, method: GET, url: 'https://example.com/%d'}\n", i, i)
	}
	b.WriteString("agents:\n")
	for i := range agents {
		fmt.Fprintf(&b, "  a%d:\n    model_id: m\n    description: agent\n    system_prompt: prompt %d\n    allowed_tool_patterns: ['t*']\n", i, i)
	}
	return b.String()
}

// allocatedBy returns the number of bytes that a command allocates.
func allocatedBy(t *testing.T, args ...string) uint64 {
	t.Helper()
	var before, after runtime.MemStats
	var errs bytes.Buffer
	runtime.ReadMemStats(&before)
	if code := run(context.Background(), args, terminal.Streams{In: strings.NewReader(""), Out: io.Discard, Err: &errs}); code != 0 {
		t.Fatalf("%v: exit code %d: %s", args, code, errs.String())
	}
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
