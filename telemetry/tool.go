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

// ToolCall is what is known of a tool call when it begins.
type ToolCall struct {
	// ID is the call's id, as the model gave it, and Name the tool's id.
	ID   string
	Name string
	// Type is function, extension or datastore; empty is function.
	Type string
	// Effect is the class of the tool's effect, and Source what gave the agent
	// the tool: global, delegate, hand-off or plugin. Either may be empty.
	Effect string
	Source string
	// AgentID is the agent that calls; empty is that of the turn.
	AgentID string
	// Arguments are read only when content is captured.
	Arguments json.RawMessage
}

// ToolOutcome is what a tool call came to.
type ToolOutcome struct {
	Outcome event.CallOutcome
	// Failure says what kind of trouble made the outcome failed, as in timeout
	// or cancelled; empty is tool_error, a tool that said itself that it failed.
	Failure string
	// Result is what the model reads. It is read only when content is captured.
	Result []model.Part
}

// ToolSpan is the span of a tool call. The zero value does nothing.
type ToolSpan struct {
	turn  *TurnSpan
	span  trace.Span
	key   toolKey
	begun time.Time
}

// StartTool begins the span of a tool call. The context it returns is the one to
// call the tool with: a delegate's turn, and what the tool asks of others,
// belongs to the call then. It may be called from several goroutines at once.
func (s *TurnSpan) StartTool(ctx context.Context, call ToolCall) (context.Context, ToolSpan) {
	if s == nil {
		return ctx, ToolSpan{}
	}
	if call.AgentID == "" {
		call.AgentID = s.agent
	}
	if call.Type == "" {
		call.Type = defaultToolType
	}
	c := ToolSpan{turn: s, key: toolKey{agent: call.AgentID, name: call.Name, kind: call.Type}, begun: time.Now()}
	if s.span != nil {
		begin := s.telemetry.starts.tools.get(toolStart{call.AgentID, call.Name, call.Type, call.Effect, call.Source}, newToolStart)
		if ctx, c.span = s.telemetry.begin(ctx, begin); c.span != nil {
			s.telemetry.call(c.span, &call)
		}
	}
	return ctx, c
}

// call tells of the call what the tool does not say.
func (t *Telemetry) call(span trace.Span, c *ToolCall) {
	var list [3]attribute.KeyValue
	attributes := append(list[:0], semconv.GenAIToolCallID(c.ID))
	if t.content != nil {
		attributes = t.content.appendArguments(attributes, c.Arguments)
	}
	span.SetAttributes(attributes...)
}

// End ends the span. A call that failed has the status Error; one that waits for
// something outside has ended well as far as the span goes.
func (c ToolSpan) End(o ToolOutcome) {
	if c.turn == nil {
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
		var list [4]attribute.KeyValue
		attributes := append(list[:0], keyToolOutcome.String(string(o.Outcome)))
		if t.content != nil {
			attributes = t.content.appendResult(attributes, o.Result)
		}
		c.span.SetAttributes(t.fail(c.span, attributes, c.key.failure, nil)...)
		c.span.End()
	}
	m := t.metrics
	m.toolDuration.Record(context.Background(), time.Since(c.begun).Seconds(), m.tools.get(c.key, newToolMeasured).record...)
}
