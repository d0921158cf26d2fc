package storetest

import (
	"time"

	"github.com/agentruntime/agentruntime/store"
)

var admissionTests = []test{
	{name: "ATurnOfAFreeSessionIsQueuedAtOnce", run: aTurnOfAFreeSessionIsQueuedAtOnce},
	{name: "ATurnOfABusySessionIsHeldBack", run: aTurnOfABusySessionIsHeldBack},
	{name: "TurnsOfASessionAreAdmittedInOrder", run: turnsOfASessionAreAdmittedInOrder},
	{name: "EqualTimesKeepTheOrder", run: equalTimesKeepTheOrder},
	{name: "AWaitingTurnKeepsItsSession", run: aWaitingTurnKeepsItsSession},
	{name: "AnEndFromOutsideAdmitsTheNext", run: anEndFromOutsideAdmitsTheNext},
	{name: "ATurnThatEndsInTheQueueMakesNoJob", run: aTurnThatEndsInTheQueueMakesNoJob},
	{name: "AHeldTurnCannotBeClaimed", run: aHeldTurnCannotBeClaimed},
}

func (f *fixture) admitted(turn string, want bool) {
	f.Helper()
	equal(f, "whether "+turn+" is admitted", f.get(turn).Admitted, want)
}

// held wants a turn to be held back.
func (f *fixture) held(turn string) {
	f.Helper()
	_, err := f.Claim(f.Context(), f.claimOf(turn))
	is(f, err, store.ErrHeld)
	equal(f, "the state of "+turn, f.status(turn), store.Pending)
}

func aTurnOfAFreeSessionIsQueuedAtOnce(f *fixture) {
	f.session("s1", "s2")
	f.turn("s1", "t1")
	equal(f, "the job", f.queue.Take(), []store.Job{{TurnID: "t1"}})
	f.admitted("t1", true)
	f.turn("s2", "t2")
	f.jobs("t2")
}

func aTurnOfABusySessionIsHeldBack(f *fixture) {
	f.running("s", "t1")
	f.turn("s", "t2")
	f.jobs()
	f.admitted("t1", true)
	f.admitted("t2", false)
	equal(f, "its state", f.status("t2"), store.Pending)
}

func turnsOfASessionAreAdmittedInOrder(f *fixture) {
	f.session("s", "other")
	// The ids do not sort as the turns were made.
	order := []string{"d", "b", "c", "a"}
	for i, id := range order {
		n := f.turnOf("s", id)
		n.Turn.CreatedAt = f.now.Add(time.Duration(i) * time.Microsecond)
		f.create(n)
	}
	for i, id := range order {
		f.jobs(id)
		for _, later := range order[i+1:] {
			f.admitted(later, false)
		}
		f.finish(f.claim(id))
		f.admitted(id, false)
	}
	f.jobs()
}

func equalTimesKeepTheOrder(f *fixture) {
	f.session("s")
	order := []string{"z", "m", "a", "q"}
	f.turn("s", order...)
	for _, id := range order {
		f.jobs(id)
		f.finish(f.claim(id))
	}
}

func aWaitingTurnKeepsItsSession(f *fixture) {
	c := f.running("s", "t1")
	f.turn("s", "t2")
	f.suspend(c, "q")
	f.jobs()
	f.held("t2")
	f.answer("t1", "q", "yes")
	f.jobs("t1")
	f.held("t2")
	f.jobs()
	f.finish(f.claim("t1"))
	f.jobs("t2")
	f.claim("t2")
}

func anEndFromOutsideAdmitsTheNext(f *fixture) {
	f.session("s")
	f.turn("s", "t1", "t2", "t3", "t4")
	f.jobs("t1")
	f.end("t3") // one that is held
	f.jobs()
	f.end("t1") // one that is queued
	f.jobs("t2")
	f.claim("t2")
	f.end("t2") // one that runs
	f.jobs("t4")
}

func aTurnThatEndsInTheQueueMakesNoJob(f *fixture) {
	f.running("s", "t1")
	f.turn("s", "t2")
	f.end("t2")
	f.end("t1")
	f.jobs()
	_, err := f.Claim(f.Context(), f.claimOf("t2"))
	as(f, err, &store.StateError{Kind: "turn", ID: "t2", State: "canceled", Want: "claimed"})
}

func aHeldTurnCannotBeClaimed(f *fixture) {
	f.session("s")
	f.turn("s", "t1", "t2")
	f.jobs("t1")
	f.held("t2") // t1 was not even started
	f.jobs()
	f.claim("t1")
	f.held("t2")
	f.jobs()
}
