package telemetry

import (
	"context"
	"encoding/json"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"
)

// ToolCall describes a tool call at its start.
type ToolCall struct {
	// ID is the call's id as given by the model, and Name the tool's id.
	ID   string
	Name string
	// Type is function, extension or datastore; empty means function.
	Type string
	// Effect is the class of the tool's effect, and Source the origin of the agent's tool: global,
	// delegate, handoff or plugin. Either may be empty.
	Effect string
	Source string
	// AgentID is the calling agent; empty for the turn's agent.
	AgentID string
	// Arguments must not change before the span ends, when they are read if
	// content is captured.
	Arguments json.RawMessage
}

// ToolOutcome is the outcome of a tool call.
type ToolOutcome struct {
	Outcome event.CallOutcome
	// Failure is why the call failed, such as timeout or canceled; empty means tool_error, an error
	// that the tool returned.
	Failure string
	// Result is the result that the model reads. It is read only when content is captured.
	Result []model.Part
}

// ToolSpan is the span of a tool call. End it once. A nil span does nothing.
type ToolSpan struct {
	turn      *TurnSpan
	span      trace.Span
	id        string
	arguments json.RawMessage
	key       toolKey
	begun     time.Time
	// attributes is storage for the span's attributes.
	attributes []attribute.KeyValue
}

// newToolSpan returns a ToolSpan. If there is a span, the same allocation holds its attributes.
func (s *TurnSpan) newToolSpan() *ToolSpan {
	if s.span == nil {
		return &ToolSpan{turn: s}
	}
	traced := new(struct {
		ToolSpan
		room [6]attribute.KeyValue
	})
	traced.turn, traced.attributes = s, traced.room[:0]
	return &traced.ToolSpan
}

// StartTool starts the span of a tool call. Call the tool with the returned context, so that a
// delegate's turn and outgoing requests belong to the span. It is safe for concurrent use.
func (s *TurnSpan) StartTool(ctx context.Context, call ToolCall) (context.Context, *ToolSpan) {
	if s == nil {
		return ctx, nil
	}
	if call.AgentID == "" {
		call.AgentID = s.agent
	}
	if call.Type == "" {
		call.Type = defaultToolType
	}
	c := s.newToolSpan()
	c.id, c.arguments, c.begun = call.ID, call.Arguments, time.Now()
	c.key = toolKey{agent: call.AgentID, name: call.Name, kind: call.Type, tenant: s.tenant}
	if s.span != nil {
		begin := s.telemetry.starts.tools.get(toolStart{call.AgentID, call.Name, call.Type, call.Effect, call.Source}, newToolStart)
		ctx, c.span = s.telemetry.startSpan(ctx, begin)
	}
	return ctx, c
}

// End ends the span. A failed call has the status Error; a call that waits for external input has
// not failed.
func (c *ToolSpan) End(o ToolOutcome) {
	if c == nil {
		return
	}
	c.key.outcome = string(o.Outcome)
	if o.Outcome == event.CallFailed {
		c.key.failure = errorTool
		if o.Failure != "" {
			c.key.failure = o.Failure
		}
	}
	t := c.turn.telemetry
	if c.span != nil {
		c.setAttributes(t, &o)
		c.span.End()
	}
	m := t.metrics
	took := time.Since(c.begun).Seconds()
	m.toolDuration.Record(context.Background(), took, m.tools.get(c.key, newToolMeasured).record...)
	if t.legacyTools.Load() {
		m.modelDuration.Record(context.Background(), took, m.legacy.get(legacyToolKey{c.key.agent, c.key.name, c.key.failure}, newLegacyToolMeasured).record...)
	}
}

// SetLegacyToolMetrics sets whether tool calls are also measured as in Gestalt, by
// gen_ai.client.operation.duration with the operation execute_tool.
func (t *Telemetry) SetLegacyToolMetrics(on bool) {
	if t != nil {
		t.legacyTools.Store(on)
	}
}

func (c *ToolSpan) setAttributes(t *Telemetry, o *ToolOutcome) {
	c.attributes = append(c.attributes, semconv.GenAIToolCallID(c.id), keyToolOutcome.String(string(o.Outcome)))
	if t.content != nil {
		c.attributes = t.content.appendResult(t.content.appendArguments(c.attributes, c.arguments), o.Result)
	}
	c.span.SetAttributes(t.setFailure(c.span, c.attributes, c.key.failure, nil)...)
}
