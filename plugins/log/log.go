// Package log is a plugin that logs a turn's start and end, steps, model answers and tool calls.
// It never logs content, prompts or arguments.
package log

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/runtime/telemetry"
	"github.com/agentruntime/agentruntime/spec"
)

// Config is the plugins.<id> entry of type log.
type Config struct {
	Level string `json:"level,omitempty" enum:"debug|info|warn|error" default:"info" doc:"The level to log at."`
}

// Validate checks the settings in isolation.
func (c *Config) Validate() diag.List {
	if _, err := c.slogLevel(); err != nil {
		return diag.List{diag.New(diag.InvalidValue, "level", "level is %q; allowed are debug, info, warn and error", c.Level)}
	}
	return nil
}

func (c *Config) slogLevel() (slog.Level, error) {
	switch c.Level {
	case "debug":
		return slog.LevelDebug, nil
	case "", "info":
		return slog.LevelInfo, nil
	case "warn":
		return slog.LevelWarn, nil
	case "error":
		return slog.LevelError, nil
	default:
		return 0, fmt.Errorf("unknown level %q", c.Level)
	}
}

// plugin logs the activity of turns.
type plugin struct {
	logger *slog.Logger
	level  slog.Level
}

var _ plugins.Plugin = (*plugin)(nil)

// Kind is the plugin type "log".
func Kind() plugins.Kind {
	return spec.NewKind("log", "Logs the events of turns without their content.", New).AsPure()
}

// New returns a *Plugin. A nil logger writes nothing.
func New(settings plugins.Settings, c *Config) (plugins.Plugin, error) {
	level, err := c.slogLevel()
	if err != nil {
		return nil, err
	}
	logger := settings.Logger
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	return &plugin{logger: logger, level: level}, nil
}

// Descriptor describes the plugin.
func (*plugin) Descriptor() plugins.Descriptor {
	return plugins.Descriptor{Summary: "Logs the activity of turns."}
}

// Register adds the hooks, unless the logger would drop everything they write.
func (l *plugin) Register(r *plugins.Registrar) error {
	if !l.logger.Enabled(context.Background(), l.level) {
		return nil
	}
	t := &turn{plugin: l}
	r.Hook(plugins.RunStart, t.logStart)
	r.Hook(plugins.StepStart, t.logStep)
	r.Hook(plugins.AfterInference, t.logAnswer)
	r.Hook(plugins.BeforeToolExecute, t.noteCallStart)
	r.Hook(plugins.AfterToolExecute, t.logResult)
	r.Hook(plugins.RunEnd, t.logEnd)
	return nil
}

// maxAttrs is the number of attributes of a line: four for the event, the step, and two for the
// trace.
const maxAttrs = 7

// turn logs the activity of one turn.
type turn struct {
	*plugin
	logger *slog.Logger
	called map[string]time.Time
	// attrs are the attributes of the last line; the next line reuses their memory.
	attrs []slog.Attr
}

func (t *turn) writeLine(ctx context.Context, p *plugins.PhaseContext, message string, attrs ...slog.Attr) {
	if t.logger == nil {
		t.logger = slog.New(t.plugin.logger.Handler().WithAttrs([]slog.Attr{
			slog.String("turn_id", p.TurnID), slog.String("session_id", p.SessionID), slog.String("agent", p.Agent.ID),
		}))
		t.attrs = make([]slog.Attr, 0, maxAttrs)
	}
	t.attrs = append(t.attrs[:0], attrs...)
	t.attrs = append(t.attrs, slog.Int("step", p.Stats.Steps))
	t.attrs = append(t.attrs, telemetry.TraceAttrs(ctx)...)
	t.logger.LogAttrs(ctx, t.level, message, t.attrs...)
}

func (t *turn) logStart(ctx context.Context, p *plugins.PhaseContext) error {
	t.writeLine(ctx, p, "turn started", slog.Int("messages", len(p.Messages)))
	return nil
}

func (t *turn) logStep(ctx context.Context, p *plugins.PhaseContext) error {
	t.writeLine(ctx, p, "step started")
	return nil
}

func (t *turn) logAnswer(ctx context.Context, p *plugins.PhaseContext) error {
	t.writeLine(ctx, p, "model answered",
		slog.Int("tool_calls", len(p.Answer.ToolCalls())), slog.Int("characters", len(p.Answer.Text())),
		slog.Int("input_tokens", p.Stats.Usage.Input), slog.Int("output_tokens", p.Stats.Usage.Output))
	return nil
}

func (t *turn) noteCallStart(_ context.Context, p *plugins.PhaseContext) error {
	if t.called == nil {
		t.called = make(map[string]time.Time)
	}
	t.called[p.Call.ID] = p.Now
	return nil
}

func (t *turn) logResult(ctx context.Context, p *plugins.PhaseContext) error {
	outcome := "succeeded"
	if p.Result.IsError {
		outcome = "failed"
	}
	t.writeLine(ctx, p, "tool called", slog.String("call_id", p.Call.ID), slog.String("tool", p.Call.Name),
		slog.String("outcome", outcome), slog.Duration("duration", p.Now.Sub(t.called[p.Call.ID])))
	return nil
}

func (t *turn) logEnd(ctx context.Context, p *plugins.PhaseContext) error {
	t.writeLine(ctx, p, "turn ended", slog.String("termination", string(p.Termination.Type)),
		slog.String("code", p.Termination.Code), slog.Int("tokens", p.Stats.Usage.Total()))
	return nil
}
