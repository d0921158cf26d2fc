package mcp

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
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

// traced is what a server may learn of traces.
type traced struct{ Traceparent, Tracestate, Baggage string }

// metadata calls the tool that returns the metadata of its call.
func metadata(ctx context.Context, t *testing.T, s *server) traced {
	t.Helper()
	r := call(ctx, t, s, "metadata", `{}`)
	var got traced
	if err := json.Unmarshal(r.Data, &got); err != nil || r.IsError {
		t.Fatalf("the metadata are %s (%v)", r.Data, err)
	}
	return got
}

func TestACallIsPartOfItsTrace(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]func(*testing.T) config{
		"a program": func(t *testing.T) config { return local(t, "fake") },
		"over HTTP": func(t *testing.T) config { return newPeer(t, nil).config(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := ready(t, config(t))
			if got, want := metadata(inTrace(t), t, s), (traced{traceparent, "v=1", ""}); got != want {
				t.Errorf("in a trace the metadata are %+v, want %+v", got, want)
			}
			if got := metadata(t.Context(), t, s); got != (traced{}) {
				t.Errorf("outside of traces the metadata are %+v", got)
			}
		})
	}
}

func TestTheRequestsOfACallArePartOfItsTrace(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		headers map[string]string
		want    traced
	}{
		{"by default", nil, traced{traceparent, "v=1", ""}},
		{"with a trace of its own", map[string]string{"traceparent": "own"}, traced{"own", "", ""}},
		{"with a state of its own", map[string]string{"TraceState": "own"}, traced{"", "own", ""}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			var last traced // of the latest POST
			p := newPeer(t, func(r *http.Request) int {
				if r.Method == http.MethodPost {
					mu.Lock()
					defer mu.Unlock()
					last = traced{r.Header.Get("Traceparent"), r.Header.Get("Tracestate"), r.Header.Get("Baggage")}
				}
				return 0
			})
			c := p.config(t)
			c.Headers = tt.headers
			s := ready(t, c)
			posted := func() traced {
				mu.Lock()
				defer mu.Unlock()
				return last
			}
			outside := traced{tt.headers["traceparent"], tt.headers["TraceState"], ""}
			if got := posted(); got != outside {
				t.Errorf("connecting has %+v, want %+v", got, outside)
			}
			metadata(inTrace(t), t, s)
			if got := posted(); got != tt.want {
				t.Errorf("the call has %+v, want %+v", got, tt.want)
			}
			metadata(t.Context(), t, s)
			if got := posted(); got != outside {
				t.Errorf("a call outside of traces has %+v, want %+v", got, outside)
			}
		})
	}
}
