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

// brief is a lease that ends while a test waits for that.
const brief = 30 * time.Millisecond

// lapse claims a turn and takes it from its worker when the lease has ended. It
// returns what the worker was given.
func (f *fixture) lapse(turn string) *store.Claimed {
	f.Helper()
	c := f.claimOf(turn)
	c.Lease, c.Now = brief, time.Now()
	claimed, err := f.Claim(f.Context(), c)
	ok(f, err)
	f.reap(1)
	return claimed
}

// reap takes n turns from their workers when their leases have ended.
func (f *fixture) reap(n int) {
	f.Helper()
	taken := 0
	f.eventually("the leases end", func() bool {
		more, err := f.Reap(f.Context(), time.Now())
		ok(f, err)
		taken += more
		return taken >= n
	})
	equal(f, "how many turns were taken", taken, n)
}

func aHeartbeatProlongsALease(f *fixture) {
	f.session("s")
	f.turn("s", "t")
	c := f.claimOf("t")
	c.Lease = time.Minute
	claimed, err := f.Claim(f.Context(), c)
	ok(f, err)
	lost, err := f.Heartbeat(f.Context(), worker, 10*time.Hour, []store.Held{{TurnID: "t", Fence: 1}})
	ok(f, err)
	equal(f, "what is lost", lost, nil)
	got := f.get("t")
	if least := time.Now().Add(9 * time.Hour); got.LeaseUntil.Before(least) {
		f.Errorf("the lease ends at %v, want after %v", got.LeaseUntil, least)
	}
	if got.HeartbeatAt.Before(claimed.Turn.HeartbeatAt.Add(-time.Second)) {
		f.Errorf("the heartbeat was at %v, before the claim", got.HeartbeatAt)
	}
	equal(f, "the fence", got.Fence, 1)
	lost, err = f.Heartbeat(f.Context(), worker, time.Hour, nil)
	ok(f, err)
	equal(f, "what is lost of nothing", lost, nil)
}

func aHeartbeatTellsWhatIsLost(f *fixture) {
	var held []store.Held
	hold := func(session, turn string) *store.Claimed {
		f.Helper()
		c := f.running(session, turn)
		held = append(held, store.Held{TurnID: turn, Fence: c.Turn.Fence})
		return c
	}
	hold("s1", "kept")
	f.finish(hold("s2", "finished"))
	hold("s3", "ended")
	f.end("ended")
	f.suspend(hold("s4", "waiting"), "q")
	hold("s5", "taken over")
	yield := &store.Commit{TurnID: "taken over", Fence: 1, Now: f.now, Yield: true}
	f.commit(yield)
	f.claim("taken over") // by the same worker, but later
	f.session("s6")
	f.turn("s6", "others")
	other := f.claimOf("others")
	other.Worker = "worker-2"
	_, err := f.Claim(f.Context(), other)
	ok(f, err)
	held = append(held, store.Held{TurnID: "others", Fence: 1}, store.Held{TurnID: "unknown", Fence: 1})

	until := f.get("others").LeaseUntil
	lost, err := f.Heartbeat(f.Context(), worker, 10*time.Hour, held)
	ok(f, err)
	slices.Sort(lost)
	equal(f, "what is lost", lost, []string{"ended", "finished", "others", "taken over", "unknown", "waiting"})
	equal(f, "the lease of another worker", f.get("others").LeaseUntil, until)
	equal(f, "the lease of a turn that waits", f.get("waiting").LeaseUntil, time.Time{})
	if got := f.get("kept").LeaseUntil; got.Before(time.Now().Add(9 * time.Hour)) {
		f.Errorf("the lease that was prolonged ends at %v", got)
	}
}

func aTurnIsItsWorkersUntilTheLeaseEnds(f *fixture) {
	c := f.running("s", "t")
	n, err := f.Reap(f.Context(), time.Now())
	ok(f, err)
	equal(f, "how many turns were taken", n, 0)
	f.jobs()
	got := f.get("t")
	equal(f, "the turn", *got, c.Turn)
	f.finish(c)
}

// The clocks of workers, and of who reaps, may be wrong.
func aLeaseGoesByTheClockOfTheStore(f *fixture) {
	f.session("s1", "s2")
	f.turn("s1", "t1")
	f.turn("s2", "t2")
	f.queue.Take()
	slow := f.claimOf("t1")
	slow.Now = f.now.Add(-48 * time.Hour)
	_, err := f.Claim(f.Context(), slow)
	ok(f, err)
	fast := f.claimOf("t2")
	fast.Now, fast.Lease = f.now.Add(48*time.Hour), brief
	_, err = f.Claim(f.Context(), fast)
	ok(f, err)
	taken := 0
	f.eventually("the short lease ends", func() bool {
		n, err := f.Reap(f.Context(), f.now.Add(24*time.Hour))
		ok(f, err)
		taken += n
		return taken > 0
	})
	equal(f, "how many turns were taken", taken, 1)
	equal(f, "the state of the one with a long lease", f.status("t1"), store.Running)
	equal(f, "the state of the one with a short lease", f.status("t2"), store.Pending)
}

