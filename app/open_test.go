package app_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/app"
	"github.com/agentruntime/agentruntime/app/shipped"
	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/model/scripted"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/runtime/telemetry"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/google/go-cmp/cmp"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// base declares an agent that echoes, for callers with a key.
const base = `version: 1
providers: {s: {type: scripted}}
models: {m: {provider_id: s, upstream_model: x}}
agents: {a: {description: Helps., model_id: m}}
server:
  keys: [{id: ci, key: ark_right-right-right}]
`

// publicURL is the agents' URL for clients.
const publicURL = "https://example.com/agents"

// write writes a configuration and returns its name.
func write(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// writeBeside writes a file beside a configuration.
func writeBeside(t *testing.T, file, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(filepath.Dir(file), name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// send sends a request with the key of base.
func send(t *testing.T, client *http.Client, method, url, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer ark_right-right-right")
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("A2A-Version", "1.0")
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

func TestOneCallMakesAllThatAFileDescribes(t *testing.T) {
	file := write(t, base+"store: {driver: sqlite, dsn: "+filepath.Join(t.TempDir(), "turns.db")+"}\n")
	for _, round := range []string{"a new store", "the store of the round before"} {
		a, err := app.Open(t.Context(), app.Options{Files: []string{file}, PublicURL: publicURL, Components: shipped.Components()})
		if err != nil {
			t.Fatalf("%s: %v", round, err)
		}
		own := httptest.NewServer(http.StripPrefix("/agents", a.Handler()))
		message := `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"Hello."}]},"configuration":{"returnImmediately":false}}}`
		status, text := send(t, own.Client(), http.MethodPost, own.URL+"/agents/a2a/a", message)
		var answered struct {
			Result struct {
				Task struct{ ID string }
			}
		}
		if err := json.Unmarshal([]byte(text), &answered); status != http.StatusOK || err != nil || answered.Result.Task.ID == "" || !strings.Contains(text, "echo: Hello.") {
			t.Errorf("%s: %d %s, %v", round, status, text, err)
		}
		if status, _ := send(t, own.Client(), http.MethodGet, own.URL+"/agents/readyz", ""); status != http.StatusOK {
			t.Errorf("%s: not ready: %d", round, status)
		}
		if err := a.Shutdown(t.Context()); err != nil {
			t.Errorf("%s: %v", round, err)
		}
		own.Close()
	}
}

func TestAConfigurationThatCannotBeUsedIsNotOpened(t *testing.T) {
	file := write(t, strings.Replace(base, "agents: {a: {description: Helps., model_id: m}}", "agents:\n  a: {model_id: n}\n  b: {model_id: m, colour: red}", 1)+"store: {driver: memory}\n")
	_, err := app.Open(t.Context(), app.Options{Files: []string{file}, Components: shipped.Components()})
	refused, ok := errors.AsType[*app.ConfigError](err)
	if !ok || refused.Diagnostics.Count(diag.Error) != 2 {
		t.Fatalf("%v", err)
	}
	for _, want := range []string{`config.yaml:5:17: model-not-found: agents.a.model_id: model "n" is not defined`, "config.yaml:6:20: unknown-field: agents.b.colour"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %q:\n%v", want, err)
		}
	}
	if _, err := app.Open(t.Context(), app.Options{Files: []string{file + ".gone"}, Components: shipped.Components()}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there gives %v", err)
	}
	if _, err := app.Open(t.Context(), app.Options{Files: []string{write(t, base+"store: {driver: memory}\n")}, Components: shipped.Components()}); !errors.Is(err, app.ErrNoPublicURL) {
		t.Errorf("without a public URL: %v", err)
	}
}

func TestAProgramAddsWhatItMakesItself(t *testing.T) {
	core, logs := observer.New(zap.WarnLevel)
	a, err := app.Open(t.Context(), app.Options{
		Files: []string{write(t, base+"store: {driver: memory}\n")}, PublicURL: publicURL, Components: shipped.Components(), Logger: zap.New(core),
		Configure: func(b *builder.AgentRuntimeBuilder) {
			b.WithProvider("own", scripted.NewForTest(t, scripted.Script{})).
				WithModel(spec.Model{ID: "own", ProviderID: "own", UpstreamModel: "x"}).
				WithAgentSpec(spec.Agent{ID: "own", ModelID: "own", ExcludedToolPatterns: []string{"none_*"}})
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := a.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	if got := strings.Join(a.Runtime().Revision().Set().Agents.IDs(), " "); got != "a own" {
		t.Errorf("the agents are %s", got)
	}
	if logs.FilterField(zap.String("code", string(diag.UnmatchedPattern))).Len() != 1 {
		t.Errorf("the warning is not logged once: %v", logs.All())
	}
}

func TestTenantsOfTheConfigurationAreMeasured(t *testing.T) {
	reader := sdkmetric.NewManualReader()
	observed, err := telemetry.New(telemetry.Settings{MeterProvider: sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))})
	if err != nil {
		t.Fatal(err)
	}
	a, err := app.Open(t.Context(), app.Options{
		Files:     []string{write(t, strings.Replace(base, "id: ci", "id: ci, tenant: acme", 1)+"store: {driver: memory}\n")},
		PublicURL: publicURL, Components: shipped.Components(), Telemetry: observed,
	})
	if err != nil {
		t.Fatal(err)
	}
	own := httptest.NewServer(a.Handler())
	defer own.Close()
	message := `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"Hello."}]}}}`
	if status, text := send(t, own.Client(), http.MethodPost, own.URL+"/a2a/a", message); status != http.StatusOK {
		t.Errorf("%d %s", status, text)
	}
	if err := a.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	var all metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(all)
	if err != nil || !strings.Contains(string(text), `{"Key":"tenant","Value":{"Type":"STRING","Value":"acme"}}`) {
		t.Errorf("the metrics are %s, %v", text, err)
	}
}

func TestWrongCommentsAreWarnedOf(t *testing.T) {
	core, logs := observer.New(zap.WarnLevel)
	a, err := app.Open(t.Context(), app.Options{
		Files: []string{write(t, base+`store: {driver: memory} # runtime: ignore no-effect it has one
tools:
  spare: {type: command, description: Is spare., command: [cat]}
  # runtime: ignore unused-definition none is needed
defaults:
  excluded_tool_patterns: ["none_*"] # runtime: ignore unmatched-pattern other teams have some
`)}, PublicURL: publicURL, Components: shipped.Components(), Logger: zap.New(core),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := a.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	// Publishing agents again does not repeat known reports.
	if _, err := a.Runtime().Publish(t.Context(), func(*registry.Draft) error { return nil }); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, entry := range logs.All() {
		fields := entry.ContextMap()
		got = append(got, fmt.Sprint(fields["code"], ": ", fields["warning"]))
	}
	want := []string{
		"plain-secret: key contains a secret in plain text",
		"invalid-ignore: no no-effect diagnostic to ignore on this line",
		"invalid-ignore: no unused-definition diagnostic to ignore on line 11",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the warnings (-want +got):\n%s", diff)
	}
}
