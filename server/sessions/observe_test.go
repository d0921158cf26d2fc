package sessions

import (
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/runtime/telemetry"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/dispatch/local"
	"github.com/agentruntime/agentruntime/store/memory"
	"github.com/agentruntime/agentruntime/tools"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// observed is a world whose metrics and spans are read.
type observed struct {
	*world
	reader *sdkmetric.ManualReader
	spans  *tracetest.SpanRecorder
}

// observing returns a world with one provider, desk.
func observing(t *testing.T, legacy bool) *observed {
	t.Helper()
	o := &observed{reader: sdkmetric.NewManualReader(), spans: tracetest.NewSpanRecorder()}
	seen, err := telemetry.New(telemetry.Settings{
		MeterProvider:  sdkmetric.NewMeterProvider(sdkmetric.WithReader(o.reader)),
		TracerProvider: trace.NewTracerProvider(trace.WithSpanProcessor(o.spans)),
	})
	if err != nil {
		t.Fatal(err)
	}
	rt, err := builder.New().WithTelemetry(seen).WithProvider("main", echoModel{}).WithModel(spec.Model{ID: "fast", ProviderID: "main", UpstreamModel: "m"}).
		WithTool("read", deed(tools.Read)).WithAgentSpec(spec.Agent{ID: "clerk", ModelID: "fast"}).Build()
	if err != nil {
		t.Fatal(err)
	}
	kept := memory.New(store.Settings{})
	o.world = &world{t: t, service: service.New(service.Settings{Runtime: rt, Store: kept, Dispatcher: local.New(local.Settings{})})}
	if err := o.service.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	drain := o.listen(Settings{Service: o.service, Providers: map[string]settings.SessionProvider{"desk": {Agent: "clerk"}}, LegacyMetrics: legacy})
	t.Cleanup(func() {
		if err := drain(); err != nil {
			t.Error(err)
		}
		o.service.Close()
		if err := kept.Close(); err != nil {
			t.Error(err)
		}
	})
	return o
}

// points returns the numbers of a metric by their attributes, of counters or the counts of
// histograms.
func (o *observed) points(name string) map[string]int64 {
	o.t.Helper()
	var all metricdata.ResourceMetrics
	if err := o.reader.Collect(o.t.Context(), &all); err != nil {
		o.t.Fatal(err)
	}
	found := map[string]int64{}
	text := func(set attribute.Set) string { return set.Encoded(attribute.DefaultEncoder()) }
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			if m.Name != name {
				continue
			}
			switch data := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range data.DataPoints {
					found[text(p.Attributes)] = p.Value
				}
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					found[text(p.Attributes)] = int64(p.Count) //nolint:gosec // it is small
				}
			}
		}
	}
	return found
}

func TestOperationsAreMeasured(t *testing.T) {
	for _, legacy := range []bool{false, true} {
		o := observing(t, legacy)
		turn := o.begin(`{}`, "read")
		o.until(turn.ID, "succeeded")
		if status, _ := o.ask("eve", "GET /agent/turns/"+turn.ID, ""); status != 404 {
			t.Fatalf("a foreign turn answers %d", status)
		}
		for prefix, keys := range map[string]string{"agentruntime.": "agentruntime.", "gestaltd.": "gestalt."} {
			want := int64(1)
			if prefix == "gestaltd." && !legacy {
				want = 0
			}
			for metric, attributes := range map[string]string{
				"agent.operation.count":          "agent.operation=create_turn",
				"agent.operation.duration":       "agent.operation=create_session",
				"agent.operation.error_count":    "agent.operation=get_turn",
				"agent.provider.operation.count": "agent.operation=create_turn,KEYSagent.provider=desk",
				"agent.tool.resolve.count":       "agent.tool.source=mcp_catalog",
			} {
				by := keys + strings.ReplaceAll(attributes, "KEYS", keys)
				if got := o.points(prefix + metric)[by]; got != want {
					t.Errorf("legacy %t: %s{%s} is %d, not %d: %v", legacy, prefix+metric, by, got, want, o.points(prefix+metric))
				}
			}
		}
		tool := "gen_ai.agent.name=clerk,gen_ai.operation.name=execute_tool,gen_ai.provider.name=gestalt,gen_ai.tool.name=read,gen_ai.tool.type=extension"
		if got := o.points("gen_ai.client.operation.duration")[tool]; (got == 1) != legacy {
			t.Errorf("legacy %t: %d tool calls under Gestalt's name", legacy, got)
		}
	}
}

func TestARequestIsASpan(t *testing.T) {
	o := observing(t, false)
	o.until(o.begin(`{}`, "hello").ID, "succeeded")
	parents, names := map[string]string{}, map[string]string{}
	for _, s := range o.spans.Ended() {
		names[s.SpanContext().SpanID().String()] = s.Name()
	}
	for _, s := range o.spans.Ended() {
		parents[s.Name()] = names[s.Parent().SpanID().String()]
	}
	for _, child := range []string{"agent.provider.operation", "agent.tool.list"} {
		if parents[child] != "agent.operation" {
			t.Errorf("%s stands below %q; spans: %v", child, parents[child], slices.Sorted(func(yield func(string) bool) {
				for name := range parents {
					if !yield(name) {
						return
					}
				}
			}))
		}
	}
}
