package mcp

import (
	"embed"
	"os"
	"os/exec"
	"testing"

	"github.com/agentruntime/agentruntime/internal/testkit/nodeenv"
	"github.com/agentruntime/agentruntime/internal/testkit/pyenv"
)

//go:embed testdata/package.json testdata/package-lock.json testdata/*.mjs
var manifests embed.FS

// scenarios are those of the conformance suite that concern what agents offer. The others
// call tools, prompts and resources of the suite itself, or need features that
// docs/guides/mcp.md lists as not supported.
var scenarios = map[string][]string{
	"2025-11-25": {
		"server-initialize", "server-session-lifecycle", "logging-set-level", "ping", "tools-list", "tools-call-error", "server-sse-multiple-streams", "resources-list",
		"resources-read-text", "prompts-list", "prompts-get-simple", "prompts-get-with-args", "dns-rebinding-protection",
	},
	"2026-07-28": {
		"tools-list", "tools-call-error", "server-sse-multiple-streams", "resources-list", "resources-read-text", "sep-2164-resource-not-found", "prompts-list",
		"prompts-get-simple", "prompts-get-with-args", "dns-rebinding-protection", "caching", "http-header-validation", "input-required-result-unsupported-methods",
	},
}

func TestJavaScriptClients(t *testing.T) {
	t.Parallel()
	client := nodeenv.Install(t, manifests)
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	run := func(t *testing.T, name string, args ...string) {
		t.Helper()
		source, err := manifests.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		client.Run(t, source, args...)
	}
	t.Run("SDK", func(t *testing.T) {
		w := serving(t)
		for range 4 { // the two canceled calls
			go func() {
				select {
				case <-w.echoModel.hung:
				case <-t.Context().Done():
				}
			}()
		}
		run(t, "sdk.mjs", w.url, program)
	})
	t.Run("Inspector", func(t *testing.T) { run(t, "inspector.mjs", serving(t).url, program) })
	for version, names := range scenarios {
		w := servingFor(t, everybody{})
		for _, name := range names {
			t.Run(version+" "+name, func(t *testing.T) { run(t, "conformance.mjs", w.url+"/mcp", version, name) })
		}
	}
}

func TestThePythonSDK(t *testing.T) {
	t.Parallel()
	list, err := os.ReadFile("testdata/requirements.txt")
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), pyenv.Interpreter(t, list), "-B", "testdata/sdk.py")
	cmd.Env = append(os.Environ(), "URL="+serving(t).url, "PROGRAM="+program)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v:\n%s", err, out)
	}
}
