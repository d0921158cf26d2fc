package a2a

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/service"
)

// labelContext is the label of a session that has the id which a client gave to
// the context, where that is not the id of the session.
const labelContext = "a2a_context"

// sessionFor returns the session of a message. One without a contextId begins one, and
// so does one with an id that the caller has not used for the agent yet: whatever
// the id stands for elsewhere, nobody learns of it.
func (c *call) sessionFor(ctx context.Context, message *a2a.Message, key string) (*service.Session, error) {
	if message.ContextID == "" {
		return c.service.CreateSession(ctx, c.caller, service.CreateSession{AgentID: c.agent, IdempotencyKey: key})
	}
	found, err := c.findSession(ctx, message.ContextID)
	if found != nil || err != nil {
		return found, err
	}
	// The key makes one session of messages that come at the same time.
	sum := sha256.Sum256([]byte(c.agent + "\x00" + message.ContextID))
	return c.service.CreateSession(ctx, c.caller, service.CreateSession{
		AgentID: c.agent, Labels: map[string]string{labelContext: message.ContextID}, IdempotencyKey: "a2a-context:" + hex.EncodeToString(sum[:]),
	})
}

// findSession returns the session that an id of a context stands for; nil when the
// caller has none of the agent.
func (c *call) findSession(ctx context.Context, contextID string) (*service.Session, error) {
	if err := checkContext(contextID); err != nil {
		return nil, err
	}
	session, err := service.FindOwn(c.caller, contextID, func(id string) (*service.Session, error) { return c.service.GetSession(ctx, c.caller, id) })
	if err == nil && (session.AgentID == c.agent || session.AgentID == "") {
		return session, nil
	}
	if err != nil && !errors.Is(err, service.ErrNotFound) {
		return nil, err
	}
	page, err := c.service.ListSessions(ctx, c.caller, service.SessionQuery{
		AgentID: c.agent, Labels: map[string]string{labelContext: contextID}, Page: service.Page{Limit: 1},
	})
	if err != nil || len(page.Sessions) == 0 {
		return nil, err
	}
	return page.Sessions[0], nil
}

// checkContext judges an id of a context.
func checkContext(id string) error {
	if len(id) > service.MaxLabel || !utf8.ValidString(id) || strings.ContainsFunc(id, unicode.IsControl) {
		return newInvalidParams("contextId is text of at most %d bytes", service.MaxLabel)
	}
	return nil
}

// contextOf returns what the caller calls the context that a session is.
func (c *call) contextOf(ctx context.Context, sessionID string) (string, error) {
	if known, ok := c.contexts[sessionID]; ok {
		return known, nil
	}
	session, err := c.service.GetSession(ctx, c.caller, sessionID)
	if err != nil && !errors.Is(err, service.ErrNotFound) { // it was deleted since, or belongs to another agent as well
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

// infoOf returns what the caller calls a task and its context.
func (c *call) infoOf(ctx context.Context, turn *service.Turn) (a2a.TaskInfo, error) {
	name, err := c.contextOf(ctx, turn.SessionID)
	return a2a.TaskInfo{TaskID: a2a.TaskID(event.ShownID(turn.ID)), ContextID: name}, err
}
