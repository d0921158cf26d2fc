package app

import (
	"context"
	"time"

	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/runtime"
	"go.uber.org/zap"
)

const (
	// StartupToolTime bounds how long a server that starts waits for the tools of
	// other servers. Those that need longer are waited for while it serves.
	StartupToolTime = 5 * time.Second
	// toolRetry is when servers whose tools are not known are asked again.
	toolRetry = 15 * time.Second
)

// KeepLearningTools asks for their tools the servers of which none are known, until
// ctx ends. Each may take as long as its own limit permits, so this does not hold up
// a reload. What goes wrong is logged.
func KeepLearningTools(ctx context.Context, rt *runtime.AgentRuntime, logger *zap.Logger) {
	ticker := time.NewTicker(toolRetry)
	defer ticker.Stop()
	for {
		if err := builder.RelearnTools(ctx, rt); err != nil && ctx.Err() == nil {
			logger.Warn("listing tools failed", zap.Error(err))
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}
