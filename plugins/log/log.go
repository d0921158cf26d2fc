// Package log is a plugin that writes what a turn does to the runtime's log:
// its beginning and end, its steps, the model's answers and the tool calls.
// Content, prompts and arguments are never written.
package log

import (
	"context"
	"fmt"
	"time"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/telemetry"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// Config is the plugins.<id> entry of type log.
type Config struct {
	Level string `json:"level,omitempty" enum:"debug|info|warn|error" default:"info" doc:"The level that is written at."`
}

// Validate checks the settings by themselves.
func (c *Config) Validate() diag.List {
	if _, err := c.level(); err != nil {
		return diag.List{diag.New(diag.InvalidValue, "level", "level is %q; allowed are debug, info, warn and error", c.Level)}
	}
	return nil
}

func (c *Config) level() (zapcore.Level, error) {
	switch c.Level {
	case "", "info":
		return zapcore.InfoLevel, nil
	case "debug", "warn", "error":
		return zapcore.ParseLevel(c.Level)
	default:
		return zapcore.InvalidLevel, fmt.Errorf("unknown level %q", c.Level)
	}
}

// Plugin writes what turns do to a logger.
type Plugin struct {
	logger *zap.Logger
	level  zapcore.Level
}

var _ plugins.Plugin = (*Plugin)(nil)

// Kind is the plugin type "log".
func Kind() plugins.Kind {
	return spec.NewKind("log", "Writes what a turn does to the runtime's log, without its content.", New)
}

// New returns a *Plugin. A nil logger writes nothing.
func New(settings plugins.Settings, c *Config) (plugins.Plugin, error) {
	level, err := c.level()
	if err != nil {
		return nil, err
	}
	logger := settings.Logger
	if logger == nil {
		logger = zap.NewNop()
	}
	return &Plugin{logger: logger, level: level}, nil
}

// Descriptor describes the plugin.
func (*Plugin) Descriptor() plugins.Descriptor {
	return plugins.Descriptor{Summary: "Writes what a turn does to the runtime's log."}
}

// Register adds the hooks, unless the logger would drop everything they write.
func (l *Plugin) Register(r *plugins.Registrar) error {
	if !l.logger.Core().Enabled(l.level) {
		return nil
	}
	t := &turn{Plugin: l}
	r.Hook(plugins.RunStart, t.start)
	r.Hook(plugins.StepStart, t.step)
	r.Hook(plugins.AfterInference, t.answer)
	r.Hook(plugins.BeforeToolExecute, t.call)
	r.Hook(plugins.AfterToolExecute, t.result)
	r.Hook(plugins.RunEnd, t.end)
	return nil
}

// turn writes what one turn does.
type turn struct {
	*Plugin
	logger *zap.Logger
	called map[string]time.Time
}

func (t *turn) write(ctx context.Context, p *plugins.PhaseContext, message string, fields ...zap.Field) {
	if t.logger == nil {
		t.logger = t.Plugin.logger.With(
			zap.String("turn_id", p.TurnID), zap.String("session_id", p.SessionID), zap.String("agent", p.Agent.ID))
	}
	if entry := t.logger.Check(t.level, message); entry != nil {
		fields = append(fields, zap.Int("step", p.Stats.Steps))
		entry.Write(append(fields, telemetry.TraceFields(ctx)...)...)
	}
}

func (t *turn) start(ctx context.Context, p *plugins.PhaseContext) error {
	t.write(ctx, p, "turn started", zap.Int("messages", len(p.Messages)))
	return nil
}

func (t *turn) step(ctx context.Context, p *plugins.PhaseContext) error {
	t.write(ctx, p, "step started")
	return nil
}

func (t *turn) answer(ctx context.Context, p *plugins.PhaseContext) error {
	t.write(ctx, p, "model answered",
		zap.Int("tool_calls", len(p.Answer.ToolCalls())), zap.Int("characters", len(p.Answer.Text())),
		zap.Int("input_tokens", p.Stats.Usage.Input), zap.Int("output_tokens", p.Stats.Usage.Output))
	return nil
}

func (t *turn) call(_ context.Context, p *plugins.PhaseContext) error {
	if t.called == nil {
		t.called = make(map[string]time.Time)
	}
	t.called[p.Call.ID] = p.Now
	return nil
}

func (t *turn) result(ctx context.Context, p *plugins.PhaseContext) error {
	outcome := "succeeded"
	if p.Result.IsError {
		outcome = "failed"
	}
	t.write(ctx, p, "tool called", zap.String("call_id", p.Call.ID), zap.String("tool", p.Call.Name),
		zap.String("outcome", outcome), zap.Duration("duration", p.Now.Sub(t.called[p.Call.ID])))
	return nil
}

func (t *turn) end(ctx context.Context, p *plugins.PhaseContext) error {
	t.write(ctx, p, "turn ended", zap.String("termination", string(p.Termination.Type)),
		zap.String("code", p.Termination.Code), zap.Int("tokens", p.Stats.Usage.Total()))
	return nil
}
