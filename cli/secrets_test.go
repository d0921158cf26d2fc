package cli

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/cli/internal/command"
	"github.com/agentruntime/agentruntime/cli/internal/terminal"
)

// typed runs a command of the program and returns its output.
func typed(t *testing.T, args ...string) string {
	t.Helper()
	var out, failed bytes.Buffer
	if code := run(context.WithoutCancel(t.Context()), args, terminal.Streams{In: strings.NewReader(""), Out: &out, Err: &failed}); code != command.OK {
		t.Fatalf("%v: exit code %d: %s", args, code, failed.String())
	}
	return out.String() + failed.String()
}

// TestSecretsOfClientsAreShownNowhere puts secrets in every place where clients can put them and
// then reads everything readable.
func TestSecretsOfClientsAreShownNowhere(t *testing.T) {
	for name, key := range map[string]string{"with a key": "  encryption_key: " + encryptionKey + "\n", "without a key": ""} {
		t.Run(name, func(t *testing.T) {
			dsn := filepath.Join(t.TempDir(), "runtime.db")
			edits := []string{"store: {driver: memory}", "store: {driver: sqlite, dsn: " + dsn + "}"}
			if key == "" { // OAuth clients need one
				from, to := strings.Index(everySurface, "  encryption_key"), strings.Index(everySurface, "  keys:")
				edits = append(edits, everySurface[from:to], "")
				from, to = strings.Index(everySurface, "  oauth:"), strings.Index(everySurface, "  jwt:")
				edits = append(edits, everySurface[from:to], "")
			}
			w := newTown(t, edits...)
			made := w.make(t, "{run}{session}{task}{hook}")
			message := w.own(t, http.MethodPost, annPath+"/agent-sessions/"+made["{session}"]+"/messages", `{"prompt":"hello"}`)
			made["{second}"], _ = message["runId"].(string)
			file := filepath.Join(w.dir, "config.yaml")
			config := readAll(t, file)
			said := map[string]string{
				"sessions": typed(t, "sessions", "--format", "json", file), "export": typed(t, "sessions", "export", file, made["{session}"]),
				"turns": typed(t, "turns", "--format", "json", file), "events": typed(t, "events", "--format", "json", file, made["{run}"]),
				"log": w.log.String(), "metrics": w.ask(t, http.MethodGet, "/metrics", "", bearer(annKey)).body,
			}
			for _, path := range []string{
				annPath + "/agent-runs/{run}", annPath + "/agent-runs/{run}/stream", annPath + "/agent-runs/{second}", annPath + "/agent-sessions/{session}",
				"/runtime/v1/sessions", "/runtime/v1/sessions/{session}", "/runtime/v1/sessions/{session}/export",
				"/runtime/v1/turns", "/runtime/v1/turns/{run}", "/runtime/v1/turns/{second}/events", "/runtime/v1/turns/{run}/interactions",
				"/a2a/clerk/tasks", "/a2a/clerk/tasks/{task}",
			} {
				path = made.fill(path, "acme")
				got := w.ask(t, http.MethodGet, path, "", bearer(annKey))
				if got.status != http.StatusOK {
					t.Errorf("%s: %d %s", path, got.status, got.body)
				}
				said[path] = got.body
			}
			if err := w.end(); err != nil {
				t.Fatal(err)
			}
			said["log"] = w.log.String()
			for where, text := range said {
				for _, secret := range []string{headerSecret, hookSecret} {
					if strings.Contains(text, secret) {
						t.Errorf("%s shows %s: %s", where, secret, text)
					}
				}
			}
			if warned := strings.Contains(said["log"], "server.encryption_key is not set"); warned == (key != "") {
				t.Errorf("it warns of that: %v", warned)
			}
			var kept string
			for _, part := range []string{"", "-wal"} {
				kept += readAll(t, dsn+part)
			}
			for _, secret := range []string{headerSecret, hookSecret} {
				if strings.Contains(kept, secret) == (key != "") {
					t.Errorf("%s is in the store: %v", secret, key != "")
				}
			}
			if !strings.Contains(kept, made["{session}"]) || !strings.Contains(config, dsn) {
				t.Error("the store is somewhere else")
			}
		})
	}
}

// readAll returns a file's content, empty if it does not exist.
func readAll(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(data)
}
