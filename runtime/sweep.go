package runtime

import (
	"context"
	"errors"
	"time"

	"github.com/agentruntime/agentruntime/store"
	"go.uber.org/zap"
)

const (
	// sweepInterval is how often dead workers and overdue interactions are looked
	// for.
	sweepInterval = time.Second
	// pruneInterval is how often what is too old is deleted, pruneJitter how much
	// later than that, and firstPrune how soon after the start, at most.
	pruneInterval = time.Hour
	pruneJitter   = 5 * time.Minute
	firstPrune    = 10 * time.Second
)

// sweep gives a sign of life, takes turns from workers that gave none, and does
// what is overdue. The order matters when the clock jumps, or the process was
// frozen: its own turns are not dead.
//
// While the store takes no writes, and for one lease after, nobody's turns are taken:
// their workers could not give a sign of life either, and are waiting to.
func (s *Service) sweep(ctx context.Context) {
	s.beat(ctx)
	if time.Now().Before(s.truce) {
		s.expireInteractions(ctx)
		return
	}
	reaped, err := s.reap(ctx)
	if errors.Is(err, store.ErrNotWritable) {
		s.truce = time.Now().Add(s.Lease)
	}
	if err != nil {
		s.complain(ctx, "dead workers cannot be looked for", err)
	}
	if reaped > 0 {
		s.Logger.Warn("took turns from workers that gave no sign of life", zap.Int("turns", reaped))
	}
	s.expireInteractions(ctx)
}

// reap takes turns from workers that gave no sign of life. It waits for the store no
// longer than a lease, so that this process goes on giving signs of its own.
func (s *Service) reap(ctx context.Context) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, s.Lease)
	defer cancel()
	return s.Store.Reap(ctx, s.now())
}

// beat tells the store that this process is alive, and stops working on turns
// that it does not own any more.
func (s *Service) beat(ctx context.Context) {
	s.running.Lock()
	held := make([]store.Held, 0, len(s.running.turns))
	for _, w := range s.running.turns {
		held = append(held, store.Held{TurnID: w.turn.ID, Fence: w.turn.Fence})
	}
	s.running.Unlock()
	if len(held) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, s.Lease)
	defer cancel()
	lost, err := s.Store.Heartbeat(ctx, s.Worker, s.Lease, held)
	if errors.Is(err, store.ErrNotWritable) {
		s.truce = time.Now().Add(s.Lease)
	}
	if err != nil {
		s.complain(ctx, "no sign of life could be given", err)
		return
	}
	for _, id := range lost {
		if w := s.worker(id); w != nil && w.losing.CompareAndSwap(false, true) {
			s.tasks.Go(w.lost)
		}
	}
}

// prunePeriodically deletes what is too old until the service is closed.
func (s *Service) prunePeriodically() {
	timer := time.NewTimer(s.Jitter(firstPrune))
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			s.prune(s.ctx)
			timer.Reset(pruneInterval + s.Jitter(pruneJitter))
		case <-s.ctx.Done():
			return
		}
	}
}

// prune deletes what is too old, a part at a time.
func (s *Service) prune(ctx context.Context) {
	for ctx.Err() == nil {
		r := s.Retention
		r.Now = s.now()
		pruned, err := s.Store.Prune(ctx, r)
		if err != nil {
			s.complain(ctx, "what is too old cannot be deleted", err)
			return
		}
		if pruned == (store.Pruned{}) {
			return
		}
		s.Logger.Info("deleted what is too old", zap.Int("sessions", pruned.Sessions), zap.Int("turns", pruned.Turns), zap.Int("keys", pruned.Keys))
	}
}

// complain logs an error, unless the service is being closed.
func (s *Service) complain(ctx context.Context, text string, err error, fields ...zap.Field) {
	if ctx.Err() == nil || s.ctx.Err() == nil {
		s.Logger.Error(text, append(fields, zap.Error(err))...)
	}
}
