package fleet

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// shownHash is the length of a hash in output.
const shownHash = 12

// measure creates the instruments that show which revision the process runs.
func (f *Fleet) measure(p metric.MeterProvider) error {
	if p == nil {
		return nil
	}
	meter := p.Meter("github.com/agentruntime/agentruntime/service/fleet")
	_, err := meter.Int64ObservableGauge("agentruntime.revision.number",
		metric.WithDescription("Number of the revision that the process runs; 0 if the store does not have it."),
		metric.WithInt64Callback(func(_ context.Context, o metric.Int64Observer) error {
			r := f.Running()
			o.Observe(int64(r.Number), metric.WithAttributes(attribute.String("document", r.Hash[:min(shownHash, len(r.Hash))])))
			return nil
		}))
	if err != nil {
		return err
	}
	_, err = meter.Int64ObservableGauge("agentruntime.revision.behind",
		metric.WithDescription("Whether the process runs an earlier revision than the store has, because that could not be built."),
		metric.WithInt64Callback(func(_ context.Context, o metric.Int64Observer) error {
			behind := int64(0)
			if f.Running().Wanted != "" {
				behind = 1
			}
			o.Observe(behind)
			return nil
		}))
	return err
}
