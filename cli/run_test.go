package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/cli/internal/terminal"
)

// hello is a configuration with an agent that repeats its input.
const hello = `version: 1
providers: {echo: {type: scripted}}
models: {m: {provider_id: echo, upstream_model: x}}
agents: {helper: {model_id: m}}
`

// runHello runs the agent of hello and returns the command's output.
func runHello(t *testing.T) (code int, out, err string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, []byte(hello), 0o600); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	code = run(t.Context(), []string{"run", file, "helper", "hello"}, terminal.Streams{In: strings.NewReader(""), Out: &stdout, Err: &stderr})
	return code, stdout.String(), stderr.String()
}

func TestARunIsTracedAsPartOfItsCaller(t *testing.T) {
	c := newCollector(t)
	setEnv(t, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT="+c.url+"/v1/traces",
		"TRACEPARENT=00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	if code, out, err := runHello(t); code != 0 || out != "echo: hello\n" || err != "= 1 step, 5 tokens (2 in, 3 out)\n" {
		t.Fatalf("exit code %d\n%s%s", code, out, err)
	}
	turn := false
	for _, s := range c.spans.GetResourceSpans()[0].GetScopeSpans()[0].GetSpans() {
		if string(s.GetTraceId()) != "\x4b\xf9\x2f\x35\x77\xb3\x4d\xa6\xa3\xce\x92\x9d\x0e\x0e\x47\x36" {
			t.Errorf("the span %s is of another trace", s.GetName())
		}
		turn = turn || s.GetName() == "invoke_agent helper"
	}
	if !turn {
		t.Errorf("no span is that of the turn: %v", c.spans.String())
	}
}

// Telemetry that cannot be sent or is misconfigured is reported and does not fail the run.
func TestARunWithoutACollectorSucceeds(t *testing.T) {
	setEnv(t, "OTEL_TRACES_EXPORTER=zipkin")
	code, out, err := runHello(t)
	if code != 0 || out != "echo: hello\n" {
		t.Errorf("exit code %d\n%s", code, out)
	}
	if want := "runtime: tracing is off: OTEL_TRACES_EXPORTER is \"zipkin\"; use otlp or none\n= 1 step, 5 tokens (2 in, 3 out)\n"; err != want {
		t.Errorf("%q, want %q", err, want)
	}
}
