package a2a

import (
	"cmp"
	"context"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/a2awire"
	"github.com/agentruntime/agentruntime/service"
)

// maxReplyWait is how long a stream waits silently for an answer that may be a message. A longer
// one is a task.
const maxReplyWait = 15 * time.Second

// wantsMessage reports whether a message may answer a request: it begins a turn of an agent
// configured for that, and waits for it.
func (c *call) wantsMessage(ctx context.Context, req *a2a.SendMessageRequest) bool {
	config := configOf(req)
	if req.Message == nil || req.Message.TaskID != "" || config.ReturnImmediately || config.PushConfig != nil {
		return false
	}
	a, ok := c.server.settings.Service.SetFor(ctx, c.caller.Tenant).Agent(c.agent)
	return ok && a.RepliesWithMessage()
}

// replyMessage returns a turn's result as a message; nil if it must be a task because it is
// running, failed, asked a question or has artifacts.
func (c *call) replyMessage(ctx context.Context, turn *service.Turn) (*a2a.Message, error) {
	o := turn.Outcome
	if o == nil || o.Response == "" || len(o.Response) > maxInline || o.Termination.CutShort() || o.Termination.Status() != event.StatusSucceeded {
		return nil, nil //nolint:nilnil // it is a task
	}
	asked, err := c.service.ListInteractions(ctx, c.caller, service.InteractionQuery{TurnID: turn.ID})
	if err != nil || len(asked) > 0 {
		return nil, err
	}
	kept, err := c.service.ListArtifacts(ctx, c.caller, turn.ID)
	if err != nil || len(kept) > 0 {
		return nil, err
	}
	info, err := c.infoOf(ctx, turn)
	if err != nil {
		return nil, err
	}
	m := &a2a.Message{
		ID: event.ShownID(turn.ID) + "." + responseID, Role: a2a.MessageRoleAgent, ContextID: info.ContextID,
		Parts: a2a.ContentParts{c.answerPart(ctx, cmp.Or(o.Agent, turn.AgentID), o.Response)},
	}
	a2awire.SetReport(m, &a2awire.Report{Usage: o.Usage, Cost: o.Cost, Steps: o.Steps})
	return m, nil
}

// streamReply sends the answer as a message, or else the task and its updates.
func (c *call) streamReply(ctx context.Context, turn *service.Turn, history *int, show showFunc) error {
	wait, cancel := context.WithTimeout(ctx, maxReplyWait)
	settled, err := c.waitSettled(wait, turn)
	cancel()
	if err != nil || ctx.Err() != nil { // the client or the server ended it
		return err
	}
	m, err := c.replyMessage(ctx, settled)
	if err != nil {
		return err
	}
	if m != nil && wireSize(m) <= maxChunk {
		show(m)
		return nil
	}
	return c.followTask(ctx, settled, history, true, show)
}
