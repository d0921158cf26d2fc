package docs_test

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestDemo checks that "make demo" explains itself to a newcomer.
func TestDemo(t *testing.T) {
	script, err := filepath.Abs(filepath.Join(root, "examples", "demo.sh"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), script, program)
	cmd.Env = append(cmd.Environ(), "OPENAI_API_KEY=")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) > 120 {
		t.Errorf("the demo prints %d lines, more than 120", len(lines))
	}
	confusing := regexp.MustCompile(`^[{\[]|…$|Killed|Terminated|panic|"level":`)
	for i, line := range lines {
		if confusing.MatchString(line) || len(line) > 160 {
			t.Errorf("line %d is raw, cut off or looks like a failure: %s", i+1, line)
		}
	}
}

// TestDemos runs the demonstrations of "make demo-all". Each fails unless all expected events
// happen.
func TestDemos(t *testing.T) {
	for _, name := range []string{"durable", "evals", "federation", "service", "team", "workspaces"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script, err := filepath.Abs(filepath.Join(root, "examples", name, "demo.sh"))
			if err != nil {
				t.Fatal(err)
			}
			if out, err := exec.CommandContext(t.Context(), script, program).CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
