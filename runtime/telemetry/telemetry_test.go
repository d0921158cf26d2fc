package telemetry

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/codes"
	noopmetric "go.opentelemetry.io/otel/metric/noop"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	nooptrace "go.opentelemetry.io/otel/trace/noop"
)

func TestEachSpanStandsBelowWhatItIsPartOf(t *testing.T) {
	t.Parallel()
	w := newWatch(t, Settings{})
	goThroughATurn(t.Context(), w.Telemetry)
	type place struct {
		Name, Parent string
		Kind         trace.SpanKind
	}
	names := make(map[trace.SpanID]string)
	spans := w.spans.GetSpans()
	for _, s := range spans {
		names[s.SpanContext.SpanID()] = s.Name
	}
	var got []place // in the order in which they ended
	for _, s := range spans {
		got = append(got, place{s.Name, names[s.Parent.SpanID()], s.SpanKind})
		if s.InstrumentationScope.Name != scopeName || s.Status.Code != codes.Unset {
			t.Errorf("span %s: scope %q, status %v", s.Name, s.InstrumentationScope.Name, s.Status)
		}
	}
	want := []place{
		{"chat gpt-5", "step", trace.SpanKindClient},
		{"invoke_agent expert", "execute_tool look_up", trace.SpanKindInternal},
		{"execute_tool look_up", "step", trace.SpanKindInternal},
		{"step", "invoke_agent helper", trace.SpanKindInternal},
		{"chat gpt-5", "step", trace.SpanKindClient},
		{"step", "invoke_agent helper", trace.SpanKindInternal},
		{"invoke_agent helper", "", trace.SpanKindInternal},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestSpansSayWhatTheConventionsAskFor(t *testing.T) {
	t.Parallel()
	w := newWatch(t, Settings{})
	ctx, turn := w.StartTurn(t.Context(), aTurn)
	stepCtx, step := turn.StartStep(ctx, 1, "helper")
	_, call := turn.StartModel(stepCtx, anInference)
	call.Observe(&model.Event{Type: model.EventServed, ID: "spare", Name: "gpt-5-2030"})
	call.End(ModelOutcome{Reason: model.FinishMaxTokens, Usage: someUsage, Cost: 0.25, Currency: "EUR"})
	_, used := turn.StartTool(stepCtx, aToolCall)
	used.End(ToolOutcome{Outcome: event.CallSuspended})
	step.End(nil)
	turn.End(TurnOutcome{
		Outcome: event.Outcome{Termination: event.Termination{Type: event.Suspended}, Steps: 1, Usage: model.Usage{Input: 100, Output: 20}, Cost: &event.Cost{Amount: 0.25, Currency: "EUR"}, FinishReason: model.FinishToolCalls}, Status: event.StatusWaiting,
	})
	for name, want := range map[string]map[string]string{
		"invoke_agent helper": {
			"gen_ai.operation.name": "invoke_agent", "gen_ai.provider.name": "openai", "gen_ai.request.model": "gpt-5",
			"gen_ai.agent.id": "helper", "gen_ai.agent.name": "helper", "gen_ai.agent.description": "Helps.",
			"gen_ai.conversation.id": "s-1", "agentruntime.turn.id": "t-1", "agentruntime.revision": "7",
			"agentruntime.turn.status": "waiting", "agentruntime.turn.termination.type": "suspended", "agentruntime.turn.steps": "1",
			"gen_ai.usage.input_tokens": "100", "gen_ai.usage.output_tokens": "20",
			"agentruntime.usage.cost": "0.25", "agentruntime.usage.currency": "EUR",
			"gen_ai.response.finish_reasons": `["tool_call"]`,
		},
		"step": {"agentruntime.step": "1", "gen_ai.agent.id": "helper", "gen_ai.agent.name": "helper"},
		"chat gpt-5": {
			"gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", "gen_ai.request.model": "gpt-5",
			"gen_ai.response.model": "gpt-5-2030", "agentruntime.model.id": "spare",
			"gen_ai.agent.id": "helper", "gen_ai.agent.name": "helper",
			"gen_ai.conversation.id": "s-1", "gen_ai.request.stream": "true", "gen_ai.request.max_tokens": "100",
			"gen_ai.response.finish_reasons": `["length"]`,
			"gen_ai.usage.input_tokens":      "100", "gen_ai.usage.output_tokens": "20",
			"gen_ai.usage.cache_read.input_tokens": "60", "gen_ai.usage.cache_creation.input_tokens": "10",
			"gen_ai.usage.reasoning.output_tokens": "5",
			"agentruntime.usage.cost":              "0.25", "agentruntime.usage.currency": "EUR",
		},
		"execute_tool look_up": {
			"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look_up", "gen_ai.tool.type": "function",
			"gen_ai.tool.call.id": "call-1", "gen_ai.agent.id": "helper", "gen_ai.agent.name": "helper",
			"agentruntime.tool.effect": "read", "agentruntime.tool.source": "global", "agentruntime.tool.outcome": "suspended",
		},
	} {
		if diff := cmp.Diff(want, attributesOf(w.span(name))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestAVendorHasTheNameThatTheConventionsGiveIt(t *testing.T) {
	t.Parallel()
	for provider, want := range map[string]string{
		"openai": "openai", "anthropic": "anthropic", "google": "gcp.gemini", "azure-openai": "azure.ai.openai",
		"bedrock": "aws.bedrock", "vertex": "gcp.vertex_ai", "our-own": "our-own",
	} {
		w := newWatch(t, Settings{})
		ctx, turn := w.StartTurn(t.Context(), aTurn)
		_, call := turn.StartModel(ctx, Inference{Provider: provider, Request: aRequest})
		call.End(ModelOutcome{})
		if got := attributesOf(w.span("chat gpt-5"))["gen_ai.provider.name"]; got != want {
			t.Errorf("%s is %q, want %q", provider, got, want)
		}
		turn.End(TurnOutcome{})
	}
}

func TestAFailedTurnSaysByWhatItFailed(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name      string
		end       event.Termination
		errorType string
		status    codes.Code
	}{
		{"an error", event.Termination{Type: event.Failed, Code: "rate_limited", Detail: errorText}, "rate_limited", codes.Error},
		{"an error without a class", event.Termination{Type: event.Failed}, "error", codes.Error},
		{"a gate", event.Termination{Type: event.Blocked, Code: "permission"}, "blocked", codes.Error},
		{"a budget", event.Termination{Type: event.BudgetExceeded, Code: "tokens"}, "budget_exceeded", codes.Error},
		{"its caller", event.Termination{Type: event.Canceled}, "cancelled", codes.Unset},
		{"nothing", event.Termination{Type: event.NaturalEnd}, "", codes.Unset},
		{"a question", event.Termination{Type: event.Suspended}, "", codes.Unset},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWatch(t, Settings{})
			_, turn := w.StartTurn(t.Context(), aTurn)
			turn.End(TurnOutcome{Outcome: event.Outcome{Termination: tt.end}, Status: tt.end.Status(), Err: errors.New(errorText)})
			s := w.span("invoke_agent helper")
			if got := attributesOf(s)["error.type"]; got != tt.errorType || s.Status.Code != tt.status {
				t.Errorf("error.type is %q, status %v", got, s.Status)
			}
			points, _ := w.metric(metricTurnDuration)
			if got := points[0].attributes["error.type"]; got != tt.errorType {
				t.Errorf("error.type of the duration is %q", got)
			}
		})
	}
}

func TestAFailedCallSaysByWhatItFailed(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		err       error
		errorType string
		status    codes.Code
	}{
		{&model.Error{Class: model.Overloaded}, "overloaded", codes.Error},
		{context.DeadlineExceeded, "timeout", codes.Error},
		{errors.New("x"), "_OTHER", codes.Error},
		{context.Canceled, "cancelled", codes.Unset},
		{&model.Error{Class: model.Canceled}, "cancelled", codes.Unset},
	} {
		w := newWatch(t, Settings{})
		ctx, turn := w.StartTurn(t.Context(), aTurn)
		ctx, step := turn.StartStep(ctx, 1, "helper")
		_, call := turn.StartModel(ctx, anInference)
		call.End(ModelOutcome{Err: tt.err})
		step.End(tt.err)
		turn.End(TurnOutcome{})
		for _, name := range []string{"chat gpt-5", "step"} {
			s := w.span(name)
			if got := attributesOf(s)["error.type"]; got != tt.errorType || s.Status.Code != tt.status {
				t.Errorf("%v: %s: error.type is %q, status %v", tt.err, name, got, s.Status)
			}
		}
		if model := attributesOf(w.span("chat gpt-5"))["gen_ai.response.model"]; model != "" {
			t.Errorf("%v: the model %q is said to have answered", tt.err, model)
		}
	}
}

func TestAFailedToolCallSaysByWhatItFailed(t *testing.T) {
	t.Parallel()
	for failure, want := range map[string]string{"": "tool_error", "timeout": "timeout"} {
		w := newWatch(t, Settings{})
		ctx, turn := w.StartTurn(t.Context(), aTurn)
		_, call := turn.StartTool(ctx, aToolCall)
		call.End(ToolOutcome{Outcome: event.CallFailed, Failure: failure})
		turn.End(TurnOutcome{})
		s := w.span("execute_tool look_up")
		if got := attributesOf(s)["error.type"]; got != want || s.Status.Code != codes.Error {
			t.Errorf("error.type is %q, status %v", got, s.Status)
		}
	}
}

func TestWhatHappensToAnAnswerIsAnEventOfItsCall(t *testing.T) {
	t.Parallel()
	w := newWatch(t, Settings{})
	ctx, turn := w.StartTurn(t.Context(), aTurn)
	turn.Handoff("expert")
	_, call := turn.StartModel(ctx, anInference)
	call.Observe(&model.Event{Type: model.EventRetry, Retry: aRetry})
	call.Observe(&model.Event{Type: model.EventReset, Delta: answerText})
	call.Observe(&model.Event{Type: model.EventRetry}) // without saying which
	call.End(ModelOutcome{Usage: someUsage})
	turn.End(TurnOutcome{})
	s := w.span("chat gpt-5")
	if len(s.Events) != 2 || s.Events[0].Name != eventRetry || s.Events[1].Name != eventReset {
		t.Fatalf("the events are %v", s.Events)
	}
	want := map[string]string{
		"agentruntime.retry.class": "overloaded", "agentruntime.retry.plan": "continue_text",
		"agentruntime.retry.attempt": "1", "agentruntime.retry.wait": "2",
	}
	if diff := cmp.Diff(want, texts(s.Events[0].Attributes)); diff != "" {
		t.Error(diff)
	}
	if got := attributesOf(s)["agentruntime.model.retries"]; got != "1" {
		t.Errorf("%s retries", got)
	}
	if events := w.span("invoke_agent helper").Events; len(events) != 1 || events[0].Name != eventHandoff {
		t.Errorf("the turn's events are %v", events)
	}
}

func TestATurnEndsOnce(t *testing.T) {
	t.Parallel()
	w := newWatch(t, Settings{})
	_, turn := w.StartTurn(t.Context(), aTurn)
	turn.End(TurnOutcome{Status: event.StatusSucceeded})
	turn.End(TurnOutcome{Status: event.StatusFailed})
	if got := attributesOf(w.span("invoke_agent helper"))["agentruntime.turn.status"]; got != "succeeded" {
		t.Errorf("the turn is %s", got)
	}
	if points, _ := w.metric(metricTurnDuration); len(points) != 1 || points[0].count != 1 {
		t.Errorf("the durations are %v", points)
	}
}

func TestATurnThatIsNotSampledIsMeasured(t *testing.T) {
	t.Parallel()
	w := newWatch(t, Settings{}, sdktrace.WithSampler(sdktrace.NeverSample()))
	ctx, turn := w.StartTurn(t.Context(), aTurn)
	if sc := trace.SpanContextFromContext(ctx); !sc.IsValid() || sc.IsSampled() {
		t.Errorf("those that are called see %v", sc)
	}
	turn.End(TurnOutcome{})
	goThroughATurn(t.Context(), w.Telemetry)
	if spans := w.spans.GetSpans(); len(spans) != 0 {
		t.Errorf("there are spans: %v", spans)
	}
	if points, _ := w.metric(metricModelDuration); len(points) != 1 || points[0].count != 2 {
		t.Errorf("the model calls are %v", points)
	}
}

func TestSpansAloneAndMetricsAloneWork(t *testing.T) {
	t.Parallel()
	spans := tracetest.NewInMemoryExporter()
	tracing, err := New(Settings{TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))})
	if err != nil {
		t.Fatal(err)
	}
	goThroughATurn(t.Context(), tracing)
	if n := len(spans.GetSpans()); n != 7 {
		t.Errorf("there are %d spans", n)
	}
	w := newWatch(t, Settings{})
	w.tracer = nil
	goThroughATurn(t.Context(), w.Telemetry)
	if points, _ := w.metric(metricToolDuration); len(points) != 1 {
		t.Errorf("the tool calls are %v", points)
	}
}

