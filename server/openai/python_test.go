package openai

import (
	"os"
	"os/exec"
	"reflect"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/testkit/pyenv"
	"github.com/agentruntime/agentruntime/server/openai/internal/chat"
	"github.com/agentruntime/agentruntime/server/openai/internal/responses"
	"github.com/agentruntime/agentruntime/server/openai/internal/run"
)

// runPython runs a program with the packages of a requirements file.
func (w *world) runPython(requirements, program string) {
	w.t.Helper()
	list, err := os.ReadFile("testdata/" + requirements)
	if err != nil {
		w.t.Fatal(err)
	}
	cmd := exec.CommandContext(w.t.Context(), pyenv.Interpreter(w.t, list), "-B", "testdata/"+program)
	cmd.Env = append(os.Environ(), "URL="+w.URL, "CHAT="+parameterNames(chat.Parameters), "RESPONSES="+parameterNames(responses.Parameters))
	if out, err := cmd.CombinedOutput(); err != nil {
		w.t.Errorf("%v:\n%s", err, out)
	}
}

func parameterNames(table []run.Parameter) string {
	names := make([]string, len(table))
	for i := range table {
		names[i] = table[i].Name
	}
	return strings.Join(names, " ")
}

// TestEveryParameterIsInTheTables: what is decoded is honored, and the other way round.
// That the tables have each parameter of the vendor's SDK, its test checks.
func TestEveryParameterIsInTheTables(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		table   []run.Parameter
		decoded reflect.Type
	}{
		"chat": {chat.Parameters, reflect.TypeFor[chat.Request]()}, "responses": {responses.Parameters, reflect.TypeFor[responses.Request]()},
	} {
		uses := map[string]run.Use{}
		for _, p := range tt.table {
			if uses[p.Name] != "" {
				t.Errorf("%s: %s is there twice", name, p.Name)
			}
			uses[p.Name] = p.Use
		}
		decoded := map[string]bool{}
		for _, f := range reflect.VisibleFields(tt.decoded) {
			field, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if decoded[field] = true; field != "" && uses[field] != run.Honored && uses[field] != run.Checked {
				t.Errorf("%s: %s is decoded and %q", name, field, uses[field])
			}
		}
		for field, use := range uses {
			if use == run.Honored && !decoded[field] {
				t.Errorf("%s: %s is honored and not decoded", name, field)
			}
		}
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
