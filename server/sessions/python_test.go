package sessions

import (
	"errors"
	"os/exec"
	"testing"

	"github.com/agentruntime/agentruntime/internal/testkit/needs"
)

// TestAClientInPython runs a client that was written from docs/protocols/sessions.md alone.
func TestAClientInPython(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		needs.Missing(t, errors.New("no Python: python3 is not in PATH"))
	}
	w := serving(t, twoProviders)
	out, err := exec.CommandContext(t.Context(), python, "testdata/client.py", w.url+"/api/v1/agent", "alice").CombinedOutput()
	if err != nil || string(out) != "done\n" {
		t.Errorf("%v\n%s", err, out)
	}
}