func aLeaseThatEndedMakesTheTurnPending(f *fixture) {
	f.session("s")
	f.turn("s", "t")
	f.jobs("t")
	c := f.claimOf("t")
	c.Lease, c.Now = brief, time.Now()
	claimed, err := f.Claim(f.Context(), c)
	ok(f, err)
	add := f.commitOf(claimed)
	add.State, add.Messages = []byte("state"), messages("one")
	add.Events = append(add.Events, f.eventOf(&claimed.Turn, 1, `{}`))
	f.commit(add)
	f.reap(1)
	f.jobs("t")
	got := f.get("t")
	equal(f, "the state", got.Status, store.Pending)
	equal(f, "the worker", got.Worker, "")
	equal(f, "the lease", got.LeaseUntil, time.Time{})
	equal(f, "the strikes", got.Strikes, 1)
	equal(f, "whether it is admitted", got.Admitted, true)
	equal(f, "when it started", got.StartedAt, claimed.Turn.StartedAt)
	next := f.claim("t")
	equal(f, "the fence", next.Turn.Fence, claimed.Turn.Fence+1)
	equal(f, "the strikes", next.Turn.Strikes, 1)
	equal(f, "the state that was committed", string(next.State), "state")
	equal(f, "the messages", next.Messages, messages("input of t", "one"))
	equal(f, "the latest event", next.Turn.Seq, 1)
}

func strikesAdd(f *fixture) {
	f.session("s")
	f.turn("s", "t")
	for n := range 3 {
		f.lapse("t")
		equal(f, "the strikes", f.get("t").Strikes, n+1)
	}
	equal(f, "the fence", f.claim("t").Turn.Fence, 4)
}

func reapTakesOnlyWhatEnded(f *fixture) {
	const n = 5
	f.running("s", "alive")
	for _, id := range numbered("t", n) {
		f.session("session-" + id)
		f.turn("session-"+id, id)
		c := f.claimOf(id)
		c.Lease, c.Now = brief, time.Now()
		_, err := f.Claim(f.Context(), c)
		ok(f, err)
	}
	f.queue.Take()
	f.reap(n)
	f.jobs(numbered("t", n)...)
	equal(f, "the state of the other", f.status("alive"), store.Running)
	taken, err := f.Reap(f.Context(), time.Now())
	ok(f, err)
	equal(f, "how many turns were taken once more", taken, 0)
	f.jobs()
}

func aTurnThatWasTakenKeepsItsSession(f *fixture) {
	f.session("s")
	f.turn("s", "t1", "t2")
	f.lapse("t1")
	f.jobs("t1", "t1")
	f.held("t2")
	f.finish(f.claim("t1"))
	f.jobs("t2")
}

func recoverQueuesWhatIsAdmitted(f *fixture) {
	f.session("s1", "s2", "s3", "s4", "s5")
	f.turn("s1", "queued", "held")
	f.delayed("s2", "delayed", time.Hour)
	f.suspend(f.started("s3", "waiting"), "q")
	f.suspend(f.started("s4", "answered"), "q")
	f.answer("answered", "q", "yes")
	f.finish(f.started("s5", "finished"))
	f.queue.Take()
	n, err := f.Recover(f.Context(), f.now)
	ok(f, err)
	equal(f, "how many turns were taken", n, 0)
	due := make(map[string]time.Time)
	for _, j := range f.queue.Take() {
		due[j.TurnID] = j.NotBefore
	}
	equal(f, "how many turns were queued", len(due), 3)
	equal(f, "when the one that is not due is", due["delayed"], f.now.Add(time.Hour))
	for _, id := range []string{"queued", "answered"} {
		if at, there := due[id]; !there || at.After(f.now) {
			f.Errorf("turn %s is not queued for now: %v", id, due)
		}
	}
	f.admitted("held", false)
	f.admitted("delayed", false)
	f.claim("queued")
	f.claim("answered")
}

func recoverTakesWhatIsDeadOrNothing(f *fixture) {
	c := f.running("s", "t")
	n, err := f.Recover(f.Context(), time.Now())
	ok(f, err)
	switch n {
	case 0: // the worker may be another process
		f.jobs()
		f.finish(c)
	case 1:
		f.jobs("t")
		equal(f, "the state", f.status("t"), store.Pending)
		equal(f, "the strikes", f.get("t").Strikes, 1)
		f.fenced(f.commitOf(c))
		f.finish(f.claim("t"))
	default:
		f.Fatalf("%d turns were taken, and there is one", n)
	}
}
