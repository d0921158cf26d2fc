package docs_test

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// TestDemos runs the demonstrations that no page shows as a whole. Their output differs
// from run to run; a demonstration that ends proves that each thing it waits for
// happened.
func TestDemos(t *testing.T) {
	for _, name := range []string{"durable", "evals", "federation", "service", "workspaces"} {
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
