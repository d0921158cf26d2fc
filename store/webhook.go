package store

import (
	"context"
	"encoding/json"
	"time"
)

// WebhookHold is how much longer than the retention the events and session of a turn are kept for a
// receiver that has not received everything. It is long enough for a worker, if there is one, to
// abandon the receiver first.
const WebhookHold = 48 * time.Hour

// WebhookState is the delivery state of a webhook.
type WebhookState string

// The states of a webhook. It stays in the last two until it is saved again.
const (
	// WebhookActive is a webhook whose turn is live, or whose receiver has not received all events
	// yet.
	WebhookActive WebhookState = "active"
	// WebhookDone is a webhook whose receiver was notified of the end of the turn.
	WebhookDone WebhookState = "done"
	// WebhookDead is a webhook whose receiver was abandoned.
	WebhookDead WebhookState = "dead"
)

// Webhook is a request to notify an external receiver of a turn's events. The webhook only stores
// how far the receiver has got in them.
type Webhook struct {
	// ID is unique within the turn.
	ID     string
	TurnID string
	// SessionID and Owner belong to the turn.
	SessionID string
	Owner     Owner
	// Surface names the protocol of the receiver. Data holds its address and credentials, opaque
	// to the store.
	Surface string
	Data    json.RawMessage
	State   WebhookState
	// Cursor is the seq of the latest event that no longer needs delivery.
	Cursor uint64
	// Attempts counts the failures since the last successful delivery, FailingSince is the time of
	// the first failure and LastError the latest error. They are zero without failures.
	Attempts     int
	FailingSince time.Time
	LastError    string
	// DueAt is the earliest time of the next attempt.
	DueAt time.Time

	// Worker serves the receiver until LeaseUntil. Fence grows with each claim, and when the
	// webhook is saved again. It starts with the microseconds of CreatedAt, so that fences differ
	// after deleting and recreating a webhook.
	Worker     string
	Fence      int64
	LeaseUntil time.Time

	CreatedAt, UpdatedAt time.Time
}

// NewWebhook describes a new webhook. Of the webhook it uses ID, TurnID, Surface, Data and
// CreatedAt.
type NewWebhook struct {
	Scope   Scope
	Webhook Webhook
	// FromStart sends all events of the turn. Otherwise the first event sent is the next one of a
	// live turn, or the end of an ended turn.
	FromStart bool
	// Limit is how many webhooks the turn may have; 0 means no limit.
	Limit int
}

// WebhookQuery selects a page of webhooks.
type WebhookQuery struct {
	Scope Scope
	// TurnID, Surface and State restrict the webhooks if set.
	TurnID  string
	Surface string
	State   WebhookState
	Page    Page
}

// WebhookPage is a page of webhooks.
type WebhookPage struct {
	Webhooks []*Webhook
	// Next is where the next page begins; empty if absent.
	Next string
}

// ClaimWebhooks requests webhooks to work on.
type ClaimWebhooks struct {
	Worker string
	// Lease is how long the worker owns the webhooks without a heartbeat.
	Lease time.Duration
	// Surfaces are the surfaces that the worker supports.
	Surfaces []string
	// TurnID restricts the claim to the webhooks of a turn, even if they have nothing to deliver
	// yet; empty does not restrict it.
	TurnID string
	// NotTenants are tenants whose webhooks are left to others because the worker has enough of
	// them.
	NotTenants []string
	// Limit is the maximum number to claim.
	Limit int
	Now   time.Time
}

// HeldWebhook is a webhook that a worker believes it owns.
type HeldWebhook struct {
	TurnID, ID string
	Fence      int64
}

// AdvanceWebhook is a change of a webhook by the worker that owns it.
type AdvanceWebhook struct {
	HeldWebhook
	// State, Cursor, Attempts, FailingSince, LastError and DueAt replace the webhook's fields.
	State        WebhookState
	Cursor       uint64
	Attempts     int
	FailingSince time.Time
	LastError    string
	DueAt        time.Time
	// Release ends the lease.
	Release bool
	Now     time.Time
}

// WebhookReader reads one webhook.
type WebhookReader interface {
	// Webhook returns a webhook. The error is ErrNotFound if the scope does not include it.
	Webhook(ctx context.Context, scope Scope, turnID, id string) (*Webhook, error)
}

// Webhooks is the part of a Store that keeps webhooks.
//
// A webhook is deleted with its session, or when its turn's events expire. An active webhook
// delays the pruning of both for up to WebhookHold.
type Webhooks interface {
	WebhookReader

	// SaveWebhook stores a webhook of a turn and activates it. It replaces a webhook with the
	// same id: its worker loses the webhook, and the new one continues after the events already
	// sent. The errors are ErrNotFound for the turn, and a *LimitError.
	SaveWebhook(ctx context.Context, n *NewWebhook) (*Webhook, error)
	// Webhooks returns a page of webhooks, newest first.
	Webhooks(ctx context.Context, q WebhookQuery) (WebhookPage, error)
	// DeleteWebhook deletes a webhook. The error is ErrNotFound if the scope does not include it.
	DeleteWebhook(ctx context.Context, scope Scope, turnID, id string) error
}

// WebhookWork is the part of a Store that callers of webhooks use.
type WebhookWork interface {
	WebhookReader

	// ClaimWebhooks makes the worker the owner of active webhooks that are due, have something to
	// deliver, and have no owner. Webhooks that have been due longest come first.
	ClaimWebhooks(ctx context.Context, c *ClaimWebhooks) ([]*Webhook, error)
	// HeartbeatWebhooks extends the leases of a worker's webhooks, and returns the webhooks that
	// the worker no longer owns.
	HeartbeatWebhooks(ctx context.Context, worker string, lease time.Duration, held []HeldWebhook) (lost []HeldWebhook, err error)
	// AdvanceWebhook updates a webhook. The error is a *FencedError if the worker no longer owns
	// it; this is also the only sign that it was deleted.
	AdvanceWebhook(ctx context.Context, a *AdvanceWebhook) error
}
