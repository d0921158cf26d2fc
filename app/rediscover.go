package app

import (
	"context"
	"time"

	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/runtime"
	"go.uber.org/zap"
)

const (
	// DiscoveryTime limits how long listing the agents of peers takes.
	DiscoveryTime = 15 * time.Second
	// discoveryRetry is when peers are asked again of which one did not answer,
	// and discoveryInterval when all did.
	discoveryRetry    = 15 * time.Second
	discoveryInterval = 5 * time.Minute
)

// Rediscover asks the remote sources again, so that a peer which was down, or has
// other agents now, becomes known. What goes wrong is logged.
func Rediscover(ctx context.Context, rt *runtime.AgentRuntime, logger *zap.Logger) error {
	asking, cancel := context.WithTimeout(ctx, DiscoveryTime)
	defer cancel()
	err := builder.Rediscover(asking, rt)
	if err != nil && ctx.Err() == nil {
		logger.Warn("remote agents are not up to date", zap.Error(err))
	}
	return err
}

// DiscoveryWait returns when the sources are asked again: soon when asking failed,
// or one was not heard of yet.
func DiscoveryWait(rt *runtime.AgentRuntime, err error) time.Duration {
	if err != nil {
		return discoveryRetry
	}
	for _, source := range rt.Revision().Set().Sources.All() {
		if !source.Discovered {
			return discoveryRetry
		}
	}
	return discoveryInterval
}

// keepDiscovering asks the remote sources again until ctx ends.
func keepDiscovering(ctx context.Context, rt *runtime.AgentRuntime, logger *zap.Logger) {
	timer := time.NewTimer(DiscoveryWait(rt, nil))
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			timer.Reset(DiscoveryWait(rt, Rediscover(ctx, rt, logger)))
		case <-ctx.Done():
			return
		}
	}
}
