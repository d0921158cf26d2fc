// Package webhook delivers the events of turns to receivers outside: each webhook
// belongs to one process at a time, which sends its events in order and retries
// until the receiver accepts them or the retries are exhausted.
package webhook

import (
	"context"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/store"
)

// Sender tells receivers of one surface what happens to turns. It is used
// by many goroutines at once, but by one for each webhook, in the order of the
// events.
type Sender interface {
	// Tells reports whether receivers want an event. It is called for each event of
	// a turn with a webhook, and must not block.
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

// DeliveryError reports why a delivery failed, and what to do about it. Its text is
// stored with the webhook, for its owner to read: it contains no secrets.
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
