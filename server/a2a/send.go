package a2a

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/internal/a2awire"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/spec"
)

// maxMessageID limits the message ids from clients, in bytes.
const maxMessageID = 255

// sendMessage processes a message: it begins a task, or answers a task's question.
func (c *call) sendMessage(ctx context.Context, req *a2a.SendMessageRequest) (*service.Turn, error) {
	message := req.Message
	if err := checkMessage(message, c.userRole); err != nil {
		return nil, err
	}
	config := configOf(req)
	if err := checkHistory(config.HistoryLength); err != nil {
		return nil, err
	}
	if err := checkOutputModes(config.AcceptedOutputModes); err != nil {
		return nil, err
	}
	if push := config.PushConfig; push != nil {
		if err := checkTenant(push.Tenant, c.agent, c.caller); err != nil {
			return nil, err
		}
		if push.TaskID != "" && push.TaskID != message.TaskID {
			return nil, newInvalidParams("the push configuration names task %q, and the message does not", clip.Text(string(push.TaskID)))
		}
		if err := c.checkPush(push); err != nil {
			return nil, err
		}
	}
	if message.TaskID != "" {
		return c.answerTask(ctx, message, config.PushConfig)
	}
	if c.server.settings.Draining != nil && c.server.settings.Draining() {
		noteOutage(ctx)
		return nil, errDraining
	}
	turn, err := c.newTask(ctx, message)
	if err == nil && config.PushConfig != nil {
		// The task may have asked by now, so the receiver gets everything.
		err = c.registerPush(ctx, turn, config.PushConfig, true)
	}
	return turn, err
}

// registerPush subscribes a receiver to a task's updates.
func (c *call) registerPush(ctx context.Context, turn *service.Turn, config *a2a.PushConfig, fromStart bool) error {
	info, err := c.infoOf(ctx, turn)
	if err == nil {
		_, err = c.createPush(ctx, info, config, fromStart)
	}
	return err
}

// checkOutputModes rejects a message whose sender accepts neither text nor JSON. Some
// clients write text for text/plain.
func checkOutputModes(accepted []string) error {
	for _, mode := range accepted {
		mode, _, _ = strings.Cut(strings.ToLower(mode), ";")
		switch strings.TrimSpace(mode) {
		case "text", "text/plain", "text/*", "text/markdown", "application/json", "application/*", "*/*", "*":
			return nil
		}
	}
	if len(accepted) == 0 {
		return nil
	}
	return a2a.NewError(a2a.ErrUnsupportedContentType, "acceptedOutputModes: answers are text/plain or application/json")
}

// checkMessage checks a message, whose role must be userRole.
func checkMessage(m *a2a.Message, userRole string) error {
	switch {
	case m == nil:
		return newInvalidParams("the request has no message")
	case m.ID == "":
		return newInvalidParams("the message has no messageId")
	case len(m.ID) > maxMessageID || !utf8.ValidString(m.ID):
		return newInvalidParams("messageId is text of at most %d bytes", maxMessageID)
	case m.Role != a2a.MessageRoleUser:
		return newInvalidParams("the role of the message must be %q", userRole)
	case len(m.Parts) == 0:
		return newInvalidParams("the message has no parts")
	case len(m.ReferenceTasks) > 0:
		return newInvalidParams("referenceTaskIds is not supported: name a task in taskId, or a conversation in contextId")
	default:
		return nil
	}
}

// newTask creates a turn in the session that the message names, or in a new one. Repeating the
// message creates nothing new; a different message with its id does, unless that is rejected.
func (c *call) newTask(ctx context.Context, message *a2a.Message) (*service.Turn, error) {
	create, err := c.turnFor(message)
	if err != nil {
		return nil, err
	}
	if create.IdempotencyKey, err = c.idempotencyKey(message, create); err != nil {
		return nil, err
	}
	session, err := c.sessionFor(ctx, message, create.IdempotencyKey)
	if err != nil {
		return nil, err
	}
	create.SessionID = session.ID
	turn, err := c.service.CreateTurn(ctx, c.caller, *create)
	if used := new(service.KeyConflictError); errors.As(err, &used) {
		return nil, usedID(message)
	}
	return turn, err
}

