package telemetry

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"
)

// Turn describes a turn at its start. Empty fields are omitted.
type Turn struct {
	// AgentID is the agent that works on the turn; it is also the agent's name.
	AgentID string
	// Description describes the agent.
	Description string
	// Provider is the type of the provider of the agent's model, such as openai, or its id if the
	// type is unknown.
	Provider string
	// Model is the vendor's name of the agent's model; empty for a pool.
	Model string

	TurnID    string
	SessionID string
	// Revision is the number of the revision that the turn resolved in.
	Revision uint64
	// ParentTurnID is the turn that delegated this one.
	ParentTurnID string
	// Tenant owns the turn; empty for the tenant of the turn in the context, if any.
	Tenant string
	// Resumed reports whether the turn resumes after a stop or suspension.
	Resumed bool
}

// TurnOutcome is the outcome of a turn.
type TurnOutcome struct {
	event.Outcome
	Status event.Status
	// Err is why the turn failed; its text is content.
	Err error
}

// TurnSpan is the span of a running turn. It is safe for concurrent use. A nil span does nothing.
type TurnSpan struct {
	identity
	telemetry *Telemetry
	// span is nil if spans are not exported or the turn is not sampled.
	span  trace.Span
	agent string
	// tenant is the tenant attribute of the turn's metrics, fixed at its start; empty if none.
	tenant string
	begun  time.Time
	ended  atomic.Bool
}

// StartTurn starts the span of a turn as a child of the span in ctx; below a tool call's span,
// the turn is a delegate's. The returned context carries the span, and the TurnSpan for
// TurnFromContext; use it for everything in the turn. End each TurnSpan.
func (t *Telemetry) StartTurn(ctx context.Context, turn Turn) (context.Context, *TurnSpan) {
	if t == nil {
		return ctx, nil
	}
	s := &TurnSpan{telemetry: t, agent: turn.AgentID, tenant: t.measuredTenant(turn.Tenant), begun: time.Now()}
	if parent := TurnFromContext(ctx); parent != nil && turn.Tenant == "" {
		s.tenant = parent.tenant
	}
	s.turn, s.of = turn.TurnID, s
	if t.tracer != nil {
		begin := t.starts.turns.get(turnStart{turn.AgentID, turn.Description, turn.Provider, turn.Model}, newTurnStart)
		ctx, s.span = t.startSpan(ctx, begin)
		s.setTurnAttributes(&turn)
	}
	t.metrics.active.Add(ctx, 1, t.metrics.agents.get(agentKey{s.agent, s.tenant}, newAgentMeasured).add...)
	return context.WithValue(ctx, identityKey{}, &s.identity), s
}

// startSpan begins a span. The span is nil if it records nothing; its children are not sampled
// either.
func (t *Telemetry) startSpan(ctx context.Context, begin *start) (context.Context, trace.Span) {
	ctx, span := t.tracer.Start(ctx, begin.name, begin.options...)
	if !span.IsRecording() {
		return ctx, nil
	}
	return ctx, span
}

func (s *TurnSpan) setTurnAttributes(turn *Turn) {
	if s.span == nil {
		return
	}
	attributes := make([]attribute.KeyValue, 0, 5)
	attributes = append(attributes, keyTurnID.String(turn.TurnID))
	if turn.SessionID != "" {
		attributes = append(attributes, semconv.GenAIConversationID(turn.SessionID))
	}
	if turn.Revision != 0 {
		attributes = append(attributes, keyRevision.Int64(int64(turn.Revision)))
	}
	if turn.ParentTurnID != "" {
		attributes = append(attributes, keyParentTurnID.String(turn.ParentTurnID))
	}
	if turn.Resumed {
		attributes = append(attributes, keyResumed.Bool(true))
	}
	s.span.SetAttributes(attributes...)
}

// TurnFromContext returns the turn that ctx belongs to; nil, which is valid, if absent or the turn
// is not observed.
func TurnFromContext(ctx context.Context) *TurnSpan {
	if id, ok := ctx.Value(identityKey{}).(*identity); ok {
		return id.of
	}
	return nil
}

// Handoff records that another agent has taken over the conversation.
func (s *TurnSpan) Handoff(agentID string) {
	if s != nil && s.span != nil {
		s.span.AddEvent(eventHandoff, trace.WithAttributes(semconv.GenAIAgentID(agentID)))
	}
}

