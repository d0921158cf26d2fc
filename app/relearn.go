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
	// StartupToolTime bounds how long a server that starts waits for the tools of
	// other servers. Those that need longer are waited for while it serves.
	StartupToolTime = 5 * time.Second
	// toolRetry is when servers whose tools are not known are asked again.
	toolRetry = 15 * time.Second
)

// KeepLearningTools asks for their tools the servers of which none are known, and servers of models
// for unknown limits, until ctx ends. Each may take as long as its own limit permits, so this does
// not hold up a reload. Failures of tool servers are logged once, and again when the cause changes.
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

// relearnLimits asks servers of models for unknown limits. Turns do without them, so failures are
// only logged for debugging.
func relearnLimits(ctx context.Context, rt *runtime.AgentRuntime, logger *zap.Logger) {
	asking, cancel := context.WithTimeout(ctx, toolRetry)
	defer cancel()
	if err := builder.RelearnLimits(asking, rt); err != nil && ctx.Err() == nil {
		logger.Debug("asking for the limits of models failed; trying again", zap.Error(err), zap.Duration("every", toolRetry))
	}
}

// toolFailures are the causes for which the tools of servers could not be listed
// when they were last asked, by server.
type toolFailures map[string]string

// logChanges logs the failures of a round that are new or have another cause, and
// the servers that fail no more.
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

// joinedErrors returns the errors that one joins.
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
