package a2a

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/redact"
	"github.com/agentruntime/agentruntime/service"
)

var (
	errNoPush      = a2a.NewError(a2a.ErrPushNotificationNotSupported, "this server sends no push notifications")
	errUnknownPush = a2a.NewError(a2a.ErrTaskNotFound, "the task has no such push configuration")
)

// createPush subscribes a receiver to a task's updates, and to its current state if requested.
// A configuration without an id gets the task's, so that repeating the request is harmless.
func (c *call) createPush(ctx context.Context, info a2a.TaskInfo, config *a2a.PushConfig, fromStart bool) (*a2a.PushConfig, error) {
	if err := c.checkPush(config); err != nil {
		return nil, err
	}
	turnID := string(info.TaskID)
	id := cmp.Or(config.ID, turnID)
	target := c.targetOf(config)
	target.Context = info.ContextID
	data, err := c.sender.sealTarget(turnID, id, target)
	if err != nil {
		return nil, err
	}
	saved, err := c.service.SaveWebhook(ctx, c.caller, service.SaveWebhook{TurnID: turnID, ID: id, Surface: PushSurface, Data: data, FromStart: fromStart})
	if limit := new(service.LimitError); errors.As(err, &limit) {
		return nil, newInvalidParams("the task has %d push configurations already: delete one first", limit.Limit)
	}
	if err != nil {
		return nil, err
	}
	return c.fromWebhook(saved)
}

// getPush returns a configuration.
func (c *call) getPush(ctx context.Context, turnID, id string) (*a2a.PushConfig, error) {
	found, err := c.service.GetWebhook(ctx, c.caller, turnID, cmp.Or(id, turnID))
	if errors.Is(err, service.ErrNotFound) || err == nil && found.Surface != PushSurface {
		return nil, errUnknownPush
	}
	if err != nil {
		return nil, err
	}
	return c.fromWebhook(found)
}

// listPush returns a page of the configurations of a task.
func (c *call) listPush(ctx context.Context, turnID string, size int, token string) (*a2a.ListTaskPushConfigResponse, error) {
	if size < 0 {
		return nil, newInvalidParams("pageSize is %d; it must not be negative", size)
	}
	page, err := c.service.ListWebhooks(ctx, c.caller, service.WebhookQuery{
		TurnID: turnID, Surface: PushSurface, Page: service.Page{After: token, Limit: size},
	})
	if err != nil {
		return nil, err
	}
	list := &a2a.ListTaskPushConfigResponse{Configs: make([]*a2a.PushConfig, len(page.Webhooks)), NextPageToken: page.Next}
	for i, h := range page.Webhooks {
		if list.Configs[i], err = c.fromWebhook(h); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// deletePush deletes a configuration. An unknown one counts as deleted, so the request can be
// repeated.
func (c *call) deletePush(ctx context.Context, turnID, id string) error {
	id = cmp.Or(id, turnID)
	found, err := c.service.GetWebhook(ctx, c.caller, turnID, id)
	if errors.Is(err, service.ErrNotFound) || err == nil && found.Surface != PushSurface {
		return nil
	}
	if err == nil {
		err = c.service.DeleteWebhook(ctx, c.caller, turnID, id)
	}
	if errors.Is(err, service.ErrNotFound) {
		return nil
	}
	return err
}

// fromWebhook returns a configuration for its owner, without the receiver's credentials and the
// parameters of its URL.
func (h *handler) fromWebhook(w *service.Webhook) (*a2a.PushConfig, error) {
	target, err := h.sender.openTarget(w)
	if err != nil {
		return nil, err
	}
	config := &a2a.PushConfig{TaskID: a2a.TaskID(event.ShownID(w.TurnID)), ID: w.ID, URL: redact.URL(target.URL)}
	if target.Scheme != "" {
		config.Auth = &a2a.PushAuthInfo{Scheme: target.Scheme}
	}
	return config, nil
}

// checkPush checks a configuration. The URL's target is checked again for each notification.
func (c *call) checkPush(config *a2a.PushConfig) error {
	switch {
	case c.sender == nil:
		return errNoPush
	case config == nil:
		return errNoParams
	case len(config.ID) > service.MaxWebhookID:
		return newInvalidParams("the id of a push configuration has at most %d bytes", service.MaxWebhookID)
	case !isHeader(config.Token, maxPushCredential):
		return newInvalidParams("the token is not a valid HTTP header value")
	}
	if a := config.Auth; a != nil {
		field := "authentication.scheme"
		if c.spoken == v03 {
			field = "authentication.schemes"
		}
		if a.Scheme == "" || !isWord(a.Scheme) || len(a.Scheme) > maxPushScheme {
			return newInvalidParams("%s has no valid authentication scheme, such as Bearer", field)
		}
		if !isHeader(a.Credentials, maxPushCredential) {
			return newInvalidParams("authentication.credentials are not a valid HTTP header value")
		}
	}
	return c.sender.checkURL(config.URL)
}

// isHeader reports whether text is a valid header value within a limit.
func isHeader(text string, most int) bool {
	return len(text) <= most && !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\t' || r >= 0x7f }) && strings.TrimSpace(text) == text
}

func isWord(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool {
		return r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
}
