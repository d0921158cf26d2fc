package storetest

import (
	"slices"
	"time"

	"github.com/agentruntime/agentruntime/store"
)

var leaseTests = []test{
	{name: "AHeartbeatProlongsALease", run: aHeartbeatProlongsALease},
	{name: "AHeartbeatTellsWhatIsLost", run: aHeartbeatTellsWhatIsLost},
	{name: "ATurnIsItsWorkersUntilTheLeaseEnds", run: aTurnIsItsWorkersUntilTheLeaseEnds},
	{name: "ALeaseGoesByTheClockOfTheStore", run: aLeaseGoesByTheClockOfTheStore},
	{name: "ALeaseThatEndedMakesTheTurnPending", run: aLeaseThatEndedMakesTheTurnPending},
	{name: "StrikesAdd", run: strikesAdd},
	{name: "ReapTakesOnlyWhatEnded", run: reapTakesOnlyWhatEnded},
	{name: "ATurnThatWasTakenKeepsItsSession", run: aTurnThatWasTakenKeepsItsSession},
	{name: "RecoverQueuesWhatIsAdmitted", run: recoverQueuesWhatIsAdmitted},
	{name: "RecoverTakesWhatIsDeadOrNothing", run: recoverTakesWhatIsDeadOrNothing},
}

// brief is a lease that expires while a test waits for it.
const brief = 30 * time.Millisecond

// lapseLease claims a turn and takes it from its worker after the lease expires. It returns the
// worker's claim.
func lapseLease(f *fixture, turn string) *store.Claimed {
	f.Helper()
	c := f.claimOf(turn)
	c.Lease, c.Now = brief, time.Now()
	claimed := try(f.Claim(f.Context(), c)).wantOK(f)
	reapTurns(f, 1)
	return claimed
}

// reapTurns takes n turns from their workers after their leases expire.
func reapTurns(f *fixture, n int) {
	f.Helper()
	taken := 0
	f.eventually("the leases end", func() bool {
		more := try(f.Reap(f.Context(), time.Now())).wantOK(f)
		taken += more
		return taken >= n
	})
	wantEqual(f, "how many turns were taken", taken, n)
}

func aHeartbeatProlongsALease(f *fixture) {
	f.createQueued("s", "t")
	c := f.claimOf("t")
	c.Lease = time.Minute
	claimed := try(f.Claim(f.Context(), c)).wantOK(f)
	lost := try(f.Heartbeat(f.Context(), worker, 10*time.Hour, []store.Held{{TurnID: "t", Fence: 1}})).wantOK(f)
	wantEqual(f, "what is lost", lost, nil)
	got := f.getTurn("t")
	if least := time.Now().Add(9 * time.Hour); got.LeaseUntil.Before(least) {
		f.Errorf("the lease ends at %v, want after %v", got.LeaseUntil, least)
	}
	if got.HeartbeatAt.Before(claimed.Turn.HeartbeatAt.Add(-time.Second)) {
		f.Errorf("the heartbeat was at %v, before the claim", got.HeartbeatAt)
	}
	wantEqual(f, "the fence", got.Fence, 1)
	lost = try(f.Heartbeat(f.Context(), worker, time.Hour, nil)).wantOK(f)
	wantEqual(f, "what is lost of nothing", lost, nil)
}

func aHeartbeatTellsWhatIsLost(f *fixture) {
	var held []store.Held
	hold := func(session, turn string) *store.Claimed {
		f.Helper()
		c := f.createRunning(session, turn)
		held = append(held, store.Held{TurnID: turn, Fence: c.Turn.Fence})
		return c
	}
	hold("s1", "kept")
	f.finishTurn(hold("s2", "finished"))
	hold("s3", "ended")
	f.endTurn("ended")
	f.suspendTurn(hold("s4", "waiting"), "q")
	hold("s5", "taken over")
	yield := &store.Commit{TurnID: "taken over", Fence: 1, Now: f.now, Yield: true}
	f.commitTurn(yield)
	f.claimTurn("taken over") // by the same worker, but later
	f.createQueued("s6", "others")
	other := f.claimOf("others")
	other.Worker = "worker-2"
	try(f.Claim(f.Context(), other)).wantOK(f)
	held = append(held, store.Held{TurnID: "others", Fence: 1}, store.Held{TurnID: "unknown", Fence: 1})

	until := f.getTurn("others").LeaseUntil
	lost := try(f.Heartbeat(f.Context(), worker, 10*time.Hour, held)).wantOK(f)
	slices.Sort(lost)
	wantEqual(f, "what is lost", lost, []string{"ended", "finished", "others", "taken over", "unknown", "waiting"})
	wantEqual(f, "the lease of another worker", f.getTurn("others").LeaseUntil, until)
	wantEqual(f, "the lease of a turn that waits", f.getTurn("waiting").LeaseUntil, time.Time{})
	if got := f.getTurn("kept").LeaseUntil; got.Before(time.Now().Add(9 * time.Hour)) {
		f.Errorf("the lease that was prolonged ends at %v", got)
	}
}

func aTurnIsItsWorkersUntilTheLeaseEnds(f *fixture) {
	c := f.createRunning("s", "t")
	n := try(f.Reap(f.Context(), time.Now())).wantOK(f)
	wantEqual(f, "how many turns were taken", n, 0)
	f.wantJobs()
	got := f.getTurn("t")
	wantEqual(f, "the turn", *got, c.Turn)
	f.finishTurn(c)
}

