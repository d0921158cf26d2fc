package http

import (
	"context"
	"testing"

	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/trace"
)

const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

// inTrace returns a context that belongs to a trace, and has baggage.
func inTrace(t *testing.T) context.Context {
	t.Helper()
	state, err := trace.ParseTraceState("v=1")
	if err != nil {
		t.Fatal(err)
	}
	id, err := trace.TraceIDFromHex("4bf92f3577b34da6a3ce929d0e0e4736")
	if err != nil {
		t.Fatal(err)
	}
	span, err := trace.SpanIDFromHex("00f067aa0ba902b7")
	if err != nil {
		t.Fatal(err)
	}
	secret, err := baggage.Parse("user=7")
	if err != nil {
		t.Fatal(err)
	}
	ctx := trace.ContextWithSpanContext(t.Context(), trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: id, SpanID: span, TraceFlags: trace.FlagsSampled, TraceState: state,
	}))
	return baggage.ContextWithBaggage(ctx, secret)
}

func TestARequestIsPartOfTheTraceOfItsCall(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name            string
		headers         map[string]string
		inTrace         bool
		parent, tracing string
	}{
		{"in a trace", nil, true, traceparent, "v=1"},
		{"outside of traces", nil, false, "", ""},
		{"with a trace of its own", map[string]string{"traceparent": "own"}, true, "own", ""},
		{"with a state of its own", map[string]string{"TraceState": "own"}, true, "", "own"},
		{"with one from the arguments", map[string]string{"traceparent": "{{parent}}"}, true, "given", ""},
		{"with one the arguments lack", map[string]string{"traceparent": "{{missing}}"}, true, traceparent, "v=1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			base, requests := record(t, nil)
			ctx := t.Context()
			if tt.inTrace {
				ctx = inTrace(t)
			}
			tl := newTool(t, config{URL: base, Method: "GET", Headers: tt.headers})
			if _, err := tl.Call(ctx, arg(`{"parent":"given"}`)); err != nil {
				t.Fatal(err)
			}
			got := (<-requests).Header
			if got.Get("Traceparent") != tt.parent || got.Get("Tracestate") != tt.tracing {
				t.Errorf("traceparent %q, tracestate %q", got.Get("Traceparent"), got.Get("Tracestate"))
			}
			if got.Get("Baggage") != "" {
				t.Errorf("baggage %q", got.Get("Baggage"))
			}
		})
	}
}
