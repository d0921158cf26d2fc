// Package fleet keeps the revisions of a configuration in the store, so that they outlive a process
// and all replicas run the same one. It publishes documents, follows other publishers, and rebuilds
// the revisions in which turns began.
package fleet

import (
	"cmp"
	"context"
	goruntime "runtime"
	"time"

	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/config"
	flows "github.com/agentruntime/agentruntime/service/workflow"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.uber.org/zap"
)

// Fleet is the part of a process that keeps revisions. Each part, such as Publisher or History, has
// the methods for one subject. It is safe for concurrent use.
type Fleet struct {
	*core
	*Builds
	*Editor
	*Flows
	*Follower
	*History
	*Publisher
}

var _ flows.Source = (*Fleet)(nil)

// New returns a fleet. It starts nothing. An error comes from the meters.
func New(s Settings) (*Fleet, error) {
	if s.Logger == nil {
		s.Logger = zap.NewNop()
	}
	if s.Clock == nil {
		s.Clock = time.Now
	}
	if s.Learn == nil {
		s.Learn = func(context.Context, *builder.AgentRuntimeBuilder) {}
	}
	if s.Notify == nil {
		s.Notify = func() {}
	}
	if s.Changed == nil {
		s.Changed = func() {}
	}
	c := &core{settings: s, news: make(chan struct{}, 1), proving: make(chan struct{}, max(1, goruntime.GOMAXPROCS(0)/2))}
	history := &History{c, lineage{store: s.Store}}
	builds := &Builds{core: c, history: history, declared: make(map[string]string), bases: make(map[string]*config.TenantBase)}
	builds.tenants.resize(cmp.Or(s.TenantCache, defaultTenantCache))
	publisher := &Publisher{core: c, builds: builds, history: history}
	flows := &Flows{core: c, builds: builds}
	f := &Fleet{
		core: c, Builds: builds, Editor: &Editor{core: c, history: history, publisher: publisher}, Flows: flows,
		Follower: &Follower{core: c, builds: builds, flows: flows, publisher: publisher}, History: history, Publisher: publisher,
	}
	return f, f.measure(s.MeterProvider)
}

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

// Close closes the rebuilt revisions as soon as they are unused, and waits for it. Call it when no
// turn is running.
func (f *Fleet) Close() {
	list := &f.list
	list.mu.Lock()
	list.closed = true
	ready := list.ready
	list.ready = nil
	list.mu.Unlock()
	for _, r := range ready {
		if r.isReady() {
			r.rev.Release()
		}
	}
	f.tenants.close()
	list.closing.Wait()
}
