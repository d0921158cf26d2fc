package workflow

import (
	"context"
	"errors"
	"time"

	"github.com/agentruntime/agentruntime/store"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	noopmetric "go.opentelemetry.io/otel/metric/noop"
)

// meter measures runs by workflow.
type meter struct {
	runs            metric.Int64Counter
	delay, duration metric.Float64Histogram
}

func newMeter(provider metric.MeterProvider) (*meter, error) {
	if provider == nil {
		provider = noopmetric.NewMeterProvider()
	}
	m, made := new(meter), provider.Meter("github.com/agentruntime/agentruntime/service/workflow")
	var errs [3]error
	m.runs, errs[0] = made.Int64Counter("agentruntime.workflow.runs", metric.WithUnit("{run}"),
		metric.WithDescription("Runs of workflows that have ended, by their status."))
	m.delay, errs[1] = made.Float64Histogram("agentruntime.workflow.delay", metric.WithUnit("s"),
		metric.WithDescription("How long after it was due, or its event came, a run of a workflow began."))
	m.duration, errs[2] = made.Float64Histogram("agentruntime.workflow.duration", metric.WithUnit("s"),
		metric.WithDescription("How long runs of workflows took."))
	return m, errors.Join(errs[:]...)
}

// countBegin measures the delay of a run's start.
func (m *meter) countBegin(ctx context.Context, r *store.WorkflowRun, t *Trigger) {
	due := r.CreatedAt
	if !t.ScheduledFor.IsZero() {
		due = t.ScheduledFor
	}
	m.delay.Record(ctx, max(0, r.StartedAt.Sub(due)).Seconds(), metric.WithAttributes(attribute.String("agentruntime.workflow.id", r.WorkflowID)))
}

// countEnd measures an ended run.
func (m *meter) countEnd(ctx context.Context, r *store.WorkflowRun) {
	about := metric.WithAttributes(attribute.String("agentruntime.workflow.id", r.WorkflowID), attribute.String("agentruntime.workflow.status", string(r.Status)))
	m.runs.Add(ctx, 1, about)
	took := time.Duration(0)
	if !r.StartedAt.IsZero() {
		took = r.FinishedAt.Sub(r.StartedAt)
	}
	m.duration.Record(ctx, took.Seconds(), about)
}
