package openai

import (
	"os"
	"os/exec"
	"testing"

	"github.com/agentruntime/agentruntime/internal/testkit/pyenv"
)

// runPython runs a program with the packages of a requirements file.
func (w *world) runPython(requirements, program string) {
	w.t.Helper()
	list, err := os.ReadFile("testdata/" + requirements)
	if err != nil {
		w.t.Fatal(err)
	}
	cmd := exec.CommandContext(w.t.Context(), pyenv.Interpreter(w.t, list), "-B", "testdata/"+program)
	cmd.Env = append(os.Environ(), "URL="+w.url)
	if out, err := cmd.CombinedOutput(); err != nil {
		w.t.Errorf("%v:\n%s", err, out)
	}
}

func TestThePythonSDK(t *testing.T) {
	t.Parallel()
	serving(t).runPython("requirements.txt", "sdk.py")
}

func TestPythonLibraries(t *testing.T) {
	t.Parallel()
	serving(t).runPython("libraries.txt", "libraries.py")
}
