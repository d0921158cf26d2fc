package bench

import (
	"encoding/json"
	"log/slog"
	"testing"

	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/plugins/log"
	"github.com/agentruntime/agentruntime/plugins/permission"
	"github.com/agentruntime/agentruntime/spec"
	"go.uber.org/zap"
	"go.uber.org/zap/exp/zapslog"
	"go.uber.org/zap/zapcore"
)

// discard drops log output.
type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) Sync() error                 { return nil }

// guarded applies rules to every tool call and logs the turn.
func guarded(tb testing.TB) option {
	tb.Helper()
	encoder := zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig())
	logs, err := log.New(plugins.Settings{Logger: slog.New(zapslog.NewHandler(zapcore.NewCore(encoder, discard{}, zap.InfoLevel)))}, &log.Config{})
	if err != nil {
		tb.Fatal(err)
	}
	return func(b *builder.AgentRuntimeBuilder, agent *spec.Agent) {
		b.WithPlugin("permission", permission.New()).WithPlugin("log", logs)
		agent.PluginIDs = []string{"permission", "log"}
		agent.Sections = spec.Sections{permission.SectionKey: json.RawMessage(`{"default_behavior": "ask", "rules": [
			{"tool": "tool_*", "behavior": "allow"},
			{"tool": "tool_09", "behavior": "deny"},
			{"tool": "tool_03(city ~ \"../**\")", "behavior": "deny"}
		]}`)}
	}
}

// BenchmarkTurnGuarded measures the turn of BenchmarkTurn with the plugins
// permission and log.
func BenchmarkTurnGuarded(b *testing.B) { benchmarkTurn(b, script(b, 1), 0, guarded(b)) }
