package docs_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// distribution is the module of a team that builds the command with its own components.
const distribution = "../examples/distribution"

// TestADistributionKnowsTheTeamsOwnKinds builds the command of examples/distribution, as a
// team would, and runs it.
func TestADistributionKnowsTheTeamsOwnKinds(t *testing.T) {
	t.Parallel()
	acme := filepath.Join(t.TempDir(), "acme")
	runIn(t, 0, "go", "vet", "./...")
	runIn(t, 0, "go", "build", "-o", acme, ".")
	mistakes, err := os.ReadFile(filepath.Join(distribution, "broken.golden"))
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		args []string
		code int
		// all is the whole output, or part is in it.
		all, part string
	}{
		{name: "validate", args: []string{"validate", "config.yaml"}, all: "no problems in 1 agent\n"},
		{name: "validate finds mistakes in its kinds", args: []string{"validate", "broken.yaml"}, code: 1, all: string(mistakes)},
		{name: "schema of a tool kind", args: []string{"schema"}, part: "Opens a ticket for the team."},
		{name: "schema of a plugin kind", args: []string{"schema"}, part: "Blocks tool calls outside of the team's hours."},
		{name: "schema of a provider kind", args: []string{"schema"}, part: "Gives one answer to everything."},
		{name: "explain", args: []string{"explain", "config.yaml", "support"}, part: "open_ticket"},
		{name: "diff", args: []string{"diff", "config.yaml", "config.yaml"}, part: "no"},
		{name: "run", args: []string{"run", "config.yaml", "support", "Where is my order?"}, part: "We are on it."},
		{name: "its own command", args: []string{"agents", "config.yaml"}, all: "support\n"},
		{name: "help", args: []string{"--help"}, part: "List the agents of a configuration"},
		{name: "completion", args: []string{"__complete", "age"}, part: "agents\tList the agents of a configuration"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out := runIn(t, tt.code, acme, tt.args...)
			if tt.all != "" && out != tt.all || !strings.Contains(out, tt.part) {
				t.Errorf("the output is\n%s\nnot\n%s", out, tt.all+tt.part)
			}
		})
	}
}

// runIn runs a program in the module of the distribution and returns what it writes.
func runIn(t *testing.T, code int, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = distribution
	out, err := cmd.CombinedOutput()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) || cmd.ProcessState.ExitCode() != code {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}
