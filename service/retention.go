package service

import (
	"context"
	"time"

	"github.com/agentruntime/agentruntime/store"
	"go.uber.org/zap"
)

const (
	// pruneInterval is how often what is too old is deleted, pruneJitter how much
	// later than that, and firstPrune how soon after the start, at most.
	pruneInterval = time.Hour
	pruneJitter   = 5 * time.Minute
	firstPrune    = 10 * time.Second
)

// prunePeriodically deletes what is too old until the service is closed.
func (s *Service) prunePeriodically() {
	timer := time.NewTimer(s.settings.Jitter(firstPrune))
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			s.pruneExpired(s.ctx)
			s.dropAbandoned(s.ctx)
			timer.Reset(pruneInterval + s.settings.Jitter(pruneJitter))
		case <-s.ctx.Done():
			return
		}
	}
}

// pruneExpired deletes what is too old, a part at a time.
func (s *Service) pruneExpired(ctx context.Context) {
	for ctx.Err() == nil {
		r := s.settings.Retention
		r.Now = s.now()
		pruned, err := s.settings.Store.Prune(ctx, r)
		if err != nil {
			s.logError(ctx, "retention pruning failed", err)
			return
		}
		if pruned == (store.Pruned{}) {
			return
		}
		s.settings.Logger.Info("retention pruning finished", zap.Int("sessions", pruned.Sessions), zap.Int("turns", pruned.Turns), zap.Int("keys", pruned.Keys))
	}
}
