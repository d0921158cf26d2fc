// Package dispatch defines how turns reach workers: a Dispatcher decides which turn runs and when,
// and a Notifier announces changes of turns. Neither holds state that the store lacks. Losing or
// duplicating a job is harmless because the claim in the store decides, and polling makes up for
// missed notifications.
package dispatch

import (
	"context"

	"github.com/agentruntime/agentruntime/store"
)

// Handler works on one turn and returns when the turn needs no worker any more: it has ended, is
// waiting, was handed back, or could not be claimed. It does not panic. Stop cancels its context.
type Handler func(ctx context.Context, turnID string)

// Dispatcher calls workers. It is a store.Queue to which a store submits jobs.
type Dispatcher interface {
	store.Queue
	// Start starts calling the handler for due jobs, each in a new goroutine, up to the
	// dispatcher's concurrency limit, and returns. Jobs queued before Start are not lost. Start is
	// called once. The contexts of the handlers carry the values of ctx but are not canceled with
	// it.
	Start(ctx context.Context, work Handler) error
	// Drain stops taking jobs and returns when the running handlers have returned or ctx ends.
	Drain(ctx context.Context) error
	// Stop cancels the contexts of the handlers and waits for them. It may be called without Start,
	// and more than once.
	Stop()
}

// Hinter is implemented by dispatchers that take a while to find a job. A hinted job may be handled
// twice, which is harmless.
type Hinter interface {
	// Hint reports that a job for a turn was queued and committed by this process,
	// which may handle it at once. It does not wait.
	Hint(turnID string)
}

// Reserver is implemented by dispatchers that let their process start a turn that it stores,
// without a job.
type Reserver interface {
	// Reserve reserves the place of a handler, if one is free, for a turn that has no job. The
	// place is held until exactly one method of the Place is called. It does not wait.
	Reserve() (p Place, ok bool)
}

// Place is the reserved place of a handler.
type Place interface {
	// Run calls work for a turn in a new goroutine, like a handler. Drain and Stop wait for it.
	Run(turnID string, work func(ctx context.Context))
	// Release gives the place back.
	Release()
}

// Notifier notifies every process that uses a store of changed turns: a turn has new events, or was
// ended. A store that only one process uses needs no Notifier.
type Notifier interface {
	// Notify announces a change of a turn. It never blocks; several notifications for one
	// turn within a few milliseconds may be merged.
	Notify(turnID string)
	// Listen calls heard with the ids of changed turns, also from other processes, in one
	// goroutine until ctx ends. After an interruption in which notifications may have been
	// lost, it calls heard without ids. It returns the reason for its end.
	Listen(ctx context.Context, heard func(turnIDs []string)) error
}
