package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"
)

// Evaluation is a verdict about a turn that has ended.
type Evaluation struct {
	TurnID, SessionID, AgentID string
	// Name is the criterion.
	Name string
	// Score may be nil. Label and Explanation are optional.
	Score              *float64
	Label, Explanation string
}

// RecordEvaluation exports a verdict as the event gen_ai.evaluation.result of the OpenTelemetry
// conventions, in a span of its own that names the turn. The explanation is content: it is exported
// only if the contents of messages are.
func (t *Telemetry) RecordEvaluation(ctx context.Context, e Evaluation) {
	if t == nil || t.tracer == nil {
		return
	}
	_, span := t.tracer.Start(ctx, "evaluation "+e.Name, trace.WithAttributes(
		keyTurnID.String(e.TurnID), semconv.GenAIConversationID(e.SessionID), semconv.GenAIAgentID(e.AgentID),
	))
	attributes := []attribute.KeyValue{attribute.String("gen_ai.evaluation.name", e.Name)}
	if e.Score != nil {
		attributes = append(attributes, attribute.Float64("gen_ai.evaluation.score.value", *e.Score))
	}
	if e.Label != "" {
		attributes = append(attributes, attribute.String("gen_ai.evaluation.score.label", e.Label))
	}
	if e.Explanation != "" && t.content != nil {
		attributes = append(attributes, attribute.String("gen_ai.evaluation.explanation", t.content.redactText(e.Explanation)))
	}
	span.AddEvent("gen_ai.evaluation.result", trace.WithAttributes(attributes...))
	span.End()
}
