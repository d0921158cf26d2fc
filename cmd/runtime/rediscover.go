package main

import (
	"context"
	"time"

	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/runtime"
	"go.uber.org/zap"
)

const (
	// discoveryTime bounds how long peers are asked for their agents.
	discoveryTime = 15 * time.Second
	// discoveryRetry is when peers are asked again of which one did not answer,
	// and discoveryInterval when all did.
	discoveryRetry    = 15 * time.Second
	discoveryInterval = 5 * time.Minute
)

// rediscover asks the remote sources again and again until ctx ends, so that a
// peer which was down, or has other agents now, becomes known.
func rediscover(ctx context.Context, rt *runtime.AgentRuntime, logger *zap.Logger) {
	if rt.Revision().Set().Sources.Len() == 0 {
		return
	}
	wait := discoveryInterval
	for _, source := range rt.Revision().Set().Sources.All() {
		if !source.Discovered {
			wait = discoveryRetry
		}
	}
	for {
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
		asking, cancel := context.WithTimeout(ctx, discoveryTime)
		err := builder.Rediscover(asking, rt)
		cancel()
		wait = discoveryInterval
		if err != nil && ctx.Err() == nil {
			wait = discoveryRetry
			logger.Warn("remote agents are not up to date", zap.Error(err))
		}
	}
}
