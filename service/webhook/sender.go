// Package webhook delivers the events of turns to external receivers: each webhook belongs to one
// process at a time, which sends its events in order and retries until the receiver accepts them or
// the retries are exhausted.
package webhook

import (
	"context"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/store"
)

// Sender notifies the receivers of one surface about turns. It must be safe for concurrent use, but
// each webhook is used by one goroutine, in the order of the events.
type Sender interface {
	// Tells reports whether receivers want an event. It is called for each event of
	// a turn with a webhook, and must not block.
	Tells(record *event.Record) bool
	// Send delivers an event for which Tells is true, and returns once the receiver has accepted
	// it. After any error the event is sent again later, with the same ID; a *DeliveryError says
	// more. The context ends when the process stops or loses the webhook; the sender limits how
	// long a receiver may take.
	Send(ctx context.Context, d *Delivery) error
}

// Delivery is an event for a receiver.
type Delivery struct {
	// ID is the same for every attempt to send the event to the receiver.
	ID     string
	Hook   *store.Webhook
	Record *event.Record
	// Attempt counts the attempts to reach the receiver since it last accepted an event, from 1.
	Attempt int
}

// DeliveryError says why a delivery failed, and what to do about it. Its text is stored with the
// webhook for its owner to read, so it must not contain secrets.
type DeliveryError struct {
	Cause error
	// Final drops the receiver.
	Final bool
	// RetryAfter is the delay that the receiver requests.
	RetryAfter time.Duration
}

// Error returns the text of the cause.
func (e *DeliveryError) Error() string { return e.Cause.Error() }

// Unwrap returns the cause.
func (e *DeliveryError) Unwrap() error { return e.Cause }
