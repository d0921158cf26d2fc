package service

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/agentruntime/agentruntime/service/webhook"
	"github.com/agentruntime/agentruntime/store"
)

const (
	// MaxWebhooks is the maximum number of webhooks of a turn.
	MaxWebhooks = 16
	// MaxWebhookID bounds the id of a webhook, in bytes.
	MaxWebhookID = 255
	// MaxWebhookData bounds the data that a surface stores with a webhook, in bytes.
	MaxWebhookData = 64 << 10
)

// Webhooks stores the webhooks of turns. It is safe for concurrent use.
type Webhooks struct{ *core }

// SaveWebhook is a request to notify a receiver about a turn.
type SaveWebhook struct {
	// TurnID is the turn, and ID the webhook's id within it. Both are required.
	TurnID, ID string
	// Surface names the protocol of the receiver: the key of a webhook.Sender.
	Surface string
	// Data is the sender's data.
	Data json.RawMessage
	// FromStart sends all events of the turn. Otherwise the receiver gets future
	// events, and the end of a turn that has ended.
	FromStart bool
}

// SaveWebhook stores a webhook and starts to deliver to it, here or in another process. It replaces
// the webhook with the same id and continues from its position; a dropped receiver is tried again.
// It fails with an *InvalidError, a *NotFoundError for the turn, or a *store.LimitError.
func (w *Webhooks) SaveWebhook(ctx context.Context, caller Caller, req SaveWebhook) (*store.Webhook, error) {
	scope, err := w.turnScope(ctx, caller, req.TurnID)
	if err != nil {
		return nil, err
	}
	if err := checkWebhook(&req); err != nil {
		return nil, err
	}
	saved, err := w.settings.Store.SaveWebhook(ctx, &store.NewWebhook{
		Scope: scope, FromStart: req.FromStart, Limit: MaxWebhooks,
		Webhook: store.Webhook{ID: req.ID, TurnID: req.TurnID, Surface: req.Surface, Data: req.Data, CreatedAt: w.now()},
	})
	if err != nil {
		return nil, nameNotFound(err, "turn", req.TurnID)
	}
	w.courier.Saved(saved)
	return saved, nil
}

func checkWebhook(req *SaveWebhook) error {
	switch {
	case req.ID == "":
		return &InvalidError{"id", "is required"}
	case len(req.ID) > MaxWebhookID || !utf8.ValidString(req.ID) || strings.ContainsFunc(req.ID, unicode.IsControl):
		return &InvalidError{"id", fmt.Sprintf("must be text of at most %d bytes", MaxWebhookID)}
	case req.Surface == "":
		return &InvalidError{"surface", "is required"}
	case len(req.Data) > MaxWebhookData:
		return &InvalidError{"data", fmt.Sprintf("has %d bytes; %d are allowed", len(req.Data), MaxWebhookData)}
	}
	return nil
}

// WebhookSender returns the sender for a surface, or nil.
func (w *Webhooks) WebhookSender(surface string) webhook.Sender { return w.settings.Webhooks[surface] }

// GetWebhook returns a webhook of a turn.
func (w *Webhooks) GetWebhook(ctx context.Context, caller Caller, turnID, id string) (*store.Webhook, error) {
	scope, err := w.turnScope(ctx, caller, turnID)
	if err != nil {
		return nil, err
	}
	found, err := w.settings.Store.Webhook(ctx, scope, turnID, id)
	if err != nil {
		return nil, nameNotFound(err, "webhook", id)
	}
	return found, nil
}

// ListWebhooks returns a page of the caller's webhooks, newest first: those with the state
// store.WebhookDead have dropped receivers. The scope of the query is set from the caller.
func (w *Webhooks) ListWebhooks(ctx context.Context, caller Caller, q store.WebhookQuery) (page store.WebhookPage, err error) {
	if q.Scope, err = caller.toScope(); err != nil {
		return page, err
	}
	page, err = w.settings.Store.Webhooks(ctx, q)
	if err != nil || caller.Agents == nil {
		return page, err
	}
	known := make(map[string]bool) // visible turns, by id
	page.Webhooks, err = keepVisible(page.Webhooks, func(hook *store.Webhook) (bool, error) {
		sees, ok := known[hook.TurnID]
		if !ok {
			var err error
			if sees, err = w.seesTurnID(ctx, caller, hook.TurnID); err != nil {
				return false, err
			}
			known[hook.TurnID] = sees
		}
		return sees, nil
	})
	return page, err
}

// DeleteWebhook deletes a webhook of a turn. When it returns, this process sends the receiver
// nothing more. Other processes start no new deliveries, but one in progress may still arrive.
func (w *Webhooks) DeleteWebhook(ctx context.Context, caller Caller, turnID, id string) error {
	scope, err := w.turnScope(ctx, caller, turnID)
	if err != nil {
		return err
	}
	if err := w.settings.Store.DeleteWebhook(ctx, scope, turnID, id); err != nil {
		return nameNotFound(err, "webhook", id)
	}
	return w.courier.Deleted(ctx, turnID, id)
}
