package cli

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/runtime/telemetry"
	"go.opentelemetry.io/otel/trace"
	metricspb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	tracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"go.uber.org/zap"
	"google.golang.org/protobuf/proto"
)

// collector receives data sent over OTLP.
type collector struct {
	url string

	mu      sync.Mutex
	paths   []string
	headers http.Header
	spans   tracepb.ExportTraceServiceRequest
	metrics metricspb.ExportMetricsServiceRequest
}

func newCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{}
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if err := c.take(r); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	c.url = server.URL
	return c
}

func (c *collector) take(r *http.Request) error {
	var body io.Reader = r.Body
	if r.Header.Get("Content-Encoding") == "gzip" {
		unzipped, err := gzip.NewReader(r.Body)
		if err != nil {
			return err
		}
		body = unzipped
	}
	data, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.paths, c.headers = append(c.paths, r.URL.Path), r.Header
	var message proto.Message = &c.spans
	if r.URL.Path == "/v1/metrics" {
		message = &c.metrics
	}
	return proto.UnmarshalOptions{Merge: true}.Unmarshal(data, message)
}

// withoutOpenTelemetry unsets variables that the machine may have.
func withoutOpenTelemetry(t *testing.T) {
	t.Helper()
	for _, pair := range os.Environ() {
		if name, _, _ := strings.Cut(pair, "="); strings.HasPrefix(name, "OTEL_") {
			t.Setenv(name, "")
		}
	}
}

func setEnv(t *testing.T, pairs ...string) {
	t.Helper()
	withoutOpenTelemetry(t)
	for _, pair := range pairs {
		name, value, _ := strings.Cut(pair, "=")
		t.Setenv(name, value)
	}
}

func plain(text string) string { return text }

// sayHello reports a turn with some text.
func sayHello(ctx context.Context, o *observed) {
	ctx, turn := o.telemetry.StartTurn(ctx, telemetry.Turn{AgentID: "helper", TurnID: "t-1"})
	_, call := turn.StartModel(ctx, telemetry.Inference{
		Provider: "scripted", Request: &model.Request{Model: "m", Messages: []model.Message{model.User("hello s3cret")}},
	})
	call.End(telemetry.ModelOutcome{Usage: model.Usage{Input: 1, Output: 1}})
	turn.End(telemetry.TurnOutcome{Status: event.StatusSucceeded})
}

func TestTelemetryIsSentToTheCollectorThatTheEnvironmentNames(t *testing.T) {
	c := newCollector(t)
	setEnv(t, "OTEL_EXPORTER_OTLP_ENDPOINT="+c.url, "OTEL_EXPORTER_OTLP_HEADERS=x-key=k", "OTEL_SERVICE_NAME=desk",
		"OTEL_RESOURCE_ATTRIBUTES=deployment.environment=test")
	o, err := observe(t.Context(), zap.NewNop(), plain, false, "devel")
	if err != nil {
		t.Fatal(err)
	}
	sayHello(t.Context(), o)
	if err := o.shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if c.headers.Get("X-Key") != "k" {
		t.Errorf("the headers are %v", c.headers)
	}
	about := map[string]string{}
	for _, a := range c.spans.GetResourceSpans()[0].GetResource().GetAttributes() {
		about[a.GetKey()] = a.GetValue().GetStringValue()
	}
	if about["service.name"] != "desk" || about["deployment.environment"] != "test" || about["service.version"] == "" {
		t.Errorf("the program says of itself %v", about)
	}
	var names []string
	for _, s := range c.spans.GetResourceSpans()[0].GetScopeSpans()[0].GetSpans() {
		names = append(names, s.GetName())
	}
	if got := strings.Join(names, ", "); got != "chat m, invoke_agent helper" {
		t.Errorf("the spans are %s", got)
	}
	if strings.Contains(c.spans.String(), "hello") {
		t.Error("the spans tell what was said")
	}
	names = nil
	for _, m := range c.metrics.GetResourceMetrics()[0].GetScopeMetrics()[0].GetMetrics() {
		names = append(names, m.GetName())
	}
	if got := strings.Join(names, ", "); !strings.Contains(got, "gen_ai.client.token.usage") {
		t.Errorf("the metrics are %s", got)
	}
}

