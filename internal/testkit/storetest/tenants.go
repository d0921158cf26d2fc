package storetest

import (
	"fmt"
	"sync"

	"github.com/agentruntime/agentruntime/store"
)

var (
	one = store.Settings{TenantTurns: 1}
	two = store.Settings{TenantTurns: 2}
)

var tenantTests = []test{
	{name: "ATenantHasALimit", settings: two, run: aTenantHasALimit},
	{name: "EachTenantHasItsOwn", settings: one, run: eachTenantHasItsOwn},
	{name: "SubjectsOfATenantShareIt", settings: one, run: subjectsOfATenantShareIt},
	{name: "ATurnHeldByItsSessionTakesNoRoom", settings: two, run: aTurnHeldByItsSessionTakesNoRoom},
	{name: "AnEndFromOutsideMakesRoom", settings: one, run: anEndFromOutsideMakesRoom},
	{name: "AWaitingTurnMakesRoom", settings: one, run: aWaitingTurnMakesRoom},
	{name: "AnAnsweredTurnWaitsForRoom", settings: one, run: anAnsweredTurnWaitsForRoom},
	{name: "TheOldestIsAdmittedFirst", settings: one, run: theOldestIsAdmittedFirst},
	{name: "AYieldKeepsTheRoom", settings: one, run: aYieldKeepsTheRoom},
	{name: "AReapedTurnKeepsTheRoom", settings: one, run: aReapedTurnKeepsTheRoom},
	{name: "TheLimitHoldsForManyAtOnce", settings: two, run: theLimitHoldsForManyAtOnce},
}

// turnFor creates a session with a turn for an owner.
func turnFor(f *fixture, o store.Owner, session, id string) {
	f.Helper()
	f.sessionFor(o, session)
	n := f.turnOf(session, id)
	n.Turn.Owner = o
	f.createTurn(n)
}

func aTenantHasALimit(f *fixture) {
	f.createSessions("s1", "s2", "s3", "s4")
	f.createTurns("s1", "t1")
	f.createTurns("s2", "t2")
	f.createTurns("s3", "t3")
	f.createTurns("s4", "t4")
	f.wantJobs("t1", "t2")
	wantHeld(f, "t3")
	c1, c2 := f.claimTurn("t1"), f.claimTurn("t2")
	wantHeld(f, "t3")
	f.wantJobs()
	f.finishTurn(c2)
	f.wantJobs("t3")
	wantHeld(f, "t4")
	f.finishTurn(c1)
	f.wantJobs("t4")
}

func eachTenantHasItsOwn(f *fixture) {
	turnFor(f, ann, "s1", "t1")
	turnFor(f, eve, "s2", "t2")
	turnFor(f, eve, "s3", "t3")
	f.wantJobs("t1", "t2")
	f.finishTurn(f.claimTurn("t1"))
	f.wantJobs()
	f.finishTurn(f.claimTurn("t2"))
	f.wantJobs("t3")
}

func subjectsOfATenantShareIt(f *fixture) {
	turnFor(f, ann, "s1", "t1")
	turnFor(f, bob, "s2", "t2")
	f.wantJobs("t1")
	f.finishTurn(f.claimTurn("t1"))
	f.wantJobs("t2")
}

func aTurnHeldByItsSessionTakesNoRoom(f *fixture) {
	f.createSessions("s1", "s2")
	f.createTurns("s1", "t1", "t2", "t3")
	f.createTurns("s2", "t4")
	f.wantJobs("t1", "t4")
	f.finishTurn(f.claimTurn("t4")) // there is room, but no turn for it
	f.wantJobs()
	f.finishTurn(f.claimTurn("t1"))
	f.wantJobs("t2")
}

func anEndFromOutsideMakesRoom(f *fixture) {
	turnFor(f, ann, "s1", "t1")
	turnFor(f, ann, "s2", "t2")
	turnFor(f, ann, "s3", "t3")
	f.wantJobs("t1")
	f.endTurn("t1")
	f.wantJobs("t2")
	f.claimTurn("t2")
	f.endTurn("t2")
	f.wantJobs("t3")
}

func aWaitingTurnMakesRoom(f *fixture) {
	f.createSessions("s1", "s2")
	f.createTurns("s1", "t1", "t2")
	f.createTurns("s2", "t3")
	f.wantJobs("t1")
	f.suspendTurn(f.claimTurn("t1"), "q")
	f.wantJobs("t3") // and not t2, whose session it keeps
	wantAdmitted(f, "t1", false)
}

func anAnsweredTurnWaitsForRoom(f *fixture) {
	f.createSessions("s1", "s2")
	f.createTurns("s1", "t1")
	f.createTurns("s2", "t2")
	f.suspendTurn(f.claimTurn("t1"), "q")
	c := f.claimTurn("t2")
	f.wantJobs("t1", "t2")
	f.answerTurn("t1", "q", "yes")
	wantEqual(f, "the state", f.turnStatus("t1"), store.Pending)
	f.wantJobs()
	wantHeld(f, "t1")
	f.finishTurn(c)
	f.wantJobs("t1")
	f.claimTurn("t1")
}

func theOldestIsAdmittedFirst(f *fixture) {
	f.createSessions("z", "m", "a", "q")
	order := []string{"z", "m", "a", "q"}
	for _, session := range order {
		f.createTurns(session, "turn-"+session)
	}
	for _, session := range order {
		f.wantJobs("turn-" + session)
		f.finishTurn(f.claimTurn("turn-" + session))
	}
}

func aYieldKeepsTheRoom(f *fixture) {
	f.createSessions("s1", "s2")
	f.createTurns("s1", "t1")
	f.createTurns("s2", "t2")
	f.wantJobs("t1")
	f.yieldTurn(f.claimTurn("t1"))
	f.wantJobs("t1")
	wantHeld(f, "t2")
	f.claimTurn("t1")
}

func aReapedTurnKeepsTheRoom(f *fixture) {
	f.createSessions("s1", "s2")
	f.createTurns("s1", "t1")
	f.createTurns("s2", "t2")
	f.wantJobs("t1")
	lapseLease(f, "t1")
	f.wantJobs("t1")
	wantHeld(f, "t2")
	f.finishTurn(f.claimTurn("t1"))
	f.wantJobs("t2")
}

func theLimitHoldsForManyAtOnce(f *fixture) {
	const n = 12
	for i := range n {
		f.createSessions(fmt.Sprint("s", i))
	}
	var wait sync.WaitGroup
	for i := range n {
		wait.Go(func() {
			if _, err := f.CreateTurn(f.Context(), f.turnOf(fmt.Sprint("s", i), fmt.Sprint("t", i))); err != nil {
				f.Error(err)
			}
		})
	}
	wait.Wait()
	done := 0
	for jobs := f.queue.Take(); len(jobs) > 0; jobs = f.queue.Take() {
		wantEqual(f, "how many turns are admitted", len(jobs), min(2, n-done))
		for _, j := range jobs {
			wait.Go(func() {
				claimed, err := f.Claim(f.Context(), f.claimOf(j.TurnID))
				if err == nil {
					err = f.Commit(f.Context(), f.finishOf(claimed))
				}
				if err != nil {
					f.Error(err)
				}
			})
		}
		wait.Wait()
		done += len(jobs)
		if f.Failed() {
			return
		}
	}
	wantEqual(f, "how many turns ran", done, n)
}
