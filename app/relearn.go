package app

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/runtime"
	"go.uber.org/zap"
)

const (
	// StartupToolTime limits how long a starting server waits for other servers' tools. It waits
	// for slower ones while it serves.
	StartupToolTime = 5 * time.Second
	// toolRetry is the interval for querying servers whose tools are unknown.
	toolRetry = 15 * time.Second
)

// KeepLearningTools queries tool servers without known tools, and model servers for unknown limits,
// until ctx ends. Each may take as long as its own limit permits, so this does not delay a reload.
// Failures of tool servers are logged once, and again when the cause changes.
func KeepLearningTools(ctx context.Context, rt *runtime.AgentRuntime, logger *zap.Logger) {
	ticker := time.NewTicker(toolRetry)
	defer ticker.Stop()
	failures := toolFailures{}
	for {
		if err := builder.RelearnTools(ctx, rt); ctx.Err() == nil {
			failures.logChanges(err, logger)
		}
		relearnLimits(ctx, rt, logger)
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// relearnLimits queries model servers for unknown limits. Turns work without them, so failures are
// only logged for debugging.
func relearnLimits(ctx context.Context, rt *runtime.AgentRuntime, logger *zap.Logger) {
	asking, cancel := context.WithTimeout(ctx, toolRetry)
	defer cancel()
	if err := builder.RelearnLimits(asking, rt); err != nil && ctx.Err() == nil {
		logger.Debug("asking for the limits of models failed; trying again", zap.Error(err), zap.Duration("every", toolRetry))
	}
}

// toolFailures maps servers to the cause of the latest failure to list their tools.
type toolFailures map[string]string

// logChanges logs a round's failures that are new or have another cause, and the servers that
// recovered.
func (f toolFailures) logChanges(err error, logger *zap.Logger) {
	failed := make(map[string]bool)
	for _, err := range joinedErrors(err) {
		server := ""
		if e, ok := errors.AsType[*builder.ToolsError](err); ok {
			server = e.Server
		}
		failed[server] = true
		if cause := rootCause(err); f[server] != cause {
			f[server] = cause
			logger.Warn("listing tools failed; trying again", zap.String("server", server), zap.Error(err), zap.Duration("every", toolRetry))
		}
	}
	for _, server := range slices.Sorted(maps.Keys(f)) {
		if !failed[server] {
			delete(f, server)
			logger.Info("listing tools no longer fails", zap.String("server", server))
		}
	}
}

// joinedErrors returns the errors joined in err.
func joinedErrors(err error) []error {
	if err == nil {
		return nil
	}
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		return many.Unwrap()
	}
	return []error{err}
}

// rootCause returns the text of an error's root cause. The wrapping errors may contain the port
// of a connection, which changes each time.
func rootCause(err error) string {
	for next := errors.Unwrap(err); next != nil; next = errors.Unwrap(err) {
		err = next
	}
	return err.Error()
}
