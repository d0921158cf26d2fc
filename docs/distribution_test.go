package docs_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	// distribution is a team's module that builds the command with its own components, and minimal
	// a module that builds it with few.
	distribution = "../examples/distribution"
	minimal      = "../examples/minimal"
)

// TestADistributionKnowsTheTeamsOwnKinds builds the command of examples/distribution, as a
// team would, and runs it.
func TestADistributionKnowsTheTeamsOwnKinds(t *testing.T) {
	t.Parallel()
	acme := filepath.Join(t.TempDir(), "acme")
	runIn(t, distribution, 0, "go", "vet", "./...")
	runIn(t, distribution, 0, "go", "build", "-o", acme, ".")
	mistakes, err := os.ReadFile(filepath.Join(distribution, "broken.golden"))
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		args []string
		code int
		// all is the whole output, or part is a substring of it.
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
			out := runIn(t, distribution, tt.code, acme, tt.args...)
			if tt.all != "" && out != tt.all || !strings.Contains(out, tt.part) {
				t.Errorf("the output is\n%s\nnot\n%s", out, tt.all+tt.part)
			}
		})
	}
}

// TestASmallProgramKnowsWhatItIsBuiltWith builds the command of examples/minimal and runs
// it.
func TestASmallProgramKnowsWhatItIsBuiltWith(t *testing.T) {
	t.Parallel()
	agents := filepath.Join(t.TempDir(), "agents")
	runIn(t, minimal, 0, "go", "vet", "./...")
	runIn(t, minimal, 0, "go", "build", "-o", agents, ".")
	mistakes, err := os.ReadFile(filepath.Join(minimal, "broken.golden"))
	if err != nil {
		t.Fatal(err)
	}
	if out := runIn(t, minimal, 1, agents, "validate", "broken.yaml"); out != string(mistakes) {
		t.Errorf("validate writes\n%s\nnot\n%s", out, mistakes)
	}
	if out := runIn(t, minimal, 0, agents, "validate", "config.yaml"); out != "no problems in 1 agent\n" {
		t.Errorf("validate writes\n%s", out)
	}
	schema := runIn(t, minimal, 0, agents, "schema")
	for _, part := range []string{`"openai"`, `"http"`, `"sqlite"`, "server_native"} {
		if !strings.Contains(schema, part) {
			t.Errorf("the schema lacks %s", part)
		}
	}
	for _, part := range []string{"anthropic", `"google"`, "scripted", `"allow_dash"`, `"tool.mcp"`, `"postgres"`, `"memory"`, "server_a2a", "server_agent_runs"} {
		if strings.Contains(schema, part) {
			t.Errorf("the schema has %s", part)
		}
	}
	if scopes := runIn(t, minimal, 0, agents, "__complete", "keys", "refresh", "--scope", ""); strings.Contains(scopes, "a2a:") {
		t.Errorf("the scopes are\n%s", scopes)
	}
}

// TestASmallProgramContainsNothingElse compares the packages of examples/minimal with the full
// command's packages. Every command contains the scripted model and the grammar of permission
// rules, which evals use.
func TestASmallProgramContainsNothingElse(t *testing.T) {
	t.Parallel()
	whole := strings.Fields(runIn(t, "..", 0, "go", "list", "-deps", "./cmd/runtime"))
	small := strings.Fields(runIn(t, minimal, 0, "go", "list", "-deps", "."))
	t.Logf("%d packages of %d", len(small), len(whole))
	const own = "github.com/agentruntime/agentruntime/"
	for _, tree := range []string{
		own + "app/shipped",
		own + "model/anthropic", own + "model/azure", own + "model/bedrock", own + "model/google", own + "model/vertex",
		own + "tools/command", own + "tools/mcp", own + "tools/ask", own + "plugins/log",
		own + "backend/a2a", own + "store/postgres", own + "store/memory", own + "store/postgres/river", own + "server/a2a", own + "server/agentruns",
		"github.com/a2aproject", "github.com/jackc", "github.com/riverqueue", "github.com/modelcontextprotocol", "github.com/aws",
	} {
		below := func(p string) bool { return p == tree || strings.HasPrefix(p, tree+"/") }
		if slices.ContainsFunc(small, below) {
			t.Errorf("the program contains %s", tree)
		}
		if !slices.ContainsFunc(whole, below) {
			t.Errorf("there is no %s to leave out", tree)
		}
	}
}

// runIn runs a program in a module and returns its output.
func runIn(t *testing.T, dir string, code int, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "OPENAI_API_KEY=key")
	out, err := cmd.CombinedOutput()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) || cmd.ProcessState.ExitCode() != code {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}
