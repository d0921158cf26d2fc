package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/agentruntime/agentruntime/server"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// lines are the lines of a log.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write adds a line.
func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// Sync does nothing.
func (*lines) Sync() error { return nil }

func (l *lines) all() []map[string]any {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []map[string]any
	for line := range strings.Lines(l.text.String()) {
		entry := map[string]any{}
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			entry["broken"] = line
		}
		out = append(out, entry)
	}
	return out
}

func logger() (*zap.Logger, *lines) {
	l := &lines{}
	encoder := zap.NewProductionEncoderConfig()
	return zap.New(zapcore.NewCore(zapcore.NewJSONEncoder(encoder), l, zapcore.DebugLevel)), l
}

func TestARequestKeepsAnIDThatIsSane(t *testing.T) {
	t.Parallel()
	s := start(t, server.Settings{NewID: func() string { return "made" }}, server.Route{Pattern: "GET /id", Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(server.RequestID(r.Context())))
	})})
	for id, want := range map[string]string{
		"":                       "made",
		"req-1.2_3":              "req-1.2_3",
		strings.Repeat("x", 128): strings.Repeat("x", 128),
		strings.Repeat("x", 129): "made",
		"a b":                    "made",
		`x"},{"level":"info`:     "made",
		"x\tb":                   "made",
		"é":                      "made",
	} {
		got := s.ask(t, "GET /id", "", "X-Request-Id", id)
		if got.body != want || got.header.Get("X-Request-Id") != want {
			t.Errorf("%q is called %s, and %s in the header", id, got.body, got.header.Get("X-Request-Id"))
		}
	}
}

func TestTheLogHasALineForEachRequestAndNoSecrets(t *testing.T) {
	t.Parallel()
	log, out := logger()
	s := start(t, server.Settings{Authenticator: keys(), Logger: log, NewID: func() string { return "r1" }}, append(exposed,
		server.Route{Pattern: "POST /panics", Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("oh") })})...)
	const secret = "s3cret-word"
	s.ask(t, "POST /private?api_key="+secret, secret, "X-API-Key", goodKey, "Cookie", secret)
	s.ask(t, "POST /private?token="+secret, "", "Authorization", "Bearer "+secret)
	s.ask(t, "POST /private", "", "Authorization", "Bearer "+expiredKey)
	s.ask(t, "GET /scoped", "", "X-API-Key", scopedKey)
	s.ask(t, "GET /no%0A%22where/"+strings.Repeat("x", 600)+"?"+secret, "")
	s.ask(t, "POST /panics", "", "X-API-Key", goodKey)
	s.ask(t, "GET /healthz", "")
	s.end(t)
	want := []string{
		`info POST /private 200 good `,
		`info POST /private 401  the key is not known`,
		`info POST /private 401 expired the key has expired`,
		`info GET /scoped 403 scoped the credential lacks the scope things:read`,
		"info GET /no\n\"where/" + strings.Repeat("x", 501) + `… 404  `,
		`error`,
		`info POST /panics 500 good `,
		`debug GET /healthz 200  `,
	}
	var got []string
	for _, entry := range out.all() {
		if entry["level"] == "error" {
			got = append(got, "error")
			continue
		}
		text := func(name string) string { v, _ := entry[name].(string); return v }
		status, _ := entry["status"].(float64)
		got = append(got, fmt.Sprint(text("level"), " ", text("method"), " ", text("path"), " ", status, " ", text("key_id"), " ", text("problem")))
		if entry["request_id"] != "r1" || entry["msg"] != "request" {
			t.Errorf("%v", entry)
		}
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, hidden := range []string{secret, goodKey, scopedKey, expiredKey} {
		if strings.Contains(out.text.String(), hidden) {
			t.Errorf("the log holds %s:\n%s", hidden, out.text.String())
		}
	}
}

func TestRequestsAreMeasured(t *testing.T) {
	t.Parallel()
	reader := metric.NewManualReader()
	s := start(t, server.Settings{Authenticator: keys(), MeterProvider: metric.NewMeterProvider(metric.WithReader(reader))}, exposed...)
	s.ask(t, "GET /stream/1", "", "X-API-Key", goodKey)
	s.ask(t, "GET /stream/2", "", "X-API-Key", goodKey)
	s.ask(t, "BREW /stream/3", "")
	s.end(t)
	var data metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &data); err != nil {
		t.Fatal(err)
	}
	got := map[string]uint64{}
	for _, m := range data.ScopeMetrics[0].Metrics {
		switch points := m.Data.(type) {
		case metricdata.Histogram[float64]:
			for _, p := range points.DataPoints {
				route, _ := p.Attributes.Value("http.route")
				method, _ := p.Attributes.Value("http.request.method")
				status, _ := p.Attributes.Value("http.response.status_code")
				got[m.Name+" "+method.String()+" "+route.String()+" "+status.String()] = p.Count
			}
		case metricdata.Sum[int64]:
			for _, p := range points.DataPoints {
				if p.Value != 0 {
					t.Errorf("%d requests are still active", p.Value)
				}
			}
		}
	}
	if len(got) != 2 || got["http.server.request.duration GET /stream/{id} 200"] != 2 || got["http.server.request.duration _OTHER  405"] != 1 {
		t.Errorf("%v", got)
	}
}

func TestOnlyWhoMayAskContinuesATrace(t *testing.T) {
	t.Parallel()
	s := start(t, server.Settings{Authenticator: keys()}, server.Route{Pattern: "GET /trace", Public: true, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(trace.SpanContextFromContext(r.Context()).TraceID().String()))
	})})
	const id = "0af7651916cd43dd8448eb211c80319c"
	parent := "00-" + id + "-b7ad6b7169203331-01"
	if got := s.ask(t, "GET /trace", "", "Traceparent", parent, "X-API-Key", goodKey); got.body != id {
		t.Error(got.body)
	}
	if got := s.ask(t, "GET /trace", "", "Traceparent", parent); got.body == id {
		t.Error("an unauthenticated client continues a trace")
	}
}

func BenchmarkRequest(b *testing.B) {
	s, err := server.New(server.Settings{Authenticator: keys(), Rate: server.Rate{PerSecond: 1e9, Concurrency: 8}})
	if err != nil {
		b.Fatal(err)
	}
	if err := s.Mount(b.Context(), routes{{Pattern: "GET /none", Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})}}); err != nil {
		b.Fatal(err)
	}
	r, err := http.NewRequestWithContext(b.Context(), http.MethodGet, "/none", http.NoBody)
	if err != nil {
		b.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+goodKey)
	b.ReportAllocs()
	for b.Loop() {
		s.ServeHTTP(&nowhere{header: http.Header{}}, r)
	}
}

// nowhere drops a response.
type nowhere struct{ header http.Header }

// Header returns the header.
func (n *nowhere) Header() http.Header { return n.header }

// Write drops a part.
func (*nowhere) Write(p []byte) (int, error) { return len(p), nil }

// WriteHeader drops the status.
func (*nowhere) WriteHeader(int) {}
