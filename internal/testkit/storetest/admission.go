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

func wantAdmitted(f *fixture, turn string, want bool) {
	f.Helper()
	wantEqual(f, "whether "+turn+" is admitted", f.getTurn(turn).Admitted, want)
}

// wantHeld checks that a turn is held back.
func wantHeld(f *fixture, turn string) {
	f.Helper()
	wantError(f, try(f.Claim(f.Context(), f.claimOf(turn))).err, store.ErrHeld)
	wantEqual(f, "the state of "+turn, f.turnStatus(turn), store.Pending)
}

func aTurnOfAFreeSessionIsQueuedAtOnce(f *fixture) {
	f.createSessions("s1", "s2")
	f.createTurns("s1", "t1")
	wantEqual(f, "the job", f.queue.Take(), []store.Job{{TurnID: "t1"}})
	wantAdmitted(f, "t1", true)
	f.createTurns("s2", "t2")
	f.wantJobs("t2")
}

func aTurnOfABusySessionIsHeldBack(f *fixture) {
	f.createRunning("s", "t1")
	f.createTurns("s", "t2")
	f.wantJobs()
	wantAdmitted(f, "t1", true)
	wantAdmitted(f, "t2", false)
	wantEqual(f, "its state", f.turnStatus("t2"), store.Pending)
}

func turnsOfASessionAreAdmittedInOrder(f *fixture) {
	f.createSessions("s", "other")
	// The order of the ids differs from the order of creation.
	order := []string{"d", "b", "c", "a"}
	for i, id := range order {
		n := f.turnOf("s", id)
		n.Turn.CreatedAt = f.now.Add(time.Duration(i) * time.Microsecond)
		f.createTurn(n)
	}
	for i, id := range order {
		f.wantJobs(id)
		for _, later := range order[i+1:] {
			wantAdmitted(f, later, false)
		}
		f.finishTurn(f.claimTurn(id))
		wantAdmitted(f, id, false)
	}
	f.wantJobs()
}

func equalTimesKeepTheOrder(f *fixture) {
	f.createSessions("s")
	order := []string{"z", "m", "a", "q"}
	f.createTurns("s", order...)
	for _, id := range order {
		f.wantJobs(id)
		f.finishTurn(f.claimTurn(id))
	}
}

func aWaitingTurnKeepsItsSession(f *fixture) {
	c := f.createRunning("s", "t1")
	f.createTurns("s", "t2")
	f.suspendTurn(c, "q")
	f.wantJobs()
	wantHeld(f, "t2")
	f.answerTurn("t1", "q", "yes")
	f.wantJobs("t1")
	wantHeld(f, "t2")
	f.wantJobs()
	f.finishTurn(f.claimTurn("t1"))
	f.wantJobs("t2")
	f.claimTurn("t2")
}

func anEndFromOutsideAdmitsTheNext(f *fixture) {
	f.createQueued("s", "t1", "t2", "t3", "t4")
	f.wantJobs("t1")
	f.endTurn("t3") // held
	f.wantJobs()
	f.endTurn("t1") // queued
	f.wantJobs("t2")
	f.claimTurn("t2")
	f.endTurn("t2") // running
	f.wantJobs("t4")
}

func aTurnThatEndsInTheQueueMakesNoJob(f *fixture) {
	f.createRunning("s", "t1")
	f.createTurns("s", "t2")
	f.endTurn("t2")
	f.endTurn("t1")
	f.wantJobs()
	wantAs(f, try(f.Claim(f.Context(), f.claimOf("t2"))).err, &store.StateError{Kind: "turn", ID: "t2", State: "canceled", Want: "claimed"})
}

func aHeldTurnCannotBeClaimed(f *fixture) {
	f.createQueued("s", "t1", "t2")
	f.wantJobs("t1")
	wantHeld(f, "t2") // t1 has not even started
	f.wantJobs()
	f.claimTurn("t1")
	wantHeld(f, "t2")
	f.wantJobs()
}
