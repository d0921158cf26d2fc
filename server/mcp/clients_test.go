package mcp

import (
	"embed"
	"encoding/json"
	"os"
	"os/exec"
	"testing"

	"github.com/agentruntime/agentruntime/internal/testkit/nodeenv"
	"github.com/agentruntime/agentruntime/internal/testkit/pyenv"
)

//go:embed testdata/package.json testdata/package-lock.json testdata/*.mjs
var manifests embed.FS

// The reasons for skipping a scenario. Features that docs/guides/mcp.md lists as not supported
// are one, and the other is that a tool of an agent takes a message and answers with the agent's.
const (
	callsTool     = "it calls a tool of the suite with arguments and contents of its own; the tests of this package cover the feature with agents"
	textOnly      = "declared prompts and resources are texts"
	noCompletion  = "completion is not supported"
	noTemplates   = "resource templates are not supported"
	noSubscribing = "declared resources do not change, so that subscriptions are not supported"
	noSkills      = "the extension for skills is not supported"
	noSampling    = "agents do not sample with the model of the client, or list its roots"
	noPromptInput = "declared prompts ask nothing"
	noHeaders     = "no argument of an agent's tool is mirrored in a header"
)

// skippedScenarios are the scenarios that are not run, with the reasons.
var skippedScenarios = map[string]string{
	"server-stateless": callsTool, "tools-call-simple-text": callsTool, "tools-call-image": callsTool, "tools-call-audio": callsTool, "tools-call-embedded-resource": callsTool,
	"tools-call-mixed-content": callsTool, "tools-call-with-logging": callsTool, "tools-call-with-progress": callsTool, "tools-call-elicitation": callsTool,
	"json-schema-2020-12": callsTool, "elicitation-sep1034-defaults": callsTool, "elicitation-sep1330-enums": callsTool, "server-sse-polling": callsTool,
	"tasks-lifecycle": callsTool, "tasks-capability-negotiation": callsTool, "tasks-wire-fields": callsTool, "tasks-request-state-removal": callsTool, "tasks-mrtr-input": callsTool,
	"tasks-request-headers": callsTool, "tasks-dispatch-and-envelope": callsTool, "tasks-status-notifications": callsTool, "tasks-required-task-error": callsTool, "tasks-mrtr-composition": callsTool,
	"input-required-result-basic-elicitation": callsTool, "input-required-result-request-state": callsTool, "input-required-result-multiple-input-requests": callsTool,
	"input-required-result-multi-round": callsTool, "input-required-result-missing-input-response": callsTool, "input-required-result-result-type": callsTool,
	"input-required-result-tampered-state": callsTool, "input-required-result-capability-check": callsTool, "input-required-result-ignore-extra-params": callsTool, "input-required-result-validate-input": callsTool,
	"tools-call-sampling": noSampling, "input-required-result-basic-sampling": noSampling, "input-required-result-basic-list-roots": noSampling, "input-required-result-non-tool-request": noPromptInput,
	"completion-complete": noCompletion, "resources-read-binary": textOnly, "prompts-get-embedded-resource": textOnly, "prompts-get-with-image": textOnly,
	"resources-templates-read": noTemplates, "resources-subscribe": noSubscribing, "resources-unsubscribe": noSubscribing, "http-custom-header-server-validation": noHeaders,
	"sep-2640-skills-directory": noSkills, "sep-2640-skills-enumeration": noSkills, "sep-2640-skills-manifest": noSkills,
}

// scenarios are those of the conformance suite that concern what agents offer, by version.
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
	t.Run("scenarios", func(t *testing.T) {
		runs, _ := json.Marshal(scenarios)
		reasons, _ := json.Marshal(skippedScenarios)
		run(t, "scenarios.mjs", "Server", string(runs), string(reasons))
	})
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
