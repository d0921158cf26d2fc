package main

import (
	"context"
	"time"

	"github.com/agentruntime/agentruntime/builder"
	"go.uber.org/zap"
)

const (
	// startupToolTime bounds how long a server that starts waits for the tools of
	// other servers. Those that need longer are waited for while it serves.
	startupToolTime = 5 * time.Second
	// toolRetry is when servers whose tools are not known are asked again.
	toolRetry = 15 * time.Second
)

// learnTools asks for their tools the servers of which none are known, until ctx
// ends. Each may take as long as its own limit permits, so this does not hold up
// a reload. What goes wrong is logged.
func (k *keeper) learnTools(ctx context.Context) {
	logger := k.logger.Named("tools")
	ticker := time.NewTicker(toolRetry)
	defer ticker.Stop()
	for {
		if err := builder.RelearnTools(ctx, k.runtime); err != nil && ctx.Err() == nil {
			logger.Warn("listing tools failed", zap.Error(err))
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}
