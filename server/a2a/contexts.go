package a2a

import (
	"context"
	"errors"
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
	"github.com/agentruntime/agentruntime/service"
)

// labelContext is the session label for a client's context id, if that differs from the session's
// id.
const labelContext = "a2a_context"

// sessionFor returns the session of a message. It creates one if the contextId is missing, or not
// yet used by the caller for the agent; whether others use the id stays hidden.
func (c *call) sessionFor(ctx context.Context, message *a2a.Message, key string) (*service.Session, error) {
	if message.ContextID == "" {
		return c.service.CreateSession(ctx, c.caller, service.CreateSession{AgentID: c.agent, IdempotencyKey: key})
	}
	session, err := c.newThreads().Open(ctx, message.ContextID)
	return session, contextError(err)
}

func (c *call) newThreads() *surfacekit.Threads {
	return &surfacekit.Threads{Service: c.service, Caller: c.caller, Agent: c.agent, Key: "a2a-context", Label: labelContext}
}

// contextError converts an error about a context id to a protocol error.
func contextError(err error) error {
	if errors.Is(err, surfacekit.ErrThread) {
		return newInvalidParams("contextId is text of at most %d bytes", service.MaxLabel)
	}
	return err
}

// contextOf returns the caller's id for a session's context.
func (c *call) contextOf(ctx context.Context, sessionID string) (string, error) {
	if known, ok := c.contexts[sessionID]; ok {
		return known, nil
	}
	session, err := c.service.GetSession(ctx, c.caller, sessionID)
	if err != nil && !errors.Is(err, service.ErrNotFound) { // deleted since, or belongs also to another agent
		return "", fmt.Errorf("read the context of a task: %w", err)
	}
	name := event.ShownID(sessionID)
	if session != nil && session.Labels[labelContext] != "" {
		name = session.Labels[labelContext]
	}
	if c.contexts == nil {
		c.contexts = make(map[string]string)
	}
	c.contexts[sessionID] = name
	return name, nil
}

// infoOf returns the caller's ids for a task and its context.
func (c *call) infoOf(ctx context.Context, turn *service.Turn) (a2a.TaskInfo, error) {
	name, err := c.contextOf(ctx, turn.SessionID)
	return a2a.TaskInfo{TaskID: a2a.TaskID(event.ShownID(turn.ID)), ContextID: name}, err
}
