package telemetry

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/trace"
)

const (
	traceID     = "4bf92f3577b34da6a3ce929d0e0e4736"
	traceparent = "00-" + traceID + "-00f067aa0ba902b7-01"
)

func TestATurnIsPartOfTheTraceThatItsRequestCameWith(t *testing.T) {
	t.Parallel()
	w := newWatch(t, Settings{})
	in := http.Header{"Traceparent": {traceparent}, "Tracestate": {"v=1"}, "Baggage": {"user=7"}}
	ctx, turn := w.StartTurn(Extract(t.Context(), in), aTurn)
	turn.End(TurnOutcome{})
	s := w.span("invoke_agent helper")
	if s.SpanContext.TraceID().String() != traceID || s.Parent.SpanID().String() != "00f067aa0ba902b7" || !s.Parent.IsRemote() {
		t.Errorf("the span is %v below %v", s.SpanContext, s.Parent)
	}
	out := http.Header{}
	Inject(ctx, out)
	want := http.Header{
		"Traceparent": {"00-" + traceID + "-" + s.SpanContext.SpanID().String() + "-01"}, "Tracestate": {"v=1"}, "Baggage": {"user=7"},
	}
	if diff := cmp.Diff(want, out); diff != "" {
		t.Error(diff)
	}
}

func TestATraceGoesThroughWithoutTelemetry(t *testing.T) {
	t.Parallel()
	var none *Telemetry
	ctx, _ := none.StartTurn(Extract(t.Context(), http.Header{"Traceparent": {traceparent}}), aTurn)
	out := http.Header{}
	Inject(ctx, out)
	if got := out.Get("traceparent"); got != traceparent {
		t.Errorf("what goes out is %q", got)
	}
}

func TestAMalformedTraceIsPassedOver(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"", "x", "00-0-0-0", "00-" + traceID + "-0000000000000000-01", traceparent + "-more"} {
		ctx := Extract(t.Context(), http.Header{"Traceparent": {value}, "Baggage": {"=,;"}})
		if sc := trace.SpanContextFromContext(ctx); sc.IsValid() {
			t.Errorf("%q gives %v", value, sc)
		}
	}
}
