package work

import (
	"context"
	"errors"
	"time"

	"github.com/agentruntime/agentruntime/store"
	"go.uber.org/zap"
)

// Sweep sends a heartbeat and takes turns from workers without one. It is called every third of a
// lease, by one goroutine. The order matters if the clock jumps or the process was frozen: its own
// turns are not dead.
//
// While the store accepts no writes, and for one lease after, no turns are taken: their workers
// could not send heartbeats either, and are waiting to.
func (p *Pool) Sweep(ctx context.Context) {
	p.sendHeartbeat(ctx)
	p.reportReplica(ctx)
	p.dropRevisions(ctx)
	if time.Now().Before(p.truce) {
		return
	}
	reaped, err := p.reapTurns(ctx)
	if errors.Is(err, store.ErrNotWritable) {
		p.truce = time.Now().Add(p.settings.Lease)
	}
	if err != nil {
		p.logError(ctx, "reaping turns failed", err)
	}
	if reaped > 0 {
		p.settings.Logger.Warn("reclaimed turns of dead workers", zap.Int("turns", reaped))
	}
}

// reapTurns takes turns from workers without heartbeats. It waits for the store for at most one
// lease, so that this process keeps sending heartbeats.
func (p *Pool) reapTurns(ctx context.Context) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, p.settings.Lease)
	defer cancel()
	return p.settings.Store.Reap(ctx, p.now())
}

// sendHeartbeat tells the store that this process is alive, and stops working on turns that it no
// longer owns.
func (p *Pool) sendHeartbeat(ctx context.Context) {
	p.mu.Lock()
	held := make([]store.Held, 0, len(p.held))
	for id, h := range p.held {
		held = append(held, store.Held{TurnID: id, Fence: h.turn.Fence})
	}
	p.mu.Unlock()
	if len(held) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, p.settings.Lease)
	defer cancel()
	lost, err := p.settings.Store.Heartbeat(ctx, p.settings.Worker, p.settings.Lease, held)
	if errors.Is(err, store.ErrNotWritable) {
		p.truce = time.Now().Add(p.settings.Lease)
	}
	if err != nil {
		p.logError(ctx, "heartbeat failed", err)
		return
	}
	for _, id := range lost {
		if w := p.workerOf(id); w != nil && w.losing.CompareAndSwap(false, true) {
			p.tasks.Go(w.stopLost)
		}
	}
}

// reportInterval is how often a process reports that it is alive, and replicaLease how long it is
// shown without a report.
const (
	reportInterval = 10 * time.Second
	replicaLease   = 3 * reportInterval
)

// reportReplica tells a store that several processes use that this one is alive.
func (p *Pool) reportReplica(ctx context.Context) {
	replicas, ok := p.settings.Store.(store.Replicas)
	if !ok || time.Now().Before(p.reportAt) {
		return
	}
	p.reportAt = time.Now().Add(reportInterval)
	ctx, cancel := context.WithTimeout(ctx, p.settings.Lease/3)
	defer cancel()
	if err := replicas.ReportReplica(ctx, p.settings.Worker, replicaLease); err != nil {
		p.logError(ctx, "reporting the replica failed", err)
	}
}

// Leave reports that the process no longer runs turns. Sweep must not be called afterwards.
func (p *Pool) Leave(ctx context.Context) error {
	replicas, ok := p.settings.Store.(store.Replicas)
	if !ok || p.reportAt.IsZero() {
		return nil
	}
	return replicas.ReportReplica(ctx, p.settings.Worker, 0)
}
