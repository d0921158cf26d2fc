package builder

import (
	"log/slog"
	"math"

	"go.uber.org/zap"
	"go.uber.org/zap/exp/zapslog"
)

// componentLogger returns the logger of a component, so that authors of tools and plugins need no
// logging library. Errors have no stack trace.
func (b *AgentRuntimeBuilder) componentLogger(kind, id string) *slog.Logger {
	return newSlog(b.logger.Named(kind + "." + id))
}

func newSlog(base *zap.Logger) *slog.Logger {
	return slog.New(zapslog.NewHandler(base.Core(), zapslog.WithName(base.Name()), zapslog.AddStacktraceAt(math.MaxInt)))
}