// The clocks of workers and of the reaper may be wrong.
func aLeaseGoesByTheClockOfTheStore(f *fixture) {
	f.createSessions("s1", "s2")
	f.createTurns("s1", "t1")
	f.createTurns("s2", "t2")
	f.queue.Take()
	slow := f.claimOf("t1")
	slow.Now = f.now.Add(-48 * time.Hour)
	try(f.Claim(f.Context(), slow)).wantOK(f)
	fast := f.claimOf("t2")
	fast.Now, fast.Lease = f.now.Add(48*time.Hour), brief
	try(f.Claim(f.Context(), fast)).wantOK(f)
	taken := 0
	f.eventually("the short lease ends", func() bool {
		n := try(f.Reap(f.Context(), f.now.Add(24*time.Hour))).wantOK(f)
		taken += n
		return taken > 0
	})
	wantEqual(f, "how many turns were taken", taken, 1)
	wantEqual(f, "the state of the one with a long lease", f.turnStatus("t1"), store.Running)
	wantEqual(f, "the state of the one with a short lease", f.turnStatus("t2"), store.Pending)
}

func aLeaseThatEndedMakesTheTurnPending(f *fixture) {
	f.createQueued("s", "t")
	f.wantJobs("t")
	c := f.claimOf("t")
	c.Lease, c.Now = brief, time.Now()
	claimed := try(f.Claim(f.Context(), c)).wantOK(f)
	add := f.commitOf(claimed)
	add.State, add.Messages = []byte("state"), textMessages("one")
	add.Events = append(add.Events, f.eventOf(&claimed.Turn, 1, `{}`))
	f.commitTurn(add)
	reapTurns(f, 1)
	f.wantJobs("t")
	got := f.getTurn("t")
	wantEqual(f, "the state", got.Status, store.Pending)
	wantEqual(f, "the worker", got.Worker, "")
	wantEqual(f, "the lease", got.LeaseUntil, time.Time{})
	wantEqual(f, "the strikes", got.Strikes, 1)
	wantEqual(f, "whether it is admitted", got.Admitted, true)
	wantEqual(f, "when it started", got.StartedAt, claimed.Turn.StartedAt)
	next := f.claimTurn("t")
	wantEqual(f, "the fence", next.Turn.Fence, claimed.Turn.Fence+1)
	wantEqual(f, "the strikes", next.Turn.Strikes, 1)
	wantEqual(f, "the state that was committed", string(next.State), "state")
	wantEqual(f, "the messages", next.Messages, textMessages("input of t", "one"))
	wantEqual(f, "the latest event", next.Turn.Seq, 1)
}

func strikesAdd(f *fixture) {
	f.createQueued("s", "t")
	for n := range 3 {
		lapseLease(f, "t")
		wantEqual(f, "the strikes", f.getTurn("t").Strikes, n+1)
	}
	wantEqual(f, "the fence", f.claimTurn("t").Turn.Fence, 4)
}

func reapTakesOnlyWhatEnded(f *fixture) {
	const n = 5
	f.createRunning("s", "alive")
	for _, id := range numberedNames("t", n) {
		f.createSessions("session-" + id)
		f.createTurns("session-"+id, id)
		c := f.claimOf(id)
		c.Lease, c.Now = brief, time.Now()
		try(f.Claim(f.Context(), c)).wantOK(f)
	}
	f.queue.Take()
	reapTurns(f, n)
	f.wantJobs(numberedNames("t", n)...)
	wantEqual(f, "the state of the other", f.turnStatus("alive"), store.Running)
	taken := try(f.Reap(f.Context(), time.Now())).wantOK(f)
	wantEqual(f, "how many turns were taken once more", taken, 0)
	f.wantJobs()
}

func aTurnThatWasTakenKeepsItsSession(f *fixture) {
	f.createQueued("s", "t1", "t2")
	lapseLease(f, "t1")
	f.wantJobs("t1", "t1")
	wantHeld(f, "t2")
	f.finishTurn(f.claimTurn("t1"))
	f.wantJobs("t2")
}

func recoverQueuesWhatIsAdmitted(f *fixture) {
	f.createSessions("s1", "s2", "s3", "s4", "s5")
	f.createTurns("s1", "queued", "held")
	f.createDelayed("s2", "delayed", time.Hour)
	f.suspendTurn(f.createStarted("s3", "waiting"), "q")
	f.suspendTurn(f.createStarted("s4", "answered"), "q")
	f.answerTurn("answered", "q", "yes")
	f.finishTurn(f.createStarted("s5", "finished"))
	f.queue.Take()
	n := try(f.Recover(f.Context(), f.now)).wantOK(f)
	wantEqual(f, "how many turns were taken", n, 0)
	due := make(map[string]time.Time)
	for _, j := range f.queue.Take() {
		due[j.TurnID] = j.NotBefore
	}
	wantEqual(f, "how many turns were queued", len(due), 3)
	wantEqual(f, "when the one that is not due is", due["delayed"], f.now.Add(time.Hour))
	for _, id := range []string{"queued", "answered"} {
		if at, there := due[id]; !there || at.After(f.now) {
			f.Errorf("turn %s is not queued for now: %v", id, due)
		}
	}
	wantAdmitted(f, "held", false)
	wantAdmitted(f, "delayed", false)
	f.claimTurn("queued")
	f.claimTurn("answered")
}

func recoverTakesWhatIsDeadOrNothing(f *fixture) {
	c := f.createRunning("s", "t")
	n := try(f.Recover(f.Context(), time.Now())).wantOK(f)
	switch n {
	case 0: // the worker may be another process
		f.wantJobs()
		f.finishTurn(c)
	case 1:
		f.wantJobs("t")
		wantEqual(f, "the state", f.turnStatus("t"), store.Pending)
		wantEqual(f, "the strikes", f.getTurn("t").Strikes, 1)
		f.wantFenced(f.commitOf(c))
		f.finishTurn(f.claimTurn("t"))
	default:
		f.Fatalf("%d turns were taken, and there is one", n)
	}
}
