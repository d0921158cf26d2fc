package store

import (
	"context"
	"encoding/json"
	"time"
)

// WebhookHold is how much longer than the retention says the events and the
// session of a turn are kept for a receiver that does not know all of it yet. It
// is long enough to give that up before, if there is anybody who tries.
const WebhookHold = 48 * time.Hour

// WebhookState is whether a webhook still has events to deliver.
type WebhookState string

// The states of a webhook. It stays in the last two until it is saved anew.
const (
	// WebhookActive means that the turn is live, or its receiver has not received all events yet.
	WebhookActive WebhookState = "active"
	// WebhookDone is one whose receiver was told of the end of the turn.
	WebhookDone WebhookState = "done"
	// WebhookDead is one whose receiver was given up.
	WebhookDead WebhookState = "dead"
)

// Webhook is a request to tell somebody outside what happens to a turn. The
// events of the turn are what there is to tell: the webhook only keeps how far
// the receiver knows them.
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
	// Cursor is the seq of the latest event that needs not be told any more.
	Cursor uint64
	// Attempts counts the failures since the receiver took something in last,
	// FailingSince is when the first of them was and LastError the error of the
	// latest. They are zero without failures.
	Attempts     int
	FailingSince time.Time
	LastError    string
	// DueAt is before when nobody is to try.
	DueAt time.Time

	// Worker serves the receiver until LeaseUntil. Fence grows with each claim, and when the
	// webhook is saved again. It starts with the microseconds of CreatedAt, so that fences differ
	// after deleting and recreating a webhook.
	Worker     string
	Fence      int64
	LeaseUntil time.Time

	CreatedAt, UpdatedAt time.Time
}

// NewWebhook asks for a webhook. Of the webhook it takes ID, TurnID, Surface,
// Data and CreatedAt.
type NewWebhook struct {
	Scope   Scope
	Webhook Webhook
	// FromStart sends all events of the turn. Otherwise the first event sent is the next one of a
	// live turn, or the end of an ended turn.
	FromStart bool
	// Limit is how many webhooks the turn may have; 0 is any number.
	Limit int
}

// WebhookQuery asks for a page of webhooks.
type WebhookQuery struct {
	Scope Scope
	// TurnID, Surface and State restrict the webhooks where they are set.
	TurnID  string
	Surface string
	State   WebhookState
	Page    Page
}

// WebhookPage is a page of webhooks.
type WebhookPage struct {
	Webhooks []*Webhook
	// Next is where the next page begins, or empty if none.
	Next string
}

// ClaimWebhooks asks for webhooks to work on.
type ClaimWebhooks struct {
	Worker string
	// Lease is how long they are the worker's without a heartbeat.
	Lease time.Duration
	// Surfaces are those that the worker can speak.
	Surfaces []string
	// TurnID restricts the claim to the webhooks of a turn, whether there is
	// something to tell already or not; empty does not.
	TurnID string
	// NotTenants are those whose webhooks are left to others: the worker has
	// enough of them.
	NotTenants []string
	// Limit is how many it can take.
	Limit int
	Now   time.Time
}

// HeldWebhook is a webhook that a worker believes to own.
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
	// Webhooks returns a page of webhooks, the newest first.
	Webhooks(ctx context.Context, q WebhookQuery) (WebhookPage, error)
	// DeleteWebhook deletes a webhook. The error is ErrNotFound if the scope does not include it.
	DeleteWebhook(ctx context.Context, scope Scope, turnID, id string) error
}

// WebhookWork is the part of a Store that those who call webhooks use.
type WebhookWork interface {
	WebhookReader

	// ClaimWebhooks makes the worker the owner of active webhooks that are due, of
	// which there is something to tell, and which nobody owns: those that are due
	// for the longest come first.
	ClaimWebhooks(ctx context.Context, c *ClaimWebhooks) ([]*Webhook, error)
	// HeartbeatWebhooks prolongs the leases of a worker's webhooks, and returns
	// those that the worker does not own any more.
	HeartbeatWebhooks(ctx context.Context, worker string, lease time.Duration, held []HeldWebhook) (lost []HeldWebhook, err error)
	// AdvanceWebhook updates a webhook. The error is a *FencedError if the worker no longer owns
	// it; this is also the only sign that it was deleted.
	AdvanceWebhook(ctx context.Context, a *AdvanceWebhook) error
}
