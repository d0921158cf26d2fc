package telemetry

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"
)

// The families of operations on agent sessions. Each has three instruments: .count,
// .error_count and .duration, in seconds.
const (
	familyOperation    = "agent.operation"
	familyProvider     = "agent.provider.operation"
	familyToolResolve  = "agent.tool.resolve"
	ownPrefix          = "agentruntime."
	legacyMetricPrefix = "gestaltd."
	legacyKeyPrefix    = "gestalt."

	keyOperation       = "agent.operation"
	keyAgentProvider   = "agent.provider"
	keyAgentToolSource = "agent.tool.source"
)

// Operations measures what clients request of agent sessions and turns. A nil *Operations does
// nothing. It is safe for concurrent use.
type Operations struct {
	tracer trace.Tracer
	// operation is measured once per request, provider once per call of the session provider, and
	// toolResolve once per set of tools given to a turn. The second family of each has Gestalt's
	// names, or is nil.
	operation, provider, toolResolve [2]*family
}

// family is the set of instruments of one kind of operation.
type family struct {
	// keys is the prefix of the attribute names.
	keys          string
	count, failed metric.Int64Counter
	duration      metric.Float64Histogram
}

// NewOperations returns Operations for agent sessions. With legacy set they are also measured under
// Gestalt's names. It returns nil for a nil Telemetry.
func (t *Telemetry) NewOperations(legacy bool) (*Operations, error) {
	if t == nil {
		return nil, nil //nolint:nilnil // nil is an Operations that does nothing
	}
	o := &Operations{tracer: t.tracer}
	var errs []error
	for _, f := range []struct {
		name string
		to   *[2]*family
	}{{familyOperation, &o.operation}, {familyProvider, &o.provider}, {familyToolResolve, &o.toolResolve}} {
		var err error
		f.to[0], err = newFamily(t.meter, ownPrefix+f.name, ownPrefix)
		errs = append(errs, err)
		if legacy {
			f.to[1], err = newFamily(t.meter, legacyMetricPrefix+f.name, legacyKeyPrefix)
			errs = append(errs, err)
		}
	}
	return o, errors.Join(errs...)
}

func newFamily(meter metric.Meter, name, keys string) (*family, error) {
	f := &family{keys: keys}
	var errs [3]error
	f.count, errs[0] = meter.Int64Counter(name+".count", metric.WithUnit("{operation}"), metric.WithDescription("Number of operations."))
	f.failed, errs[1] = meter.Int64Counter(name+".error_count", metric.WithUnit("{operation}"), metric.WithDescription("Number of operations that failed."))
	f.duration, errs[2] = meter.Float64Histogram(name+".duration", metric.WithUnit("s"), metric.WithDescription("Duration of operations."),
		metric.WithExplicitBucketBoundaries(operationBuckets...))
	if err := errors.Join(errs[:]...); err != nil {
		return nil, fmt.Errorf("instruments of %s: %w", name, err)
	}
	return f, nil
}

// Operation is a running operation. The zero value does nothing.
type Operation struct {
	families   [2]*family
	span       trace.Span
	begun      time.Time
	attributes []operationAttribute
}

type operationAttribute struct{ key, value string }

// Start begins an operation requested by a client, such as create_turn.
func (o *Operations) Start(ctx context.Context, name string) (context.Context, *Operation) {
	if o == nil {
		return ctx, &Operation{}
	}
	return o.start(ctx, familyOperation, o.operation, operationAttribute{keyOperation, name})
}

// StartProvider begins a call of a provider.
func (o *Operations) StartProvider(ctx context.Context, name, provider string) (context.Context, *Operation) {
	if o == nil {
		return ctx, &Operation{}
	}
	return o.start(ctx, familyProvider, o.provider, operationAttribute{keyOperation, name}, operationAttribute{keyAgentProvider, provider})
}

// StartToolResolve begins the choice of the tools of a turn by a source.
func (o *Operations) StartToolResolve(ctx context.Context, source string) (context.Context, *Operation) {
	if o == nil {
		return ctx, &Operation{}
	}
	return o.start(ctx, "agent.tool.list", o.toolResolve, operationAttribute{keyAgentToolSource, source})
}

func (o *Operations) start(ctx context.Context, span string, families [2]*family, attributes ...operationAttribute) (context.Context, *Operation) {
	op := &Operation{families: families, begun: time.Now(), attributes: attributes}
	if o.tracer != nil {
		ctx, op.span = o.tracer.Start(ctx, span, trace.WithAttributes(op.keyValues(ownPrefix)...))
	}
	return ctx, op
}

// SetProvider names the provider of a call if it was unknown at the start.
func (op *Operation) SetProvider(name string) {
	for i := range op.attributes {
		if a := &op.attributes[i]; a.key == keyAgentProvider {
			a.value = name
			if op.span != nil {
				op.span.SetAttributes(attribute.String(ownPrefix+a.key, name))
			}
		}
	}
}

// End ends the operation, once. failure is the error.type of a failed operation; empty if it
// succeeded.
func (op *Operation) End(failure string) {
	if op.span != nil {
		if failure != "" {
			op.span.SetAttributes(semconv.ErrorTypeKey.String(failure))
			op.span.SetStatus(codes.Error, "")
		}
		op.span.End()
	}
	took := time.Since(op.begun).Seconds()
	for _, f := range op.families {
		if f == nil {
			continue
		}
		set := metric.WithAttributeSet(attribute.NewSet(op.keyValues(f.keys)...))
		f.count.Add(context.Background(), 1, set)
		f.duration.Record(context.Background(), took, set)
		if failure != "" {
			f.failed.Add(context.Background(), 1, set)
		}
	}
}

// keyValues returns the attributes with names that begin with a prefix.
func (op *Operation) keyValues(prefix string) []attribute.KeyValue {
	list := make([]attribute.KeyValue, 0, len(op.attributes))
	for _, a := range op.attributes {
		if a.value != "" {
			list = append(list, attribute.String(prefix+a.key, a.value))
		}
	}
	return list
}
