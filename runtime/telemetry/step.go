package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/trace"
)

// StepSpan is the span of a step. The zero value does nothing.
type StepSpan struct {
	turn *TurnSpan
	span trace.Span
}

// StartStep starts the span of a step, with its number from 1 and the current agent. Use the
// returned context for the model and tool calls of the step. From then on, Fields adds the step
// to the turn's log lines. Steps of a turn must not overlap.
func (s *TurnSpan) StartStep(ctx context.Context, number int, agentID string) (context.Context, StepSpan) {
	if s == nil {
		return ctx, StepSpan{}
	}
	s.step.Store(int64(number))
	if s.span == nil {
		return ctx, StepSpan{}
	}
	ctx, span := s.telemetry.startSpan(ctx, s.telemetry.starts.steps.get(stepStart{agentID, number}, newStepStart))
	return ctx, StepSpan{s, span}
}

// End ends the span. If err is not nil the span has the status Error and the error's class in
// error.type.
func (s StepSpan) End(err error) {
	if s.span == nil {
		return
	}
	if failure := errorType(err); failure != "" {
		s.span.SetAttributes(s.turn.telemetry.setFailure(s.span, nil, failure, err)...)
	}
	s.span.End()
}
