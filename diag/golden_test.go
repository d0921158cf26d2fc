package diag_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentruntime/agentruntime/diag"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

// golden compares got with a testdata file.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs (-want +got), rewrite it with go test ./diag -update:\n%s", file, diff)
	}
}

func render(t *testing.T, r *diag.Report, f diag.Format) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := r.Render(&b, f); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// source returns a Report.Source for texts by file name.
func source(files map[string]string) func(string) []byte {
	return func(file string) []byte { return []byte(files[file]) }
}

// at returns the span of the first occurrence of what on a line of a file.
func at(t *testing.T, files map[string]string, file string, line int, what string) diag.Span {
	t.Helper()
	text := strings.Split(files[file], "\n")[line-1]
	before, _, ok := strings.Cut(text, what)
	if !ok {
		t.Fatalf("%s:%d does not contain %q", file, line, what)
	}
	column := len([]rune(before)) + 1
	return diag.Span{File: file, Line: line, Column: column, EndLine: line, EndColumn: column + len([]rune(what))}
}

// mixed is a report with every feature.
func mixed(t *testing.T) *diag.Report {
	t.Helper()
	files := map[string]string{
		"config.yaml": `version: 1
models:
  default: {provider_id: openai, upstream_model: gpt-4o}
agents:
  assistant:
    model_id: defualt
    system_prompt: Answer in ${LANGUAGE}.
    allowed_tools: [weather, "wc(*)"]
  writer:
    model_id: default
`,
		"more/tools & co.yaml": `models:
  default: {provider_id: claude}
`,
	}
	model := diag.New(diag.ModelNotFound, "agents.assistant.model_id", "model %q is not defined", "defualt").
		ForAgent("assistant").WithHint("did you mean %q?", "default")
	model.Span = at(t, files, "config.yaml", 6, "defualt")
	variable := diag.New(diag.UnsetVariable, "agents.assistant.system_prompt", "variable ${LANGUAGE} is not set").
		ForAgent("assistant")
	variable.Span = at(t, files, "config.yaml", 7, "${LANGUAGE}")
	entry := diag.New(diag.PermissionShapedEntry, "agents.assistant.allowed_tools[1]", "%q names a tool with arguments", "wc(*)").
		ForAgent("assistant").WithHint("rules about arguments, 100%% of them, belong under sections.permission")
	entry.Span = at(t, files, "config.yaml", 8, `"wc(*)"`)
	unused := diag.New(diag.UnusedDefinition, "agents.writer", "no agent uses this: drop it, or not")
	unused.Span = diag.Span{File: "config.yaml", Line: 9, Column: 3, EndLine: 10, EndColumn: 22}
	duplicate := diag.New(diag.DuplicateID, "models.default", "model %q is defined twice", "default")
	duplicate.Span = at(t, files, "more/tools & co.yaml", 2, "default")
	duplicate.Related = []diag.Related{{
		Message: "first defined here",
		Path:    "models.default",
		Span:    at(t, files, "config.yaml", 3, "default"),
	}}
	built := diag.New(diag.ToolIDConflict, `agents["gpt 4"].delegates[0]`, "tool id %q is taken\nby a plugin", "agent_run_x").
		WithHint("rename <one> of them")
	built.Related = []diag.Related{{Message: "the other one", Path: "plugins.audit"}}
	return &diag.Report{
		Diagnostics: diag.List{model, variable, entry, unused, duplicate, built},
		Agents:      2,
		Version:     "1.2.3",
		Source:      source(files),
	}
}

// suppressing is a report with diagnostics suppressed by comments.
func suppressing(t *testing.T) *diag.Report {
	t.Helper()
	r := mixed(t)
	variable, unused := r.Diagnostics[1], r.Diagnostics[3]
	unused.Severity = diag.Note
	r.Suppressed = []diag.Suppressed{
		{Diagnostic: variable, Reason: "set where {it} runs"},
		{Diagnostic: unused, Reason: "kept for <later>"},
	}
	r.Diagnostics = r.Diagnostics[:1]
	return r
}
