package telemetry

import (
	"context"
	"errors"
	"time"

	"github.com/agentruntime/agentruntime/model"
	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"
)

// Inference describes a model call at its start.
type Inference struct {
	// Provider is the type of the provider, such as openai, or its id if the type is unknown.
	Provider string
	// ModelID is the id of the requested model or pool.
	ModelID string
	// AgentID is the calling agent; empty for the turn's agent.
	AgentID string
	// Request is the model request. It must not change before the span ends, when it is read; its
	// messages are read only when content is captured.
	Request *model.Request
}

// ModelOutcome is the outcome of a model call.
type ModelOutcome struct {
	// Served is the vendor's name of the model that answered; if empty, the one named by
	// EventServed, or else the requested one.
	Served string
	// Reason is why the answer ended; empty if it did not.
	Reason model.FinishReason
	// Usage is the usage of the call, including failed attempts.
	Usage model.Usage
	// Cost is the price of the call, in Currency; without a currency it is not recorded.
	Cost     float64
	Currency string
	// Answer is read only when content is captured; it may be nil.
	Answer *model.Message
	// Err is why the call failed. Its class becomes error.type; its text is
	// content.
	Err error
}

// ModelSpan is the span of a model call, including retries. It is used by one goroutine. A nil
// span does nothing.
type ModelSpan struct {
	turn    *TurnSpan
	span    trace.Span
	request *model.Request
	key     modelKey
	agent   string
	modelID string
	begun   time.Time
	first   time.Time
	retries int
	// attributes is storage for the span's attributes.
	attributes []attribute.KeyValue
}

// newModelSpan returns a ModelSpan. If there is a span, the same allocation holds its attributes,
// which seldom exceed the room for them.
func (s *TurnSpan) newModelSpan() *ModelSpan {
	if s.span == nil {
		return &ModelSpan{turn: s}
	}
	traced := new(struct {
		ModelSpan
		room [16]attribute.KeyValue
	})
	traced.turn, traced.attributes = s, traced.room[:0]
	return &traced.ModelSpan
}

// StartModel begins the span of a model call. The call must use the returned context.
func (s *TurnSpan) StartModel(ctx context.Context, call Inference) (context.Context, *ModelSpan) {
	if s == nil || call.Request == nil {
		return ctx, nil
	}
	if call.AgentID == "" {
		call.AgentID = s.agent
	}
	m := s.newModelSpan()
	m.request, m.key = call.Request, modelKey{agent: call.AgentID, provider: call.Provider, model: call.Request.Model, tenant: s.tenant}
	m.agent, m.modelID, m.begun = call.AgentID, call.ModelID, time.Now()
	if s.span != nil {
		begin := s.telemetry.starts.models.get(modelStart{m.agent, call.Provider, m.key.model}, newModelStart)
		ctx, m.span = s.telemetry.startSpan(ctx, begin)
	}
	return ctx, m
}

// appendRequest adds the attributes of a model request.
func (t *Telemetry) appendRequest(attributes []attribute.KeyValue, r *model.Request) []attribute.KeyValue {
	if r.SessionID != "" {
		attributes = append(attributes, semconv.GenAIConversationID(r.SessionID))
	}
	if r.MaxOutputTokens != 0 {
		attributes = append(attributes, semconv.GenAIRequestMaxTokens(r.MaxOutputTokens))
	}
	if r.Temperature != nil {
		attributes = append(attributes, semconv.GenAIRequestTemperature(*r.Temperature))
	}
	if r.TopP != nil {
		attributes = append(attributes, semconv.GenAIRequestTopP(*r.TopP))
	}
	if r.Output != nil {
		attributes = append(attributes, semconv.GenAIOutputTypeJSON)
	}
	if t.content != nil {
		attributes = t.content.appendRequest(attributes, r.Messages)
	}
	return attributes
}

// Observe records an event of the answer: its first content, the model that serves it,
// and retries. It keeps no reference to the event.
func (m *ModelSpan) Observe(ev *model.Event) {
	if m == nil || m.turn == nil {
		return
	}
	switch ev.Type {
	case model.EventText, model.EventReasoning, model.EventReasoningEncrypted, model.EventToolCallStart:
		if m.first.IsZero() {
			m.first = time.Now()
		}
	case model.EventServed:
		m.key.served = ev.Name
		if ev.ID != "" {
			m.modelID = ev.ID
		}
	case model.EventRetry:
		if ev.Retry != nil {
			m.countRetry(ev.Retry)
		}
	case model.EventReset:
		if m.span != nil {
			m.span.AddEvent(eventReset)
		}
	default:
	}
}

