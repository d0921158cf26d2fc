package storetest

import (
	"time"

	"github.com/agentruntime/agentruntime/store"
)

var delayTests = []test{
	{name: "ATurnThatIsNotDueIsQueuedForWhenItIs", run: aTurnThatIsNotDueIsQueuedForWhenItIs},
	{name: "ATurnThatIsDueIsQueuedAtOnce", run: aTurnThatIsDueIsQueuedAtOnce},
	{name: "ATurnThatIsNotDueHoldsBackNobody", run: aTurnThatIsNotDueHoldsBackNobody},
	{name: "ATurnThatBecameDueWaitsForItsSession", run: aTurnThatBecameDueWaitsForItsSession},
	{name: "ATurnThatBecameDueComesFirst", run: aTurnThatBecameDueComesFirst},
	{name: "ATurnThatLostItsSessionIsQueuedAgain", run: aTurnThatLostItsSessionIsQueuedAgain},
	{name: "ATurnThatIsNotDueTakesNoRoom", settings: one, run: aTurnThatIsNotDueTakesNoRoom},
	{name: "ATurnThatBecameDueWaitsForRoom", settings: one, run: aTurnThatBecameDueWaitsForRoom},
	{name: "ATurnThatLostItsSessionGivesItsRoomBack", settings: two, run: aTurnThatLostItsSessionGivesItsRoomBack},
	{name: "ReapQueuesWhatBecameDue", run: reapQueuesWhatBecameDue},
}

// delayed makes a turn that is due after a time.
func (f *fixture) delayed(session, id string, after time.Duration) {
	f.Helper()
	n := f.turnOf(session, id)
	n.Turn.NotBefore = f.now.Add(after)
	f.create(n)
}

// claimAt claims a turn when some time has passed.
func (f *fixture) claimAt(id string, after time.Duration) (*store.Claimed, error) {
	c := f.claimOf(id)
	c.Now = f.now.Add(after)
	return f.Claim(f.Context(), c)
}

func aTurnThatIsNotDueIsQueuedForWhenItIs(f *fixture) {
	f.session("s")
	f.delayed("s", "t", time.Hour)
	equal(f, "the job", f.queue.Take(), []store.Job{{TurnID: "t", NotBefore: f.now.Add(time.Hour)}})
	f.admitted("t", false)
	f.held("t")
	_, err := f.claimAt("t", time.Hour-time.Microsecond)
	is(f, err, store.ErrHeld)
	claimed, err := f.claimAt("t", time.Hour)
	ok(f, err)
	equal(f, "whether it is admitted", claimed.Turn.Admitted, true)
	f.admitted("t", true)
	f.jobs()
}

func aTurnThatIsDueIsQueuedAtOnce(f *fixture) {
	f.session("s1", "s2")
	f.delayed("s1", "t1", 0)
	f.delayed("s2", "t2", -time.Hour)
	for _, j := range f.queue.Take() {
		if j.NotBefore.After(f.now) {
			f.Fatalf("the job of %s is due at %v, want now", j.TurnID, j.NotBefore)
		}
	}
	f.claim("t1")
	f.claim("t2")
}

func aTurnThatIsNotDueHoldsBackNobody(f *fixture) {
	f.session("s")
	f.delayed("s", "t1", time.Hour)
	f.queue.Take()
	f.turn("s", "t2", "t3")
	f.jobs("t2")
	f.finish(f.claim("t2"))
	f.jobs("t3")
	f.finish(f.claim("t3"))
	f.jobs()
	n := f.turnOf("s", "t4")
	n.Reject = true
	_, err := f.CreateTurn(f.Context(), n)
	as(f, err, &store.BusyError{SessionID: "s", TurnID: "t1"}) // it is live, though
}

func aTurnThatBecameDueWaitsForItsSession(f *fixture) {
	f.session("s")
	f.delayed("s", "t1", time.Hour)
	f.turn("s", "t2")
	f.queue.Take()
	c := f.claim("t2")
	_, err := f.claimAt("t1", time.Hour)
	is(f, err, store.ErrHeld)
	f.jobs()
	last := f.finishOf(c)
	last.Now = f.now.Add(2 * time.Hour)
	f.commit(last)
	f.jobs("t1")
	_, err = f.claimAt("t1", 2*time.Hour)
	ok(f, err)
}

func aTurnThatBecameDueComesFirst(f *fixture) {
	f.session("s")
	f.turn("s", "t1")
	f.delayed("s", "t2", time.Hour)
	f.turn("s", "t3")
	f.queue.Take()
	last := f.finishOf(f.claim("t1"))
	last.Now = f.now.Add(2 * time.Hour)
	f.commit(last)
	f.jobs("t2")
	f.held("t3")
}

func aTurnThatLostItsSessionIsQueuedAgain(f *fixture) {
	f.session("s")
	f.delayed("s", "t1", time.Hour)
	f.turn("s", "t2") // it has a job
	f.queue.Take()
	c, err := f.claimAt("t1", time.Hour)
	ok(f, err)
	_, err = f.claimAt("t2", time.Hour)
	is(f, err, store.ErrHeld)
	f.jobs()
	last := f.finishOf(c)
	last.Now = f.now.Add(time.Hour)
	f.commit(last)
	f.jobs("t2")
	_, err = f.claimAt("t2", time.Hour)
	ok(f, err)
}

func aTurnThatIsNotDueTakesNoRoom(f *fixture) {
	f.session("s1", "s2")
	f.delayed("s1", "t1", time.Hour)
	f.queue.Take()
	f.turn("s2", "t2")
	f.jobs("t2")
}

func aTurnThatBecameDueWaitsForRoom(f *fixture) {
	f.session("s1", "s2")
	f.delayed("s1", "t1", time.Hour)
	f.turn("s2", "t2")
	f.queue.Take()
	c := f.claim("t2")
	_, err := f.claimAt("t1", time.Hour)
	is(f, err, store.ErrHeld)
	last := f.finishOf(c)
	last.Now = f.now.Add(time.Hour)
	f.commit(last)
	f.jobs("t1")
}

func aTurnThatLostItsSessionGivesItsRoomBack(f *fixture) {
	f.session("s1", "s2")
	f.delayed("s1", "t1", time.Hour)
	f.turn("s1", "t2")
	f.queue.Take()
	_, err := f.claimAt("t1", time.Hour)
	ok(f, err)
	f.turn("s2", "t3") // t1 and t2 have the tenant's room
	f.jobs()
	_, err = f.claimAt("t2", time.Hour)
	is(f, err, store.ErrHeld)
	f.jobs("t3")
	_, err = f.claimAt("t3", time.Hour)
	ok(f, err)
}

func reapQueuesWhatBecameDue(f *fixture) {
	f.session("s")
	f.delayed("s", "t", time.Hour)
	f.queue.Take()
	_, err := f.Reap(f.Context(), f.now)
	ok(f, err)
	f.jobs()
	n, err := f.Reap(f.Context(), f.now.Add(time.Hour))
	ok(f, err)
	equal(f, "how many turns were taken from their workers", n, 0)
	f.jobs("t")
	f.admitted("t", true)
}
