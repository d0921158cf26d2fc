package workflow_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/app"
	"github.com/agentruntime/agentruntime/runtime/telemetry"
	engine "github.com/agentruntime/agentruntime/service/workflow"
	"github.com/agentruntime/agentruntime/store"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// measured returns the counts of the metrics of runs, by their name and attributes.
func measured(t *testing.T, reader *sdkmetric.ManualReader) map[string]int64 {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	counts := make(map[string]int64)
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			switch data := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range data.DataPoints {
					counts[fmt.Sprint(m.Name, " ", p.Attributes.Encoded(attribute.DefaultEncoder()))] = p.Value
				}
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					counts[fmt.Sprint(m.Name, " ", p.Attributes.Encoded(attribute.DefaultEncoder()))] = int64(p.Count)
				}
			}
		}
	}
	maps.DeleteFunc(counts, func(name string, _ int64) bool { return !strings.HasPrefix(name, "agentruntime.workflow.") })
	return counts
}

func TestRunsAreMeasuredByWorkflowAndAreATreeOfSpansEach(t *testing.T) {
	reader, spans := sdkmetric.NewManualReader(), tracetest.NewSpanRecorder()
	meters := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
	seen, err := telemetry.New(telemetry.Settings{MeterProvider: meters, TracerProvider: trace.NewTracerProvider(trace.WithSpanProcessor(spans))})
	if err != nil {
		t.Fatal(err)
	}
	w := openWith(t, t.TempDir(), "store: {driver: memory}\n"+report+`  fails:
    events: [{type: x}]
    steps: [{id: only, tool: {name: broken}}]
`, `replies: [{match: "Summarize Monday for shop.", text: '{"alarm": true, "text": "All is lost."}'}]`, func(o *app.Options) {
		o.Telemetry, o.MeterProvider = seen, meters
	})
	w.publish(1, closed("e1", "Monday"))
	w.until(store.RunSucceeded)
	w.publish(1, engine.Event{ID: "1", Type: "x"})
	w.until(store.RunFailed)
	want := map[string]int64{
		"agentruntime.workflow.runs agentruntime.workflow.id=report,agentruntime.workflow.status=succeeded":     1,
		"agentruntime.workflow.runs agentruntime.workflow.id=fails,agentruntime.workflow.status=failed":         1,
		"agentruntime.workflow.duration agentruntime.workflow.id=report,agentruntime.workflow.status=succeeded": 1,
		"agentruntime.workflow.duration agentruntime.workflow.id=fails,agentruntime.workflow.status=failed":     1,
		"agentruntime.workflow.delay agentruntime.workflow.id=report":                                           1,
		"agentruntime.workflow.delay agentruntime.workflow.id=fails":                                            1,
	}
	if got := measured(t, reader); !maps.Equal(got, want) {
		t.Errorf("measured is %v, want %v", got, want)
	}
	if err := w.app.Shutdown(context.WithoutCancel(t.Context())); err != nil { // the spans of the last turn end, too
		t.Fatal(err)
	}
	trees := make(map[string][]string)
	for _, one := range spans.Ended() {
		trees[one.SpanContext().TraceID().String()] = append(trees[one.SpanContext().TraceID().String()], one.Name())
	}
	var shown []string
	for _, names := range trees {
		slices.Sort(names)
		shown = append(shown, strings.Join(slices.DeleteFunc(names, func(n string) bool {
			return !strings.HasPrefix(n, "invoke_workflow ") && !strings.HasPrefix(n, "execute_tool") && !strings.HasPrefix(n, "chat ")
		}), ", "))
	}
	slices.Sort(shown)
	wantTrees := []string{"chat x, execute_tool figures, execute_tool send, execute_tool send, invoke_workflow report", "execute_tool broken, invoke_workflow fails"}
	if !slices.Equal(shown, wantTrees) {
		t.Errorf("the traces have %q, want %q", shown, wantTrees)
	}
}
