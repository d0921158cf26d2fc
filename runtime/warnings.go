package runtime

import (
	"github.com/agentruntime/agentruntime/diag"
	"go.uber.org/zap"
)

// LogWarnings logs each warning of a list, with its code, path and agent. A nil logger drops them.
func LogWarnings(logger *zap.Logger, list diag.List) {
	if logger == nil {
		return
	}
	for i := range list {
		d := &list[i]
		if d.Severity != diag.Warning {
			continue
		}
		fields := []zap.Field{zap.String("code", string(d.Code)), zap.String("warning", d.Message)}
		for _, f := range []zap.Field{zap.String("hint", d.Hint), zap.String("agent", d.Agent), zap.String("path", d.Path), zap.String("place", d.Place())} {
			if f.String != "" {
				fields = append(fields, f)
			}
		}
		logger.Warn("configuration warning", fields...)
	}
}
