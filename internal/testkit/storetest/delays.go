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

// claimAt claims a turn after some time has passed.
func claimAt(f *fixture, id string, after time.Duration) (*store.Claimed, error) {
	c := f.claimOf(id)
	c.Now = f.now.Add(after)
	return f.Claim(f.Context(), c)
}

func aTurnThatIsNotDueIsQueuedForWhenItIs(f *fixture) {
	f.createSessions("s")
	f.createDelayed("s", "t", time.Hour)
	wantEqual(f, "the job", f.queue.Take(), []store.Job{{TurnID: "t", NotBefore: f.now.Add(time.Hour)}})
	wantAdmitted(f, "t", false)
	wantHeld(f, "t")
	wantError(f, try(claimAt(f, "t", time.Hour-time.Microsecond)).err, store.ErrHeld)
	claimed := try(claimAt(f, "t", time.Hour)).wantOK(f)
	wantEqual(f, "whether it is admitted", claimed.Turn.Admitted, true)
	wantAdmitted(f, "t", true)
	f.wantJobs()
}

func aTurnThatIsDueIsQueuedAtOnce(f *fixture) {
	f.createSessions("s1", "s2")
	f.createDelayed("s1", "t1", 0)
	f.createDelayed("s2", "t2", -time.Hour)
	for _, j := range f.queue.Take() {
		if j.NotBefore.After(f.now) {
			f.Fatalf("the job of %s is due at %v, want now", j.TurnID, j.NotBefore)
		}
	}
	f.claimTurn("t1")
	f.claimTurn("t2")
}

func aTurnThatIsNotDueHoldsBackNobody(f *fixture) {
	f.createSessions("s")
	f.createDelayed("s", "t1", time.Hour)
	f.queue.Take()
	f.createTurns("s", "t2", "t3")
	f.wantJobs("t2")
	f.finishTurn(f.claimTurn("t2"))
	f.wantJobs("t3")
	f.finishTurn(f.claimTurn("t3"))
	f.wantJobs()
	n := f.turnOf("s", "t4")
	n.Reject = true
	wantAs(f, try(f.CreateTurn(f.Context(), n)).err, &store.BusyError{SessionID: "s", TurnID: "t1"}) // it is live, though
}

func aTurnThatBecameDueWaitsForItsSession(f *fixture) {
	f.createSessions("s")
	f.createDelayed("s", "t1", time.Hour)
	f.createTurns("s", "t2")
	f.queue.Take()
	c := f.claimTurn("t2")
	wantError(f, try(claimAt(f, "t1", time.Hour)).err, store.ErrHeld)
	f.wantJobs()
	last := f.finishOf(c)
	last.Now = f.now.Add(2 * time.Hour)
	f.commitTurn(last)
	f.wantJobs("t1")
	try(claimAt(f, "t1", 2*time.Hour)).wantOK(f)
}

func aTurnThatBecameDueComesFirst(f *fixture) {
	f.createQueued("s", "t1")
	f.createDelayed("s", "t2", time.Hour)
	f.createTurns("s", "t3")
	f.queue.Take()
	last := f.finishOf(f.claimTurn("t1"))
	last.Now = f.now.Add(2 * time.Hour)
	f.commitTurn(last)
	f.wantJobs("t2")
	wantHeld(f, "t3")
}

func aTurnThatLostItsSessionIsQueuedAgain(f *fixture) {
	f.createSessions("s")
	f.createDelayed("s", "t1", time.Hour)
	f.createTurns("s", "t2") // it has a job
	f.queue.Take()
	c := try(claimAt(f, "t1", time.Hour)).wantOK(f)
	wantError(f, try(claimAt(f, "t2", time.Hour)).err, store.ErrHeld)
	f.wantJobs()
	last := f.finishOf(c)
	last.Now = f.now.Add(time.Hour)
	f.commitTurn(last)
	f.wantJobs("t2")
	try(claimAt(f, "t2", time.Hour)).wantOK(f)
}

func aTurnThatIsNotDueTakesNoRoom(f *fixture) {
	f.createSessions("s1", "s2")
	f.createDelayed("s1", "t1", time.Hour)
	f.queue.Take()
	f.createTurns("s2", "t2")
	f.wantJobs("t2")
}

func aTurnThatBecameDueWaitsForRoom(f *fixture) {
	f.createSessions("s1", "s2")
	f.createDelayed("s1", "t1", time.Hour)
	f.createTurns("s2", "t2")
	f.queue.Take()
	c := f.claimTurn("t2")
	wantError(f, try(claimAt(f, "t1", time.Hour)).err, store.ErrHeld)
	last := f.finishOf(c)
	last.Now = f.now.Add(time.Hour)
	f.commitTurn(last)
	f.wantJobs("t1")
}

func aTurnThatLostItsSessionGivesItsRoomBack(f *fixture) {
	f.createSessions("s1", "s2")
	f.createDelayed("s1", "t1", time.Hour)
	f.createTurns("s1", "t2")
	f.queue.Take()
	try(claimAt(f, "t1", time.Hour)).wantOK(f)
	f.createTurns("s2", "t3") // t1 and t2 fill the tenant's room
	f.wantJobs()
	wantError(f, try(claimAt(f, "t2", time.Hour)).err, store.ErrHeld)
	f.wantJobs("t3")
	try(claimAt(f, "t3", time.Hour)).wantOK(f)
}

func reapQueuesWhatBecameDue(f *fixture) {
	f.createSessions("s")
	f.createDelayed("s", "t", time.Hour)
	f.queue.Take()
	try(f.Reap(f.Context(), f.now)).wantOK(f)
	f.wantJobs()
	n := try(f.Reap(f.Context(), f.now.Add(time.Hour))).wantOK(f)
	wantEqual(f, "how many turns were taken from their workers", n, 0)
	f.wantJobs("t")
	wantAdmitted(f, "t", true)
}
