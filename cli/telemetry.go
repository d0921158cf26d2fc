package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/internal/redact"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/runtime/telemetry"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/zap"
)

// flushLimit is how long exporting the last spans and metrics may delay the end of the program.
const flushLimit = 5 * time.Second

// envCapture is the variable that enables message contents in spans.
const envCapture = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"

// observed holds the destinations of this program's spans and metrics. The zero value exports none.
type observed struct {
	// telemetry is nil if nothing is exported.
	telemetry *telemetry.Telemetry
	// meters record metrics; nil if none are exported.
	meters metric.MeterProvider
	// scrape serves the metrics in Prometheus format; nil unless enabled.
	scrape    http.Handler
	shutdowns []func(context.Context) error
}

// signals selects what is observed: exports by OTLP, and metrics for scraping.
type signals struct{ traces, metrics, scrape bool }

// observe sets up OpenTelemetry from its environment variables. Spans and metrics are exported by
// OTLP over HTTP if an endpoint or the otlp exporter is set; with neither, and without scrape,
// nothing runs. Export errors are logged. It fails on an invalid variable; then nothing is
// exported, and the command may continue.
func observe(ctx context.Context, logger *zap.Logger, hide func(string) string, scrape bool, version string) (*observed, error) {
	o, s := &observed{}, signals{scrape: scrape}
	var wrong error
	if s.traces, wrong = wanted("TRACES"); wrong == nil {
		s.metrics, wrong = wanted("METRICS")
	}
	if wrong != nil {
		s.traces, s.metrics = false, false
	}
	if s == (signals{}) {
		return o, wrong
	}
	logger = logger.Named("telemetry")
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { logger.Warn("exporting telemetry failed", zap.Error(err)) }))
	if err := o.connect(ctx, s, version, hide); err != nil {
		return &observed{}, errors.Join(wrong, err, o.shutdown(ctx))
	}
	return o, wrong
}

// whileObserved calls do with the destinations of telemetry, and then exports the rest of it. off
// is the message if there are none because of an error.
func (p *program) whileObserved(ctx context.Context, l *loaded, off string, scrape bool, do func(*observed) error) error {
	seen, err := observe(ctx, l.logger, l.log.redact, scrape, p.version())
	if err != nil {
		p.PrintErrorf("%s: %v", off, err)
	}
	l.builder.WithTelemetry(seen.telemetry)
	err = do(seen)
	if lost := seen.shutdown(ctx); lost != nil {
		p.PrintErrorf("%s", l.log.redact(lost.Error()))
	}
	return err
}

// withRuntime calls do with the runtime of a configuration while its telemetry is exported.
func (p *program) withRuntime(ctx context.Context, l *loaded, off string, do func(*runtime.AgentRuntime, *observed) error) error {
	return p.whileObserved(ctx, l, off, false, func(seen *observed) error {
		rt, err := l.build(ctx, p)
		if err != nil {
			return err
		}
		defer func() { _ = rt.Close() }() // also closes later revisions
		return do(rt, seen)
	})
}

// wanted reports whether a signal, TRACES or METRICS, is exported.
func wanted(signal string) (bool, error) {
	if strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") {
		return false, nil
	}
	variable := "OTEL_" + signal + "_EXPORTER"
	switch exporter := os.Getenv(variable); exporter {
	case "none":
		return false, nil
	case "otlp":
		return true, reachable(signal)
	case "":
		_, endpoint := otlpSetting(signal, "ENDPOINT")
		return endpoint != "", reachable(signal)
	default:
		return false, fmt.Errorf("%s is %q; use otlp or none", variable, exporter)
	}
}

// otlpSetting returns a setting of a signal's exporter and the name of its variable, which is
// specific to the signal or common to all.
func otlpSetting(signal, setting string) (variable, value string) {
	for _, variable := range []string{"OTEL_EXPORTER_OTLP_" + signal + "_" + setting, "OTEL_EXPORTER_OTLP_" + setting} {
		if value := os.Getenv(variable); value != "" {
			return variable, value
		}
	}
	return "", ""
}

