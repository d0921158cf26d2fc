package cli

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/app"
)

// A server listens immediately even if a tool server is silent; it is not ready while it waits for
// the tool server, and does not wait long.
func TestASilentServerOfToolsDoesNotKeepAServerFromListening(t *testing.T) {
	t.Parallel()
	dir := filesIn(t, map[string]string{"config.yaml": `version: 1
providers: {echo: {type: scripted}}
models: {m: {provider_id: echo, upstream_model: x}}
store: {driver: memory}
tools:
  mute: {type: mcp, url: "${MUTE}/mcp"}
agents: {helper: {model_id: m}}
`})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "runtime", "serve", "config.yaml", "--listen", "127.0.0.1:0", "--verbose", "--log-format", "text")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "MUTE=http://"+mute(t))
	said, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	began, lines, log := time.Now(), bufio.NewScanner(said), ""
	// after reads the log up to a line and returns the rest.
	after := func(text string) string {
		for lines.Scan() {
			log += lines.Text() + "\n"
			if _, rest, ok := strings.Cut(lines.Text(), text); ok {
				return rest
			}
		}
		t.Fatalf("the log does not have %q:\n%s", text, log)
		return ""
	}
	probe := func(url string) (int, string) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatalf("%v\n%s", err, log)
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(body)
	}

	url := strings.TrimSuffix(after("starting\t{\"address\": \""), "\"}")
	if took := time.Since(began); took > app.StartupToolTime {
		t.Errorf("it listens after %s", took)
	}
	if status, _ := probe(url + "/healthz"); status != http.StatusOK {
		t.Errorf("/healthz is %d", status)
	}
	if status, body := probe(url + "/readyz"); status != http.StatusServiceUnavailable || body != "starting\n" {
		t.Errorf("/readyz is %d %q", status, body)
	}
	after("runtime: ready: ")
	if took := time.Since(began); took > 4*app.StartupToolTime {
		t.Errorf("it is ready after %s", took)
	}
	if status, body := probe(url + "/readyz"); status != http.StatusOK {
		t.Errorf("/readyz is %d %q of a server that says it is ready", status, body)
	}
	if !strings.Contains(log, "the tools cannot be listed") {
		t.Errorf("the log does not say what is missing:\n%s", log)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, said)
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ended with %v\n%s", err, log)
	}
}
