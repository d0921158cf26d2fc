package runsclient_test

import (
	"os"
	"os/exec"
	"testing"
)

// interpreterVariable names a Python interpreter that has the SDK, such as one
// of a virtual environment in which mantyx-sdk was installed.
const interpreterVariable = "AGENTRUNTIME_PYTHON_SDK"

func TestThePythonSDK(t *testing.T) {
	t.Parallel()
	interpreter := os.Getenv(interpreterVariable)
	if interpreter == "" {
		t.Skip(interpreterVariable + " names no interpreter")
	}
	p := serve(t)
	refresh, err := runtimeCommand(t, "keys", "refresh", configuration(), scripts(), oauthClient)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), interpreter, "testdata/sdk.py")
	cmd.Env = append(os.Environ(), "URL="+p.url, "KEY="+desk, "CLIENT="+oauthClient, "SECRET="+oauthSecret, "REFRESH="+refresh)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v:\n%s", err, out)
	}
}