func (m *ModelSpan) countRetry(r *model.Retry) {
	m.retries++
	metrics := m.turn.telemetry.metrics
	key := retryKey{m.key.provider, m.key.model, string(r.Class), string(r.Plan)}
	metrics.retries.Add(context.Background(), 1, metrics.again.get(key, newRetryMeasured).add...)
	if m.span == nil {
		return
	}
	attributes := dropEmpty([]attribute.KeyValue{
		keyRetryClass.String(string(r.Class)), keyRetryPlan.String(string(r.Plan)),
		keyRetryAttempt.Int(r.Attempt), keyRetryWait.Float64(r.Wait.Seconds()),
	})
	m.span.AddEvent(eventRetry, trace.WithAttributes(attributes...))
}

// End ends the span. The cost is recorded only here, so that no model call is counted twice.
func (m *ModelSpan) End(o ModelOutcome) {
	if m == nil || m.turn == nil {
		return
	}
	m.key.failure = errorType(o.Err)
	if o.Served != "" {
		m.key.served = o.Served
	}
	if m.key.served == "" && o.Err == nil {
		m.key.served = m.key.model
	}
	if m.span != nil {
		m.setAttributes(&o)
		m.span.End()
	}
	m.recordMetrics(&o)
	m.turn = nil
}

// setAttributes sets all attributes of the call together, because a span copies its attributes each
// time some are set.
func (m *ModelSpan) setAttributes(o *ModelOutcome) {
	t := m.turn.telemetry
	attributes := appendUsage(t.appendRequest(m.attributes, m.request), &o.Usage)
	if m.key.served != "" {
		attributes = append(attributes, semconv.GenAIResponseModel(m.key.served))
	}
	if m.modelID != "" {
		attributes = append(attributes, keyModelID.String(m.modelID))
	}
	if reason, ok := finishReasons[o.Reason]; ok {
		attributes = append(attributes, reason)
	}
	if !m.first.IsZero() {
		attributes = append(attributes, semconv.GenAIResponseTimeToFirstChunk(m.first.Sub(m.begun).Seconds()))
	}
	if m.retries > 0 {
		attributes = append(attributes, keyRetries.Int(m.retries))
	}
	if o.Currency != "" {
		attributes = append(attributes, keyCost.Float64(o.Cost), keyCurrency.String(o.Currency))
	}
	if t.content != nil && o.Answer != nil {
		attributes = t.content.appendAnswer(attributes, o.Answer, o.Reason)
	}
	m.span.SetAttributes(t.setFailure(m.span, attributes, m.key.failure, o.Err)...)
}

func (m *ModelSpan) recordMetrics(o *ModelOutcome) {
	ctx, metrics := context.Background(), m.turn.telemetry.metrics
	by := metrics.models.get(m.key, newModelMeasured)
	metrics.modelDuration.Record(ctx, time.Since(m.begun).Seconds(), by.call.record...)
	if !m.first.IsZero() {
		metrics.firstChunk.Record(ctx, m.first.Sub(m.begun).Seconds(), by.call.record...)
	}
	if o.Usage.Total() > 0 {
		metrics.tokens.Record(ctx, int64(o.Usage.Input), by.input.record...)
		metrics.tokens.Record(ctx, int64(o.Usage.Output), by.output.record...)
	}
	if o.Currency != "" && o.Cost > 0 {
		key := costKey{m.agent, m.modelID, o.Currency, m.key.tenant}
		metrics.cost.Add(ctx, o.Cost, metrics.costs.get(key, newCostMeasured).add...)
	}
}

// errorType returns the class of an error for error.type.
func errorType(err error) string {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*model.Error](err); ok && e != nil {
		return string(e.Class)
	}
	switch {
	case errors.Is(err, context.Canceled):
		return errorCanceled
	case errors.Is(err, context.DeadlineExceeded):
		return string(model.Timeout)
	default:
		return otherValue
	}
}
