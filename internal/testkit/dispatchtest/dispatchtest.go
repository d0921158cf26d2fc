// Package dispatchtest provides the tests that every dispatch.Dispatcher and dispatch.Notifier must
// pass. An implementation runs them against itself.
package dispatchtest

import "testing"

// Run runs all tests of dispatchers.
func Run(t *testing.T, open Open) {
	for _, test := range []struct {
		name string
		run  func(t *testing.T, open Open)
	}{
		{"EachJobIsHandled", eachJobIsHandled},
		{"JobsFromManyGoroutinesAreHandled", jobsFromManyGoroutinesAreHandled},
		{"JobsFromBeforeStartAreHandled", jobsFromBeforeStartAreHandled},
		{"ABurstIsHandledWhole", aBurstIsHandledWhole},
		{"NoMoreHandlersThanAllowed", noMoreHandlersThanAllowed},
		{"ABlockedHandlerHoldsUpNoOther", aBlockedHandlerHoldsUpNoOther},
		{"ATurnQueuedWhileHandledIsHandledAgain", aTurnQueuedWhileHandledIsHandledAgain},
		{"ATurnThatQueuesItselfIsHandledAgain", aTurnThatQueuesItselfIsHandledAgain},
		{"ADelayedJobWaitsForItsTime", aDelayedJobWaitsForItsTime},
		{"DelayedJobsAreAllHandled", delayedJobsAreAllHandled},
		{"TheContextOfStartEndsNoHandler", theContextOfStartEndsNoHandler},
		{"DrainWaitsAndTakesNothingNew", drainWaitsAndTakesNothingNew},
		{"DrainOfNothingReturns", drainOfNothingReturns},
		{"StopEndsTheContextsAndWaits", stopEndsTheContextsAndWaits},
		{"StopEndsADrain", stopEndsADrain},
		{"StopIsSafeAtAnyTime", stopIsSafeAtAnyTime},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, open) })
	}
}