func TestWithoutAProviderThereIsNoTelemetry(t *testing.T) {
	t.Parallel()
	for _, s := range []Settings{
		{},
		{TracerProvider: nooptrace.NewTracerProvider(), MeterProvider: noopmetric.NewMeterProvider(), CaptureContent: true},
	} {
		if got, err := New(s); got != nil || err != nil {
			t.Errorf("New is %v, %v", got, err)
		}
	}
}

func TestNoTelemetryCostsNothing(t *testing.T) {
	var none *Telemetry
	ctx := context.Background()
	allocated := testing.AllocsPerRun(100, func() {
		bareTurn(ctx, none)
		none.Resolved(ctx, "helper", time.Second, "")
		TurnFromContext(ctx).Handoff("expert")
	})
	if allocated != 0 {
		t.Errorf("%v allocations", allocated)
	}
}

func TestToolsOfAStepMayBeCalledAtTheSameTime(t *testing.T) {
	t.Parallel()
	w := newWatch(t, Settings{})
	ctx, turn := w.StartTurn(t.Context(), aTurn)
	ctx, step := turn.StartStep(ctx, 1, "helper")
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			ctx, call := TurnFromContext(ctx).StartTool(ctx, aToolCall)
			TurnFromContext(ctx).Handoff("expert")
			call.End(ToolOutcome{Outcome: event.CallSucceeded})
		})
	}
	all.Wait()
	step.End(nil)
	turn.End(TurnOutcome{})
	if points, _ := w.metric(metricToolDuration); len(points) != 1 || points[0].count != 8 {
		t.Errorf("the tool calls are %v", points)
	}
}
