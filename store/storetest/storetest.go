// Package storetest holds what every store has to do: one suite, which each
// implementation runs.
package storetest

import (
	"slices"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/store"
)

// test is one thing that a store has to do.
type test struct {
	name     string
	settings store.Settings
	run      func(f *fixture)
}

// fixture is an empty store with what a test needs around it.
type fixture struct {
	*testing.T
	store.Store
	queue *Queue
	// now is when everything happens, unless a test says otherwise.
	now time.Time
}

// Run holds a store to its contract. open returns an empty store, and sees to it
// that it is closed when its test has ended.
func Run(t *testing.T, open func(t *testing.T, s store.Settings) store.Store) {
	t.Helper()
	for _, c := range slices.Concat(sessionTests, turnTests, keyTests, listTests, admissionTests, delayTests, tenantTests) {
		t.Run(c.name, func(t *testing.T) {
			f := &fixture{T: t, Store: open(t, c.settings), queue: new(Queue), now: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)}
			f.Attach(f.queue)
			c.run(f)
		})
	}
}

// jobs wants these turns to have been queued since it was asked last, in this
// order.
func (f *fixture) jobs(want ...string) {
	f.Helper()
	var got []string
	for _, j := range f.queue.Take() {
		got = append(got, j.TurnID)
	}
	equal(f, "the turns that were queued", got, want)
}
