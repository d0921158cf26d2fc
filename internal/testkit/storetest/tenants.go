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

// turnFor makes a session with a turn for an owner.
func (f *fixture) turnFor(o store.Owner, session, id string) {
	f.Helper()
	f.sessionFor(o, session)
	n := f.turnOf(session, id)
	n.Turn.Owner = o
	f.create(n)
}

func aTenantHasALimit(f *fixture) {
	f.session("s1", "s2", "s3", "s4")
	f.turn("s1", "t1")
	f.turn("s2", "t2")
	f.turn("s3", "t3")
	f.turn("s4", "t4")
	f.jobs("t1", "t2")
	f.held("t3")
	c1, c2 := f.claim("t1"), f.claim("t2")
	f.held("t3")
	f.jobs()
	f.finish(c2)
	f.jobs("t3")
	f.held("t4")
	f.finish(c1)
	f.jobs("t4")
}

func eachTenantHasItsOwn(f *fixture) {
	f.turnFor(ann, "s1", "t1")
	f.turnFor(eve, "s2", "t2")
	f.turnFor(eve, "s3", "t3")
	f.jobs("t1", "t2")
	f.finish(f.claim("t1"))
	f.jobs()
	f.finish(f.claim("t2"))
	f.jobs("t3")
}

func subjectsOfATenantShareIt(f *fixture) {
	f.turnFor(ann, "s1", "t1")
	f.turnFor(bob, "s2", "t2")
	f.jobs("t1")
	f.finish(f.claim("t1"))
	f.jobs("t2")
}

func aTurnHeldByItsSessionTakesNoRoom(f *fixture) {
	f.session("s1", "s2")
	f.turn("s1", "t1", "t2", "t3")
	f.turn("s2", "t4")
	f.jobs("t1", "t4")
	f.finish(f.claim("t4")) // there is room, but no turn for it
	f.jobs()
	f.finish(f.claim("t1"))
	f.jobs("t2")
}

func anEndFromOutsideMakesRoom(f *fixture) {
	f.turnFor(ann, "s1", "t1")
	f.turnFor(ann, "s2", "t2")
	f.turnFor(ann, "s3", "t3")
	f.jobs("t1")
	f.end("t1")
	f.jobs("t2")
	f.claim("t2")
	f.end("t2")
	f.jobs("t3")
}

func aWaitingTurnMakesRoom(f *fixture) {
	f.session("s1", "s2")
	f.turn("s1", "t1", "t2")
	f.turn("s2", "t3")
	f.jobs("t1")
	f.suspend(f.claim("t1"), "q")
	f.jobs("t3") // and not t2, whose session it keeps
	f.admitted("t1", false)
}

func anAnsweredTurnWaitsForRoom(f *fixture) {
	f.session("s1", "s2")
	f.turn("s1", "t1")
	f.turn("s2", "t2")
	f.suspend(f.claim("t1"), "q")
	c := f.claim("t2")
	f.jobs("t1", "t2")
	f.answer("t1", "q", "yes")
	equal(f, "the state", f.status("t1"), store.Pending)
	f.jobs()
	f.held("t1")
	f.finish(c)
	f.jobs("t1")
	f.claim("t1")
}

func theOldestIsAdmittedFirst(f *fixture) {
	f.session("z", "m", "a", "q")
	order := []string{"z", "m", "a", "q"}
	for _, session := range order {
		f.turn(session, "turn-"+session)
	}
	for _, session := range order {
		f.jobs("turn-" + session)
		f.finish(f.claim("turn-" + session))
	}
}

func aYieldKeepsTheRoom(f *fixture) {
	f.session("s1", "s2")
	f.turn("s1", "t1")
	f.turn("s2", "t2")
	f.jobs("t1")
	yield := f.commitOf(f.claim("t1"))
	yield.Yield = true
	f.commit(yield)
	f.jobs("t1")
	f.held("t2")
	f.claim("t1")
}

func aReapedTurnKeepsTheRoom(f *fixture) {
	f.session("s1", "s2")
	f.turn("s1", "t1")
	f.turn("s2", "t2")
	f.jobs("t1")
	f.lapse("t1")
	f.jobs("t1")
	f.held("t2")
	f.finish(f.claim("t1"))
	f.jobs("t2")
}

func theLimitHoldsForManyAtOnce(f *fixture) {
	const n = 12
	for i := range n {
		f.session(fmt.Sprint("s", i))
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
		equal(f, "how many turns are admitted", len(jobs), min(2, n-done))
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
	equal(f, "how many turns ran", done, n)
}
