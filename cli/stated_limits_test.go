package cli

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/agentruntime/agentruntime/cli/internal/command"
	"github.com/agentruntime/agentruntime/cli/internal/terminal"
	"github.com/agentruntime/agentruntime/model/catalog"
)

// runInto runs a command and returns its exit code and output.
func runInto(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	var stdout, stderr strings.Builder
	code = run(t.Context(), args, terminal.Streams{Out: &stdout, Err: &stderr})
	return code, stdout.String(), stderr.String()
}

// TestExplainAndModelsShowWhereLimitsComeFrom queries a vLLM-like server for limits and checks that
// nothing is queried without --online.
func TestExplainAndModelsShowWhereLimitsComeFrom(t *testing.T) {
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		_, _ = io.WriteString(w, `{"data":[{"id":"big","max_model_len":32768}]}`)
	}))
	defer server.Close()
	file := filepath.Join(t.TempDir(), "config.yaml")
	config := `version: 1
providers:
  local: {type: openai, api: chat_completions, base_url: ` + server.URL + `/v1}
  vendor: {type: openai, api_key: "${UNSET_KEY_OF_A_TEST}"}
models:
  stated: {provider_id: local, upstream_model: big, max_output_tokens: 100}
  listed: {provider_id: vendor, upstream_model: gpt-4o}
agents:
  a: {description: Helps., model_id: stated, context_policy: {}}
  b: {description: Helps., model_id: listed, context_policy: {}}
`
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	ofCatalog := "catalog of " + catalog.Date()
	for _, tt := range []struct {
		args  []string
		want  string
		lacks string
		asked int32
	}{
		{[]string{"validate", file}, "", "", 0},
		{[]string{"explain", file, "a"}, "max_output_tokens 100 (configuration)", "32768", 0},
		{[]string{"models", "-f", file}, "stated", "32768", 0},
		{[]string{"explain", file, "a", "--online"}, "context_window 32768 (server)", "", 1},
		{[]string{"explain", file, "a", "--online", "--format", "json"}, `"max_context_tokens": 32768`, "", 1},
		{[]string{"explain", file, "b", "--online"}, "(" + ofCatalog + ")", "32768", 1},
		{[]string{"models", "-f", file, "--online"}, "context_window     32768", "", 1},
		{[]string{"models", "-f", file, "--online", "--format", "json", "stated"}, `"source": "server"`, "listed", 1},
		{[]string{"models", "-f", file, "--online", "listed"}, ofCatalog, "stated", 1},
		{[]string{"validate", file, "--online"}, "", "", 1},
	} {
		code, out, errs := runInto(t, tt.args...)
		if code != command.OK || !strings.Contains(out, tt.want) || tt.lacks != "" && strings.Contains(out, tt.lacks) {
			t.Errorf("%v ends with %d: %s%s", tt.args, code, out, errs)
		}
		if got := asked.Load(); got != tt.asked {
			t.Errorf("%v: the server was asked %d times, want %d", tt.args, got, tt.asked)
		}
	}
	if code, _, errs := runInto(t, "models", "--online"); code != command.Usage || !strings.Contains(errs, "--file") {
		t.Errorf("--online without --file ends with %d: %s", code, errs)
	}
}

// TestAServerThatCannotStateLimitsIsAWarning checks that explain continues without limits.
func TestAServerThatCannotStateLimitsIsAWarning(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	address := server.URL
	server.Close()
	file := filepath.Join(t.TempDir(), "config.yaml")
	config := "version: 1\nproviders:\n  local: {type: openai, dialect: vllm, base_url: " + address + "/v1}\n" +
		"models:\n  m: {provider_id: local, upstream_model: big}\nagents:\n  a: {description: Helps., model_id: m, context_policy: {}}\n"
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, errs := runInto(t, "explain", file, "a", "--online")
	if code != command.OK || !strings.Contains(errs, "warning: ask provider local for the limits of model m: ") || !strings.Contains(out, "agent a") {
		t.Errorf("explain ends with %d: %s%s", code, out, errs)
	}
}

func TestDoctorComparesConfiguredLimitsWithTheServer(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			_, _ = io.WriteString(w, `{"data":[{"id":"big","context_length":32768,"max_completion_tokens":4096}]}`)
			return
		}
		body, _ := io.ReadAll(r.Body)
		answersWell(w, string(body), 1)
	}))
	defer server.Close()
	file := filepath.Join(t.TempDir(), "config.yaml")
	config := "version: 1\nproviders:\n  p: {type: openai, dialect: vllm, base_url: " + server.URL + "/v1}\n" +
		"models:\n  m: {provider_id: p, upstream_model: big, context_window: 100000, max_output_tokens: 1000}\n"
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	_, out, errs := runInto(t, "doctor", file, "--provider", "p")
	for _, want := range []string{
		"warning  context_window: the server states 32768, less than the 100000 of the configuration", "right would be: models.m.context_window: 32768",
		"ok       max_output_tokens: the server states 4096; the configuration has 1000",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not shown in\n%s%s", want, out, errs)
		}
	}
}
