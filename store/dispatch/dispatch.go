// Package dispatch defines how turns reach workers: a Dispatcher decides which turn
// is run and when, and a Bell announces changes of turns. Neither stores anything
// that the store does not have: losing or doubling a job is harmless, because the
// claim in the store decides, and a missed bell is made up for by polling.
package dispatch

import (
	"context"

	"github.com/agentruntime/agentruntime/store"
)

// Handler works on one turn and returns when that turn needs no worker any more:
// it has ended, waits, was handed back, or could not be claimed. It does not
// panic. Its context ends when the dispatcher is stopped the hard way.
type Handler func(ctx context.Context, turnID string)

// Dispatcher calls workers. It is a store.Queue: a store tells it of jobs.
type Dispatcher interface {
	store.Queue
	// Start begins to call the handler for jobs that are due, each on a goroutine
	// of its own, at most as many at the same time as the dispatcher was made
	// for. It returns once that has begun. Jobs that were queued before Start
	// are not lost. Start is called once. The contexts of the handlers carry the
	// values of ctx, and do not end with it.
	Start(ctx context.Context, work Handler) error
	// Drain stops taking jobs and returns when the handlers that are under way
	// have returned, or ctx ends.
	Drain(ctx context.Context) error
	// Stop ends the contexts of the handlers and waits for them. It may be called
	// without Start, and more than once.
	Stop()
}

// Hinter is implemented by dispatchers that take a while to find a job. A job may be
// handled twice then, which is harmless.
type Hinter interface {
	// Hint reports that a job for a turn was queued and committed by this process,
	// which may handle it at once. It does not wait.
	Hint(turnID string)
}

// Reserver is implemented by dispatchers that let their process begin with a turn that it
// stores itself, without a job.
type Reserver interface {
	// Reserve takes the place of a handler, if one is free for a turn that has no job.
	// The place is held until exactly one method of the Place was called. It does not
	// wait.
	Reserve() (p Place, ok bool)
}

// Place is the place of a handler that was reserved.
type Place interface {
	// Run calls work for a turn as a handler is called, on a goroutine of its own.
	// Drain and Stop wait for it.
	Run(turnID string, work func(ctx context.Context))
	// Release gives the place back.
	Release()
}

// Bell tells every process that uses a store that something happened to a turn:
// it has new events, or was ended. A store that one process has for itself needs
// none.
type Bell interface {
	// Ring announces a change of a turn. It never blocks; several rings for one
	// turn within a few milliseconds may be merged.
	Ring(turnID string)
	// Listen calls heard with the ids of turns that were rung for, also in other
	// processes, from one goroutine, until ctx ends. After an interruption in which
	// rings may have been lost it calls heard with no ids. It returns why it ended.
	Listen(ctx context.Context, heard func(turnIDs []string)) error
}
