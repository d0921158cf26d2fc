package app

import (
	"context"
	"time"

	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/runtime"
	"go.uber.org/zap"
)

const (
	// DiscoveryTime limits the time for listing the agents of peers.
	DiscoveryTime = 15 * time.Second
	// discoveryRetry is the interval for querying peers again if one did not answer,
	// discoveryInterval if all did.
	discoveryRetry    = 15 * time.Second
	discoveryInterval = 5 * time.Minute
)

// Rediscover queries the remote sources again, to find peers that were down or whose agents have
// changed. Problems are logged.
func Rediscover(ctx context.Context, rt *runtime.AgentRuntime, logger *zap.Logger) error {
	asking, cancel := context.WithTimeout(ctx, DiscoveryTime)
	defer cancel()
	err := builder.Rediscover(asking, rt)
	if err != nil && ctx.Err() == nil {
		logger.Warn("remote agents are not up to date", zap.Error(err))
	}
	return err
}

// DiscoveryWait returns when to query the sources again: soon if a query failed or a source has not
// answered yet.
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