func TestContentIsSentRedactedWhenTheEnvironmentAsksForIt(t *testing.T) {
	c := newCollector(t)
	setEnv(t, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT="+c.url+"/v1/traces", envCapture+"=true")
	o, err := observe(t.Context(), zap.NewNop(), func(text string) string { return strings.ReplaceAll(text, "s3cret", "***") }, false, "devel")
	if err != nil {
		t.Fatal(err)
	}
	sayHello(t.Context(), o)
	if err := o.shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if told := c.spans.String(); !strings.Contains(told, "hello ***") || strings.Contains(told, "s3cret") {
		t.Errorf("the spans tell %s", told)
	}
	if got := strings.Join(c.paths, " "); got != "/v1/traces" {
		t.Errorf("what is sent goes to %s", got)
	}
}

func TestContentIsCapturedOnlyWhenItIsAskedFor(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]bool{
		"": false, "false": false, "no_content": false, "event_only": false, "0": false,
		"true": true, "True": true, "span_only": true, "SPAN_AND_EVENT": true,
	} {
		if got := captured(value); got != want {
			t.Errorf("%q: %v", value, got)
		}
	}
}

func TestWithoutASettingNothingIsSent(t *testing.T) {
	const endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1"
	for _, env := range [][]string{
		{},
		{endpoint, "OTEL_SDK_DISABLED=TRUE"},
		{endpoint, "OTEL_TRACES_EXPORTER=none", "OTEL_METRICS_EXPORTER=none"},
	} {
		t.Run(strings.Join(env, " "), func(t *testing.T) {
			setEnv(t, env...)
			o, err := observe(t.Context(), zap.NewNop(), plain, false, "devel")
			if err != nil || o.telemetry != nil || len(o.shutdowns) != 0 {
				t.Errorf("%+v, %v", o, err)
			}
			sayHello(t.Context(), o)
			if err := o.shutdown(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAWrongVariableIsSaidToBe(t *testing.T) {
	const endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1"
	for _, tt := range []struct {
		env  []string
		want string
	}{
		{[]string{"OTEL_TRACES_EXPORTER=zipkin"}, `OTEL_TRACES_EXPORTER is "zipkin"; use otlp or none`},
		{[]string{endpoint, "OTEL_METRICS_EXPORTER=prometheus"}, `OTEL_METRICS_EXPORTER is "prometheus"; use otlp or none`},
		{[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=user:pw@host"}, "OTEL_EXPORTER_OTLP_ENDPOINT is not the URL of an HTTP server"},
		{[]string{endpoint, "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=:4318"}, "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT is not the URL of an HTTP server"},
		{[]string{endpoint, "OTEL_EXPORTER_OTLP_PROTOCOL=grpc"}, `OTEL_EXPORTER_OTLP_PROTOCOL is "grpc"; use http/protobuf or http/json`},
	} {
		t.Run(tt.want, func(t *testing.T) {
			setEnv(t, tt.env...)
			o, err := observe(t.Context(), zap.NewNop(), plain, false, "devel")
			if err == nil || err.Error() != tt.want {
				t.Errorf("the error is %v", err)
			}
			if o == nil || o.telemetry != nil || o.shutdown(t.Context()) != nil {
				t.Errorf("something would be sent: %+v", o)
			}
		})
	}
}

func TestSendingTheRestTakesNoLongerThanItsLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stuck := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		o := &observed{shutdowns: []func(context.Context) error{stuck, stuck}}
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // the turn was canceled; the rest is still sent
		begun := time.Now()
		err := o.shutdown(ctx)
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(begun) != flushLimit {
			t.Errorf("after %s: %v", time.Since(begun), err)
		}
	})
}

func TestATurnIsPartOfTheTraceThatTheProgramIsCalledFrom(t *testing.T) {
	setEnv(t, "TRACEPARENT=00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "TRACESTATE=v=1")
	span := trace.SpanContextFromContext(withCaller(t.Context()))
	if span.TraceID().String() != "4bf92f3577b34da6a3ce929d0e0e4736" || span.TraceState().String() != "v=1" {
		t.Errorf("the caller is %v", span)
	}
	t.Setenv("TRACEPARENT", "nonsense")
	if span := trace.SpanContextFromContext(withCaller(t.Context())); span.IsValid() {
		t.Errorf("the caller is %v", span)
	}
}
