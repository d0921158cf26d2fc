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

// pushConfigs are the webhooks of tasks in the protocol's form. Access is checked before: the turn
// belongs to the caller.
type pushConfigs struct {
	service *service.Service
	// sender is nil if notifications are disabled.
	sender *PushSender
}

var (
	errNoPush      = a2a.NewError(a2a.ErrPushNotificationNotSupported, "this server sends no push notifications")
	errUnknownPush = a2a.NewError(a2a.ErrTaskNotFound, "the task has no such push configuration")
)

// newPushConfigs returns the push configurations of a service; it has none if they are disabled, or
// the service has no PushSender.
func newPushConfigs(service *service.Service, off bool) *pushConfigs {
	p := &pushConfigs{service: service}
	if !off {
		p.sender = pushSenderOf(service)
	}
	return p
}

// attachHandler lets the sender show whole tasks, as version 0.3 requires.
func (p *pushConfigs) attachHandler(h *handler) {
	if p.sender != nil {
		p.sender.tasks.Store(h)
	}
}

// pushSenderOf returns a service's sender for this surface, or nil.
func pushSenderOf(s *service.Service) *PushSender {
	sender, _ := s.WebhookSender(PushSurface).(*PushSender)
	return sender
}

// createConfig subscribes a receiver to a task's updates, and to its current state if requested.
// A configuration without an id gets the task's, so that repeating the request is harmless.
func (p *pushConfigs) createConfig(ctx context.Context, caller service.Caller, info a2a.TaskInfo, config *a2a.PushConfig, fromStart bool) (*a2a.PushConfig, error) {
	e, ok := ctx.Value(envelopeKey{}).(*envelope)
	if !ok {
		return nil, errInternal
	}
	if err := p.checkConfig(config, e.spoken); err != nil {
		return nil, err
	}
	turnID := string(info.TaskID)
	id := cmp.Or(config.ID, turnID)
	target := targetOf(config, e)
	target.Context = info.ContextID
	data, err := p.sender.sealTarget(turnID, id, target)
	if err != nil {
		return nil, err
	}
	saved, err := p.service.SaveWebhook(ctx, caller, service.SaveWebhook{TurnID: turnID, ID: id, Surface: PushSurface, Data: data, FromStart: fromStart})
	if limit := new(service.LimitError); errors.As(err, &limit) {
		return nil, newInvalidParams("the task has %d push configurations already: delete one first", limit.Limit)
	}
	if err != nil {
		return nil, err
	}
	return p.fromWebhook(saved)
}

// getConfig returns a configuration.
func (p *pushConfigs) getConfig(ctx context.Context, caller service.Caller, turnID, id string) (*a2a.PushConfig, error) {
	if p.sender == nil {
		return nil, errNoPush
	}
	found, err := p.service.GetWebhook(ctx, caller, turnID, cmp.Or(id, turnID))
	if errors.Is(err, service.ErrNotFound) || err == nil && found.Surface != PushSurface {
		return nil, errUnknownPush
	}
	if err != nil {
		return nil, err
	}
	return p.fromWebhook(found)
}

// listConfigs returns a page of the configurations of a task.
func (p *pushConfigs) listConfigs(ctx context.Context, caller service.Caller, turnID string, size int, token string) (*a2a.ListTaskPushConfigResponse, error) {
	if p.sender == nil {
		return nil, errNoPush
	}
	if size < 0 {
		return nil, newInvalidParams("pageSize is %d; it must not be negative", size)
	}
	page, err := p.service.ListWebhooks(ctx, caller, service.WebhookQuery{
		TurnID: turnID, Surface: PushSurface, Page: service.Page{After: token, Limit: size},
	})
	if err != nil {
		return nil, err
	}
	list := &a2a.ListTaskPushConfigResponse{Configs: make([]*a2a.PushConfig, len(page.Webhooks)), NextPageToken: page.Next}
	for i, h := range page.Webhooks {
		if list.Configs[i], err = p.fromWebhook(h); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// deleteConfig deletes a configuration. An unknown one counts as deleted, so the request can be
// repeated.
func (p *pushConfigs) deleteConfig(ctx context.Context, caller service.Caller, turnID, id string) error {
	if p.sender == nil {
		return errNoPush
	}
	id = cmp.Or(id, turnID)
	found, err := p.service.GetWebhook(ctx, caller, turnID, id)
	if errors.Is(err, service.ErrNotFound) || err == nil && found.Surface != PushSurface {
		return nil
	}
	if err == nil {
		err = p.service.DeleteWebhook(ctx, caller, turnID, id)
	}
	if errors.Is(err, service.ErrNotFound) {
		return nil
	}
	return err
}

// fromWebhook returns a configuration for its owner, without the receiver's credentials and the
// parameters of its URL.
func (p *pushConfigs) fromWebhook(h *service.Webhook) (*a2a.PushConfig, error) {
	target, err := p.sender.openTarget(h)
	if err != nil {
		return nil, err
	}
	config := &a2a.PushConfig{TaskID: a2a.TaskID(event.ShownID(h.TurnID)), ID: h.ID, URL: redact.URL(target.URL)}
	if target.Scheme != "" {
		config.Auth = &a2a.PushAuthInfo{Scheme: target.Scheme}
	}
	return config, nil
}

// checkConfig checks a configuration in a version of the protocol. The URL's target is checked again for each notification.
func (p *pushConfigs) checkConfig(config *a2a.PushConfig, spoken version) error {
	switch {
	case p.sender == nil:
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
		if spoken == v03 {
			field = "authentication.schemes"
		}
		if a.Scheme == "" || !isWord(a.Scheme) || len(a.Scheme) > maxPushScheme {
			return newInvalidParams("%s has no valid authentication scheme, such as Bearer", field)
		}
		if !isHeader(a.Credentials, maxPushCredential) {
			return newInvalidParams("authentication.credentials are not a valid HTTP header value")
		}
	}
	return p.sender.checkURL(config.URL)
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
