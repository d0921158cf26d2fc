package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"
)

// WorkflowRun records the start of a workflow run and returns a context with its span, for the
// turns of the run in any process. The span has no duration, because no process sees both ends of
// a run.
func (t *Telemetry) WorkflowRun(ctx context.Context, workflow, run, trigger string) context.Context {
	if t == nil || t.tracer == nil {
		return ctx
	}
	ctx, span := t.tracer.Start(ctx, workflowSpanPrefix+workflow, trace.WithNewRoot(), trace.WithAttributes(
		semconv.GenAIOperationNameInvokeWorkflow, semconv.GenAIWorkflowName(workflow),
		attribute.String("agentruntime.workflow.id", workflow), attribute.String("agentruntime.workflow.run_id", run),
		attribute.String("agentruntime.workflow.trigger", trigger),
	))
	span.End()
	return ctx
}
