package runtime

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/store"
)

const (
	// MaxWebhooks is how many webhooks a turn may have.
	MaxWebhooks = 16
	// MaxWebhookID bounds the id of a webhook, in bytes.
	MaxWebhookID = 255
	// MaxWebhookData bounds what a surface keeps with a webhook, in bytes.
	MaxWebhookData = 64 << 10
)

// WebhookSender tells receivers of one surface what happens to turns. It is used
// by many goroutines at once, but by one for each webhook, in the order of the
// events.
type WebhookSender interface {
	// Tells reports whether receivers are told of an event. It is asked for each
	// event of a turn that somebody is told of, and does not wait for anything.
	Tells(record *event.Record) bool
	// Send tells a receiver of an event that Tells is true for, and returns when
	// that took it in. Any error makes it be sent again later, with the same ID: a
	// *DeliveryError says more. The context ends when the process stops, or the
	// webhook belongs to another one; how long a receiver may take is the sender's
	// business.
	Send(ctx context.Context, d *Delivery) error
}

// Delivery is an event for a receiver.
type Delivery struct {
	// ID is the same each time that the event is sent to the receiver.
	ID     string
	Hook   *store.Webhook
	Record *event.Record
	// Attempt counts how often it was tried to tell the receiver of anything since
	// it took something in last, from 1.
	Attempt int
}

// DeliveryError says why a receiver was not told, and what to do about it. Its
// text is kept with the webhook, for its owner to read: it has no secrets.
type DeliveryError struct {
	Cause error
	// Final gives the receiver up.
	Final bool
	// RetryAfter is how long the receiver asks to be left alone.
	RetryAfter time.Duration
}

// Error returns the text of the cause.
func (e *DeliveryError) Error() string { return e.Cause.Error() }

// Unwrap returns the cause.
func (e *DeliveryError) Unwrap() error { return e.Cause }

// SaveWebhook asks for a receiver to be told what happens to a turn.
type SaveWebhook struct {
	// TurnID is the turn, and ID the webhook's own within it. Both are required.
	TurnID, ID string
	// Surface names the protocol of the receiver: the key of a WebhookSender.
	Surface string
	// Data is what the sender needs to know.
	Data json.RawMessage
	// FromStart tells the receiver of all events of the turn. Otherwise it is told
	// of those to come, and of the end of a turn that has ended.
	FromStart bool
}

// SaveWebhook stores a webhook and begins to tell its receiver, here or in
// another process. It replaces the one with the same id, and goes on behind what
// that was told; it also gives a receiver that was given up another chance. The
// errors are an *InvalidError, a *NotFoundError for the turn, and a
// *store.LimitError.
func (s *Service) SaveWebhook(ctx context.Context, caller Caller, req SaveWebhook) (*store.Webhook, error) {
	scope, err := s.turnScope(ctx, caller, req.TurnID)
	if err != nil {
		return nil, err
	}
	if err := checkWebhook(&req); err != nil {
		return nil, err
	}
	saved, err := s.Store.SaveWebhook(ctx, &store.NewWebhook{
		Scope: scope, FromStart: req.FromStart, Limit: MaxWebhooks,
		Webhook: store.Webhook{ID: req.ID, TurnID: req.TurnID, Surface: req.Surface, Data: req.Data, CreatedAt: s.now()},
	})
	if err != nil {
		return nil, named(err, "turn", req.TurnID)
	}
	s.courier.saved(saved)
	return saved, nil
}

func checkWebhook(req *SaveWebhook) error {
	switch {
	case req.ID == "":
		return &InvalidError{"id", "it is missing"}
	case len(req.ID) > MaxWebhookID || !utf8.ValidString(req.ID) || strings.ContainsFunc(req.ID, unicode.IsControl):
		return &InvalidError{"id", fmt.Sprintf("it is text of at most %d bytes", MaxWebhookID)}
	case req.Surface == "":
		return &InvalidError{"surface", "it is missing"}
	case len(req.Data) > MaxWebhookData:
		return &InvalidError{"data", fmt.Sprintf("it has %d bytes; %d are allowed", len(req.Data), MaxWebhookData)}
	}
	return nil
}

// GetWebhook returns a webhook of a turn.
func (s *Service) GetWebhook(ctx context.Context, caller Caller, turnID, id string) (*store.Webhook, error) {
	scope, err := s.turnScope(ctx, caller, turnID)
	if err != nil {
		return nil, err
	}
	found, err := s.Store.Webhook(ctx, scope, turnID, id)
	if err != nil {
		return nil, named(err, "webhook", id)
	}
	return found, nil
}

// ListWebhooks returns a page of the caller's webhooks, the newest first: those
// with the state store.WebhookDead are of receivers that were given up. The scope
// of the query is set by the caller.
func (s *Service) ListWebhooks(ctx context.Context, caller Caller, q store.WebhookQuery) (page store.WebhookPage, err error) {
	if q.Scope, err = caller.scope(); err != nil {
		return page, err
	}
	page, err = s.Store.Webhooks(ctx, q)
	if err != nil || caller.Agents == nil {
		return page, err
	}
	visible, sees := make([]*store.Webhook, 0, len(page.Webhooks)), s.turnFilter(ctx, caller)
	for _, hook := range page.Webhooks {
		ok, err := sees(hook.TurnID)
		if err != nil {
			return store.WebhookPage{}, err
		}
		if ok {
			visible = append(visible, hook)
		}
	}
	page.Webhooks = visible
	return page, nil
}

// DeleteWebhook deletes a webhook of a turn. It returns when this process tells the
// receiver nothing more. Another one begins to tell it nothing more either, but what
// that has under way may still arrive.
func (s *Service) DeleteWebhook(ctx context.Context, caller Caller, turnID, id string) error {
	scope, err := s.turnScope(ctx, caller, turnID)
	if err != nil {
		return err
	}
	if err := s.Store.DeleteWebhook(ctx, scope, turnID, id); err != nil {
		return named(err, "webhook", id)
	}
	return s.courier.deleted(ctx, webhookID{turnID, id})
}
