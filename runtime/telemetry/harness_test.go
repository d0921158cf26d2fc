package telemetry

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// watch is a Telemetry, and what it has told so far.
type watch struct {
	*Telemetry
	t       *testing.T
	spans   *tracetest.InMemoryExporter
	numbers *sdkmetric.ManualReader
}

func newWatch(t *testing.T, s Settings, options ...sdktrace.TracerProviderOption) *watch {
	t.Helper()
	w := &watch{t: t, spans: tracetest.NewInMemoryExporter(), numbers: sdkmetric.NewManualReader()}
	s.TracerProvider = sdktrace.NewTracerProvider(append(options, sdktrace.WithSyncer(w.spans))...)
	s.MeterProvider = sdkmetric.NewMeterProvider(sdkmetric.WithReader(w.numbers))
	var err error
	if w.Telemetry, err = New(s); err != nil {
		t.Fatal(err)
	}
	return w
}

// span returns the one span of a name that ended.
func (w *watch) span(name string) tracetest.SpanStub {
	w.t.Helper()
	var found []tracetest.SpanStub
	for _, s := range w.spans.GetSpans() {
		if s.Name == name {
			found = append(found, s)
		}
	}
	if len(found) != 1 {
		w.t.Fatalf("there are %d spans %q", len(found), name)
	}
	return found[0]
}

// attributesOf returns the attributes of a span as texts.
func attributesOf(s tracetest.SpanStub) map[string]string { return texts(s.Attributes) }

func texts(attributes []attribute.KeyValue) map[string]string {
	m := make(map[string]string, len(attributes))
	for _, a := range attributes {
		m[string(a.Key)] = a.Value.String()
	}
	return m
}

// everything returns all that the spans tell, as one text.
func (w *watch) everything() string {
	var b strings.Builder
	for _, s := range w.spans.GetSpans() {
		b.WriteString(s.Name + "\n" + s.Status.Description + "\n")
		m := attributesOf(s)
		for _, key := range slices.Sorted(maps.Keys(m)) {
			b.WriteString(key + "=" + m[key] + "\n")
		}
		for _, e := range s.Events {
			b.WriteString(e.Name + "\n")
			for key, value := range texts(e.Attributes) {
				b.WriteString(key + "=" + value + "\n")
			}
		}
	}
	return b.String()
}

// point is one value of a metric: the sum of a counter, the count and sum of a
// histogram.
type point struct {
	attributes map[string]string
	count      uint64
	sum        float64
	bounds     []float64
}

// metric returns the points of a metric and its unit.
func (w *watch) metric(name string) (points []point, unit string) {
	w.t.Helper()
	var all metricdata.ResourceMetrics
	if err := w.numbers.Collect(w.t.Context(), &all); err != nil {
		w.t.Fatal(err)
	}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			if m.Name == name {
				return pointsOf(w.t, m.Data), m.Unit
			}
		}
	}
	return nil, ""
}

func pointsOf(t *testing.T, data metricdata.Aggregation) (points []point) {
	t.Helper()
	switch d := data.(type) {
	case metricdata.Sum[int64]:
		for _, p := range d.DataPoints {
			points = append(points, point{attributes: texts(p.Attributes.ToSlice()), sum: float64(p.Value)})
		}
	case metricdata.Sum[float64]:
		for _, p := range d.DataPoints {
			points = append(points, point{attributes: texts(p.Attributes.ToSlice()), sum: p.Value})
		}
	case metricdata.Histogram[int64]:
		for _, p := range d.DataPoints {
			points = append(points, point{texts(p.Attributes.ToSlice()), p.Count, float64(p.Sum), p.Bounds})
		}
	case metricdata.Histogram[float64]:
		for _, p := range d.DataPoints {
			points = append(points, point{texts(p.Attributes.ToSlice()), p.Count, p.Sum, p.Bounds})
		}
	default:
		t.Fatalf("a metric is a %T", data)
	}
	return points
}

// The texts that only captured content may hold.
const (
	instructionsText = "INSTRUCTIONS-7f3"
	promptText       = "PROMPT-7f3"
	answerText       = "ANSWER-7f3"
	argumentText     = "ARGUMENT-7f3"
	resultText       = "RESULT-7f3"
	errorText        = "ERRORTEXT-7f3"
)

var (
	aTurn = Turn{
		AgentID: "helper", Description: "Helps.", Provider: "openai", Model: "gpt-5",
		TurnID: "t-1", SessionID: "s-1", Revision: 7,
	}
	aRequest = &model.Request{
		Model: "gpt-5", SessionID: "s-1",
		Messages: []model.Message{model.System(instructionsText), model.User(promptText)},
		Params:   model.Params{MaxOutputTokens: 100},
	}
	anInference = Inference{Provider: "openai", ModelID: "main", Request: aRequest}
	aToolCall   = ToolCall{
		ID: "call-1", Name: "look_up", Effect: "read", Source: "global", Arguments: []byte(`{"q":"` + argumentText + `"}`),
	}
	someUsage = model.Usage{Input: 100, Output: 20, CacheRead: 60, CacheWrite: 10, Reasoning: 5}
)

// goThroughATurn tells of a turn of two steps: the model asks for a tool, which a
// delegate helps with, and then answers.
func goThroughATurn(ctx context.Context, t *Telemetry) {
	ctx, turn := t.StartTurn(ctx, aTurn)
	goThroughAStep(ctx, 1, func(ctx context.Context) {
		callCtx, call := TurnFromContext(ctx).StartTool(ctx, aToolCall)
		_, child := t.StartTurn(callCtx, Turn{AgentID: "expert", TurnID: "t-2", ParentTurnID: "t-1"})
		child.End(TurnOutcome{Outcome: event.Outcome{Termination: event.Termination{Type: event.NaturalEnd}}, Status: event.StatusSucceeded})
		call.End(ToolOutcome{Outcome: event.CallSucceeded, Result: []model.Part{model.Text(resultText)}})
	})
	goThroughAStep(ctx, 2, func(context.Context) {})
	turn.End(TurnOutcome{
		Outcome: event.Outcome{Termination: event.Termination{Type: event.NaturalEnd}, Steps: 2, Usage: model.Usage{Input: 200, Output: 40}, Cost: &event.Cost{Amount: 0.5, Currency: "EUR"}, FinishReason: model.FinishStop}, Status: event.StatusSucceeded,
	})
}

func goThroughAStep(ctx context.Context, number int, then func(ctx context.Context)) {
	turn := TurnFromContext(ctx)
	ctx, step := turn.StartStep(ctx, number, "helper")
	_, call := turn.StartModel(ctx, anInference)
	call.Observe(&model.Event{Type: model.EventText, Delta: answerText})
	answer := model.Assistant(answerText)
	call.End(ModelOutcome{Reason: model.FinishStop, Usage: someUsage, Cost: 0.25, Currency: "EUR", Answer: &answer})
	then(ctx)
	step.End(nil)
}

var aRetry = &model.Retry{Attempt: 1, Class: model.Overloaded, Plan: model.ContinueText, Wait: 2 * time.Second}
