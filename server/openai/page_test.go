package openai

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/agentruntime/agentruntime/internal/testkit/nodeenv"
	"github.com/agentruntime/agentruntime/internal/testkit/pyenv"
)

var pageProgram = regexp.MustCompile("(?s)```(python|js)\n(?:#|//) client: (?:python|node)\n(.*?)```")

// TestTheProgramsOfThePage runs the programs of docs/protocols/clients.md.
func TestTheProgramsOfThePage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/protocols/clients.md")
	if err != nil {
		t.Fatal(err)
	}
	programs := pageProgram.FindAllSubmatch(page, -1)
	if len(programs) < 3 {
		t.Fatalf("the page has %d programs", len(programs))
	}
	w := serving(t)
	requirements, err := os.ReadFile("testdata/requirements.txt")
	if err != nil {
		t.Fatal(err)
	}
	node := nodeenv.Install(t, manifests)
	for _, found := range programs {
		head := "base, key = '" + w.URL + "/v1', 'alice'\n"
		if string(found[1]) == "js" {
			node.Run(t, append([]byte("const base = '"+w.URL+"/v1', key = 'alice'\n"), found[2]...))
			continue
		}
		path := filepath.Join(t.TempDir(), "program.py")
		if err := os.WriteFile(path, append([]byte(head), found[2]...), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.CommandContext(t.Context(), pyenv.Interpreter(t, requirements), "-B", path).CombinedOutput(); err != nil || len(out) == 0 {
			t.Errorf("%v: %s", err, out)
		}
	}
}
