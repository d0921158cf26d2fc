package service

import (
	"context"
	"time"

	"github.com/agentruntime/agentruntime/store"
	"go.uber.org/zap"
)

const (
	// pruneInterval is the interval of pruning, pruneJitter the largest random delay added to it,
	// and firstPrune the largest delay of the first run after the start.
	pruneInterval = time.Hour
	pruneJitter   = 5 * time.Minute
	firstPrune    = 10 * time.Second
)

// prunePeriodically prunes expired records until the service is closed.
func (s *Service) prunePeriodically() {
	timer := time.NewTimer(s.settings.Jitter(firstPrune))
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			s.pruneExpired(s.ctx)
			s.starts.dropAbandoned(s.ctx)
			timer.Reset(pruneInterval + s.settings.Jitter(pruneJitter))
		case <-s.ctx.Done():
			return
		}
	}
}

// pruneExpired prunes expired records in batches.
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