// turnFor returns the turn for a message, without its session.
func (c *call) turnFor(message *a2a.Message) (*service.CreateTurn, error) {
	parts, err := a2awire.ModelParts(message.Parts, int(c.server.settings.MaxBody))
	if err != nil {
		return nil, err
	}
	if len(parts) == 0 {
		return nil, newInvalidParams("the message says nothing")
	}
	create := &service.CreateTurn{
		AgentID: c.agent, Addressed: true, Background: true,
		Input: []model.Message{{ID: message.ID, Role: model.RoleUser, Parts: parts}},
	}
	grant, err := a2awire.GrantOf(message.Metadata)
	if err != nil || grant == nil {
		return create, err
	}
	create.Depth, create.Deadline = grant.Depth, grant.Deadline
	limits := &spec.Budgets{MaxTokens: grant.MaxTokens, MaxCost: grant.MaxCost, MaxModelCalls: grant.MaxModelCalls, MaxToolCalls: grant.MaxToolCalls}
	if grant.MaxCost != nil {
		limits.Currency = cmp.Or(grant.Currency, spec.DefaultCurrency)
	}
	if *limits != (spec.Budgets{}) {
		create.Limits = limits
	}
	return create, nil
}

// idempotencyKey returns the key that makes a message repeatable: its id and, unless ids must be
// unique, a hash of its request. Keys belong to their owner.
func (c *call) idempotencyKey(message *a2a.Message, create *service.CreateTurn) (string, error) {
	parts := []byte(c.agent + "\x00" + message.ID)
	if !c.server.settings.UniqueMessageIDs {
		same := *create
		same.Limits, same.Deadline = nil, time.Time{} // less is left for a later repetition
		content, err := json.Marshal(same)
		if err != nil {
			return "", fmt.Errorf("encode the request of a message: %w", err)
		}
		parts = append(append(parts, 0), content...)
	}
	sum := sha256.Sum256(parts)
	return "a2a:" + hex.EncodeToString(sum[:]), nil
}

// answerTask passes a message to the task that it names, which must have an open question. A
// receiver of notifications gets the result.
func (c *call) answerTask(ctx context.Context, message *a2a.Message, push *a2a.PushConfig) (*service.Turn, error) {
	turn, err := c.getTurn(ctx, message.TaskID)
	if err != nil {
		return nil, err
	}
	if err := c.checkTaskContext(ctx, turn, message.ContextID); err != nil {
		return nil, err
	}
	asked, err := c.service.ListInteractions(ctx, c.caller, service.InteractionQuery{TurnID: turn.ID})
	if err != nil {
		return nil, err
	}
	switch earlier := answeredBy(asked, message); {
	case slices.ContainsFunc(earlier, func(i *service.Interaction) bool { return sameAnswer(ctx, i, message) }):
		return turn, nil
	case len(earlier) > 0 && c.server.settings.UniqueMessageIDs:
		return nil, usedID(message)
	}
	if !turn.Status.Live() {
		return nil, newUnsupported("the task has ended: send the message without taskId to continue in its context")
	}
	open := pendingInteractions(asked)
	if len(open) == 0 {
		return nil, newUnsupported("the task is being worked on and asks for nothing: wait for it to end or to ask")
	}
	answer, err := answerFor(ctx, open, message)
	if err != nil {
		return nil, err
	}
	if push != nil {
		if err := c.registerPush(ctx, turn, push, false); err != nil {
			return nil, err
		}
	}
	if _, err := c.service.AnswerInteraction(ctx, c.caller, turn.ID, *answer); err != nil {
		return nil, err
	}
	return c.getTurn(ctx, message.TaskID)
}

// checkTaskContext rejects a task outside the context that a message names.
func (c *call) checkTaskContext(ctx context.Context, turn *service.Turn, contextID string) error {
	if contextID == "" || contextID == turn.SessionID {
		return nil
	}
	if name, err := c.contextOf(ctx, turn.SessionID); err != nil || name == contextID {
		return err
	}
	return newInvalidParams("task %q is not part of context %q", turn.ID, clip.Text(contextID))
}

// answeredBy returns the interactions answered by a message with the id.
func answeredBy(asked []*service.Interaction, message *a2a.Message) []*service.Interaction {
	var list []*service.Interaction
	for _, i := range asked {
		var given interaction.Answer
		if json.Unmarshal(i.Answer, &given) == nil && given.ID == message.ID {
			list = append(list, i)
		}
	}
	return list
}

// sameAnswer reports whether a message equals the one that answered an interaction.
func sameAnswer(ctx context.Context, i *service.Interaction, message *a2a.Message) bool {
	answer, err := answerFor(ctx, []*service.Interaction{i}, message)
	if err != nil {
		return false
	}
	data, err := json.Marshal(answer)
	return err == nil && bytes.Equal(data, i.Answer)
}

// usedID returns the error for an id that another message used.
func usedID(message *a2a.Message) error {
	return newInvalidParams("messageId %q was used for another message", message.ID)
}

// pendingInteractions returns the unanswered interactions, oldest first.
func pendingInteractions(all []*service.Interaction) []*service.Interaction {
	return slices.DeleteFunc(slices.Clone(all), func(i *service.Interaction) bool { return i.State != service.InteractionPending })
}