// reachable checks the endpoint of a signal. The exporters would replace an invalid one with
// localhost. The error does not repeat the endpoint, which may contain a password.
func reachable(signal string) error {
	if variable, endpoint := otlpSetting(signal, "ENDPOINT"); endpoint != "" {
		u, err := url.Parse(endpoint)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return fmt.Errorf("%s is not the URL of an HTTP server", variable)
		}
	}
	if variable, protocol := otlpSetting(signal, "PROTOCOL"); protocol != "" && !strings.HasPrefix(protocol, "http/") {
		return fmt.Errorf("%s is %q; use http/protobuf or http/json", variable, protocol)
	}
	return nil
}

// connect creates the exporters, which connect when there is data to send. They and the samplers
// and batches read their own variables.
func (o *observed) connect(ctx context.Context, s signals, version string, hide func(string) string) error {
	about, err := resource.New(ctx, resource.WithTelemetrySDK(),
		resource.WithAttributes(semconv.ServiceName("agentruntime"), semconv.ServiceVersion(version)),
		resource.WithFromEnv())
	if err != nil {
		return fmt.Errorf("describe this program to OpenTelemetry: %w", err)
	}
	settings := telemetry.Settings{
		CaptureContent: captured(os.Getenv(envCapture)),
		Redact:         func(text string) string { return redact.Quoted(text, hide) },
	}
	if s.traces {
		if settings.TracerProvider, err = o.traces(ctx, about); err != nil {
			return err
		}
	}
	if s.metrics || s.scrape {
		if o.meters, err = o.metrics(ctx, about, s); err != nil {
			return err
		}
		settings.MeterProvider = o.meters
	}
	o.telemetry, err = telemetry.New(settings)
	return err
}

func (o *observed) traces(ctx context.Context, about *resource.Resource) (trace.TracerProvider, error) {
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, fmt.Errorf("create the trace exporter: %w", err)
	}
	p := sdktrace.NewTracerProvider(sdktrace.WithResource(about), sdktrace.WithBatcher(exporter))
	o.shutdowns = append(o.shutdowns, p.Shutdown)
	return p, nil
}

func (o *observed) metrics(ctx context.Context, about *resource.Resource, s signals) (metric.MeterProvider, error) {
	options := []sdkmetric.Option{sdkmetric.WithResource(about)}
	if s.metrics {
		exporter, err := otlpmetrichttp.New(ctx)
		if err != nil {
			return nil, fmt.Errorf("create the metric exporter: %w", err)
		}
		options = append(options, sdkmetric.WithReader(sdkmetric.NewPeriodicReader(exporter)))
	}
	if s.scrape {
		registry := prometheus.NewRegistry()
		registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
		exporter, err := otelprometheus.New(otelprometheus.WithRegisterer(registry), otelprometheus.WithoutScopeInfo())
		if err != nil {
			return nil, fmt.Errorf("create the metrics endpoint: %w", err)
		}
		options = append(options, sdkmetric.WithReader(exporter))
		o.scrape = promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
	}
	p := sdkmetric.NewMeterProvider(options...)
	o.shutdowns = append(o.shutdowns, p.Shutdown)
	return p, nil
}

// captured reports whether a value of envCapture enables content in spans.
func captured(value string) bool {
	switch strings.ToLower(value) {
	case "true", "span_only", "span_and_event":
		return true
	default:
		return false
	}
}

// shutdown exports the rest and stops background work, even if ctx has ended. It takes at most
// flushLimit and returns an error if data was lost.
func (o *observed) shutdown(ctx context.Context) error {
	if len(o.shutdowns) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushLimit)
	defer cancel()
	errs := make([]error, len(o.shutdowns))
	var all sync.WaitGroup
	for i, shutdown := range o.shutdowns {
		all.Go(func() { errs[i] = shutdown(ctx) })
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("send the last telemetry: %w", err)
	}
	return nil
}

// withCaller returns ctx as part of the caller's trace from TRACEPARENT, TRACESTATE and BAGGAGE, as
// OpenTelemetry passes a trace to a process.
func withCaller(ctx context.Context) context.Context {
	header := http.Header{}
	for _, name := range []string{"traceparent", "tracestate", "baggage"} {
		if value := os.Getenv(strings.ToUpper(name)); value != "" {
			header.Set(name, value)
		}
	}
	if len(header) == 0 {
		return ctx
	}
	return telemetry.Extract(ctx, header)
}
