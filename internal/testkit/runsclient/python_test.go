package runsclient_test

import (
	"os"
	"os/exec"
	"testing"

	"github.com/agentruntime/agentruntime/internal/testkit/pyenv"
)

func TestThePythonSDK(t *testing.T) {
	t.Parallel()
	requirements, err := os.ReadFile("testdata/requirements.txt")
	if err != nil {
		t.Fatal(err)
	}
	interpreter := pyenv.Interpreter(t, requirements)
	p := serve(t)
	refresh, err := runtimeCommand(t, "keys", "refresh", configuration(), scripts(), oauthClient)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), interpreter, "-B", "testdata/sdk.py")
	cmd.Env = append(os.Environ(), "URL="+p.url, "KEY="+desk, "CLIENT="+oauthClient, "SECRET="+oauthSecret, "REFRESH="+refresh)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v:\n%s", err, out)
	}
}