// End ends the span. Only the first call has an effect. Failed turns have the status Error, with
// the code of their termination in error.type, or its type if it has no code; canceled turns have
// error.type canceled and no status.
func (s *TurnSpan) End(o TurnOutcome) {
	if s == nil || s.ended.Swap(true) {
		return
	}
	failure := turnFailure(o.Status, &o.Termination)
	if s.span != nil {
		s.setAttributes(&o, failure)
		s.span.End()
	}
	m, ctx := s.telemetry.metrics, context.Background()
	agent := m.agents.get(agentKey{s.agent, s.tenant}, newAgentMeasured)
	m.active.Add(ctx, -1, agent.add...)
	m.steps.Record(ctx, int64(o.Steps), agent.record...)
	m.turnDuration.Record(ctx, time.Since(s.begun).Seconds(),
		m.turns.get(turnKey{s.agent, string(o.Status), failure, s.tenant}, newTurnMeasured).record...)
}

func (s *TurnSpan) setAttributes(o *TurnOutcome, failure string) {
	attributes := make([]attribute.KeyValue, 0, 12)
	attributes = append(attributes, keyTurnStatus.String(string(o.Status)), keySteps.Int(o.Steps))
	if o.Termination.Type != "" {
		attributes = append(attributes, keyTermination.String(string(o.Termination.Type)))
	}
	if o.Termination.Code != "" {
		attributes = append(attributes, keyCode.String(o.Termination.Code))
	}
	attributes = appendUsage(attributes, &o.Usage)
	if o.Cost != nil {
		attributes = append(attributes, keyCost.Float64(o.Cost.Amount), keyCurrency.String(o.Cost.Currency))
	}
	if reason, ok := finishReasons[o.FinishReason]; ok {
		attributes = append(attributes, reason)
	}
	s.span.SetAttributes(s.telemetry.setFailure(s.span, attributes, failure, o.Err)...)
}

// turnFailure returns the error.type of a turn; "" if it succeeded.
func turnFailure(status event.Status, end *event.Termination) string {
	switch {
	case status == event.StatusCanceled:
		return errorCanceled
	case status != event.StatusFailed:
		return ""
	case end.Type == event.Failed && end.Code != "":
		return end.Code
	case end.Type != "":
		return string(end.Type)
	default:
		return string(event.Failed)
	}
}

// setFailure gives a span the status of its failure and returns the attributes with its error.type.
// The text of the error is content; without content, the status has only the type.
func (t *Telemetry) setFailure(span trace.Span, attributes []attribute.KeyValue, failure string, err error) []attribute.KeyValue {
	if failure == "" {
		return attributes
	}
	if failure != errorCanceled {
		text := failure
		if err != nil && t.content != nil {
			text = t.content.redactText(err.Error())
		}
		span.SetStatus(codes.Error, text)
	}
	return append(attributes, semconv.ErrorTypeKey.String(failure))
}

func appendUsage(attributes []attribute.KeyValue, u *model.Usage) []attribute.KeyValue {
	if *u == (model.Usage{}) {
		return attributes
	}
	attributes = append(attributes, semconv.GenAIUsageInputTokens(u.Input), semconv.GenAIUsageOutputTokens(u.Output))
	if u.CacheRead != 0 {
		attributes = append(attributes, semconv.GenAIUsageCacheReadInputTokens(u.CacheRead))
	}
	if u.CacheWrite != 0 {
		attributes = append(attributes, semconv.GenAIUsageCacheCreationInputTokens(u.CacheWrite))
	}
	if u.Reasoning != 0 {
		attributes = append(attributes, semconv.GenAIUsageReasoningOutputTokens(u.Reasoning))
	}
	return attributes
}

// Resolved measures the time to resolve an agent. failure is a word for the problem; "" for
// success. The name of an unresolved agent is not recorded because the caller chose it.
func (t *Telemetry) Resolved(ctx context.Context, agentID string, took time.Duration, failure string) {
	if t == nil {
		return
	}
	if failure != "" {
		agentID = ""
	}
	m := t.metrics
	m.resolve.Record(ctx, took.Seconds(), m.plans.get(resolveKey{agentID, failure}, newResolveMeasured).record...)
}

// CapturesContent reports whether content is captured, for callers that would have to assemble the
// content first.
func (s *TurnSpan) CapturesContent() bool {
	return s != nil && s.span != nil && s.telemetry.content != nil
}
