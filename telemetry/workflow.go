package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"
)

// WorkflowRun records the begin of a run of a workflow and returns a context in its span:
// the turns of the run, whichever process makes them, belong below it. The span has no
// length of its own, because no process sees both ends of a run.
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
