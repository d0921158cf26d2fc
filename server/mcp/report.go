package mcp

import (
	"context"
	"fmt"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// reportInterval is the minimum time between two progress reports.
const reportInterval = 100 * time.Millisecond

// loggerName is the logger that clients see.
const loggerName = "agent"

// report sends the number of events as progress, and logs the agent's actions.
func (c *call) report(ctx context.Context, records []event.Record) {
	message := ""
	for i := range records {
		level, text := describeRecord(&records[i])
		if text == "" {
			continue
		}
		message = text
		_ = c.req.Session.Log(ctx, &mcp.LoggingMessageParams{Level: level, Logger: loggerName, Data: text}) //nolint:staticcheck // versions up to 2025-11-25 have it; the client may be gone
	}
	token := c.req.Params.GetProgressToken()
	if token == nil || len(records) == 0 || message == "" && time.Since(c.reported) < reportInterval {
		return
	}
	c.reported = time.Now()
	_ = c.req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ // as above
		ProgressToken: token, Progress: float64(records[len(records)-1].Seq), Message: message,
	})
}

// describeRecord returns an event as a log line; empty for events that are not logged.
func describeRecord(r *event.Record) (level mcp.LoggingLevel, text string) { //nolint:staticcheck // versions up to 2025-11-25 have it
	switch r.Type {
	case event.TypeToolCallReady, event.TypeToolCallDone, event.TypeModelRetry, event.TypeHandoff:
	default:
		return "", ""
	}
	ev, err := r.Event()
	if err != nil {
		return "", ""
	}
	switch d := ev.Data.(type) {
	case *event.ToolCallReady:
		return "info", "calls " + d.Name
	case *event.ToolCallDone:
		if d.Outcome == event.CallFailed || d.Outcome == event.CallIndeterminate {
			return "warning", d.Name + " " + string(d.Outcome)
		}
		return "info", d.Name + " " + string(d.Outcome)
	case *event.ModelRetry:
		return "warning", fmt.Sprintf("repeats the model call after %s", d.Class)
	case *event.Handoff:
		return "info", "hands over to " + d.To
	default:
		return "", ""
	}
}
