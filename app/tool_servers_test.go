package app_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/app"
	"github.com/agentruntime/agentruntime/app/shipped"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

func TestToolServersAreShownAndMeasured(t *testing.T) {
	type echoed struct {
		Text string `json:"text"`
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "x", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "echo"}, func(_ context.Context, _ *mcp.CallToolRequest, in echoed) (*mcp.CallToolResult, echoed, error) {
		return nil, in, nil
	})
	server := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{Stateless: true}))
	defer server.Close()

	file := write(t, base+"store: {driver: memory}\ntools:\n  good: {type: mcp, url: "+server.URL+"}\n  bad: {type: mcp, url: 'http://127.0.0.1:1'}\n")
	reader := sdkmetric.NewManualReader()
	meters := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
	a, err := app.Open(t.Context(), app.Options{
		Files: []string{file}, PublicURL: publicURL, Components: shipped.Components(),
		MeterProvider: meters,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := a.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	own := httptest.NewServer(http.StripPrefix("/agents", a.Handler()))
	defer own.Close()
	_, text := send(t, own.Client(), http.MethodGet, own.URL+"/agents/readyz?verbose", "")
	for _, want := range []string{"\ntool server good: 1 open; 1 tools\n", "\ntool server bad: failing, "} {
		if !strings.Contains(text, want) {
			t.Errorf("readyz says %q and lacks %q", text, want)
		}
	}
	if _, text := send(t, own.Client(), http.MethodGet, own.URL+"/agents/readyz", ""); text != "ready\n" {
		t.Errorf("readyz says %q", text)
	}
	var measured metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &measured); err != nil {
		t.Fatal(err)
	}
	got := map[string]int64{}
	for _, scope := range measured.ScopeMetrics {
		for _, m := range scope.Metrics {
			if gauge, ok := m.Data.(metricdata.Gauge[int64]); ok && strings.HasPrefix(m.Name, "agentruntime.tool_server.") {
				for _, p := range gauge.DataPoints {
					id, _ := p.Attributes.Value("server")
					got[strings.TrimPrefix(m.Name, "agentruntime.tool_server.")+" "+id.AsString()] = p.Value
				}
			}
		}
	}
	if got["connections good"] != 1 || got["failures good"] != 0 || got["connections bad"] != 0 || got["failures bad"] < 1 {
		t.Errorf("measured are %v", got)
	}
}
