package storetest

import (
	"errors"
	"fmt"
	"time"

	"github.com/agentruntime/agentruntime/store"
)

var startTests = []test{
	{name: "AStartedTurnIsTheWorkersFromTheStart", run: aStartedTurnIsTheWorkersFromTheStart},
	{name: "AStartedTurnGoesOnFromTheTip", run: aStartedTurnGoesOnFromTheTip},
	{name: "AStartedTurnMayGoOnFromNothing", run: aStartedTurnMayGoOnFromNothing},
	{name: "ATurnThatHasToWaitIsNotStarted", run: aTurnThatHasToWaitIsNotStarted},
	{name: "ATurnWithoutRoomIsNotStarted", run: aTurnWithoutRoomIsNotStarted, settings: store.Settings{TenantTurns: 1}},
	{name: "ARepeatedStartClaimsNothing", run: aRepeatedStartClaimsNothing},
	{name: "ARefusedStartLeavesNothing", run: aRefusedStartLeavesNothing},
	{name: "TurnsThatAreStartedTogetherDoNotMix", run: turnsThatAreStartedTogetherDoNotMix},
	{name: "AStartedTurnIsTakenWhenItsLeaseEnds", run: aStartedTurnIsTakenWhenItsLeaseEnds},
}

// starterOf returns the store as a Starter, and skips the test if the store is not one.
func starterOf(f *fixture) store.Starter {
	f.Helper()
	s, ok := f.Store.(store.Starter)
	if !ok {
		f.Skip("the store claims no turns when they are made")
	}
	return s
}

// startTurn creates a turn and claims it in the same step.
func startTurn(f *fixture, n *store.NewTurn) *store.Claimed {
	f.Helper()
	claim := f.claimOf(n.Turn.ID)
	claim.Revision = "revision"
	made, claimed, err := starterOf(f).StartTurn(f.Context(), n, claim)
	wantOK(f, err)
	if claimed == nil {
		f.Fatalf("turn %s is not claimed", n.Turn.ID)
	}
	wantEqual(f, "the turn that is made", made, f.getTurn(n.Turn.ID))
	wantEqual(f, "the turn that is claimed", &claimed.Turn, made)
	wantEqual(f, "its session", &claimed.Session, f.getSession(n.Turn.SessionID))
	return claimed
}

// wantUnstarted creates a turn with a claim, and checks that it is only created.
func wantUnstarted(f *fixture, n *store.NewTurn, admitted bool) {
	f.Helper()
	made, claimed, err := starterOf(f).StartTurn(f.Context(), n, f.claimOf(n.Turn.ID))
	wantOK(f, err)
	if claimed != nil {
		f.Fatalf("turn %s is claimed", n.Turn.ID)
	}
	wantEqual(f, "the turn that is made", made, f.getTurn(n.Turn.ID))
	wantEqual(f, "its status", made.Status, store.Pending)
	wantEqual(f, "whether it is admitted", made.Admitted, admitted)
}

func aStartedTurnIsTheWorkersFromTheStart(f *fixture) {
	f.createSessions("s")
	before := time.Now().Add(-time.Minute)
	n := f.turnOf("s", "t")
	c := startTurn(f, n)
	after := time.Now().Add(time.Minute)
	if until := c.Turn.LeaseUntil.Add(-time.Hour); until.Before(before) || until.After(after) {
		f.Errorf("the lease ends at %v, want an hour from now", c.Turn.LeaseUntil)
	}
	want := n.Turn
	want.Status, want.Worker, want.Fence, want.Admitted = store.Running, worker, 1, true
	want.StartedAt, want.UpdatedAt, want.ChangedAt = f.now, f.now, f.now
	want.LeaseUntil, want.HeartbeatAt = c.Turn.LeaseUntil, c.Turn.HeartbeatAt
	want.Revision = "revision"
	wantEqual(f, "the turn", c.Turn, want)
	wantEqual(f, "its messages", c.Messages, n.Input)
	f.wantJobs() // no other worker looks for it
	wantAs(f, try(f.Claim(f.Context(), f.claimOf("t"))).err, &store.StateError{Kind: "turn", ID: "t", State: string(store.Running), Want: "claimed"})
	f.finishTurn(c)
	wantEqual(f, "the tip", f.getSession("s").Tip, "snapshot-t")
	wantConversation(f, "snapshot-t", "input of t", "answer of t")
}

func aStartedTurnGoesOnFromTheTip(f *fixture) {
	f.createSessions("s")
	starterOf(f)
	f.createSucceeded("s", "t1")
	c := startTurn(f, f.turnOf("s", "t2"))
	wantEqual(f, "what it goes on from", c.Turn.ParentSnapshotID, "snapshot-t1")
	wantEqual(f, "the id of its snapshot", c.Snapshot.ID, "snapshot-t1")
	f.finishTurn(c)
	n := f.turnOf("s", "t3")
	n.Turn.ParentSnapshotID = "snapshot-t1"
	wantEqual(f, "the id of a snapshot that is named", startTurn(f, n).Snapshot.ID, "snapshot-t1")
}

func aStartedTurnMayGoOnFromNothing(f *fixture) {
	f.createSessions("s")
	starterOf(f)
	f.createSucceeded("s", "t1")
	n := f.turnOf("s", "t2")
	n.Turn.FromStart = true
	c := startTurn(f, n)
	wantEqual(f, "what it goes on from", c.Turn.ParentSnapshotID, "")
	if c.Snapshot != nil {
		f.Fatalf("the turn goes on from %v", c.Snapshot)
	}
}

func aTurnThatHasToWaitIsNotStarted(f *fixture) {
	f.createSessions("s", "other")
	c := startTurn(f, f.turnOf("s", "t1"))
	wantUnstarted(f, f.turnOf("s", "t2"), false)
	f.wantJobs()
	f.finishTurn(c)
	f.wantJobs("t2")
	late := f.turnOf("other", "t3")
	late.Turn.NotBefore = f.now.Add(time.Hour)
	wantUnstarted(f, late, false)
	f.wantJobs("t3")
}

func aTurnWithoutRoomIsNotStarted(f *fixture) {
	f.createSessions("s", "other")
	c := startTurn(f, f.turnOf("s", "t1"))
	wantUnstarted(f, f.turnOf("other", "t2"), false)
	f.finishTurn(c)
	f.wantJobs("t2")
}

func aRepeatedStartClaimsNothing(f *fixture) {
	f.createSessions("s")
	n := f.turnOf("s", "t")
	n.Key = store.Key{Value: "key", Hash: []byte("hash")}
	c := startTurn(f, n)
	again := f.turnOf("s", "another")
	again.Key = n.Key
	made, claimed, err := starterOf(f).StartTurn(f.Context(), again, f.claimOf("another"))
	wantOK(f, err)
	wantEqual(f, "the turn that was made before", made, f.getTurn("t"))
	if claimed != nil {
		f.Fatal("it is claimed again")
	}
	f.wantJobs()
	f.finishTurn(c)
}

func aRefusedStartLeavesNothing(f *fixture) {
	f.createSessions("s", "other")
	startTurn(f, f.turnOf("s", "t"))
	_, _, err := starterOf(f).StartTurn(f.Context(), f.turnOf("other", "t"), f.claimOf("t"))
	wantAs(f, err, &store.ExistsError{Kind: "turn", ID: "t"})
	_, _, err = starterOf(f).StartTurn(f.Context(), f.turnOf("missing", "t2"), f.claimOf("t2"))
	wantError(f, err, store.ErrNotFound)
	n := f.turnOf("s", "t3")
	n.Reject = true
	_, _, err = starterOf(f).StartTurn(f.Context(), n, f.claimOf("t3"))
	wantAs(f, err, &store.BusyError{SessionID: "s", TurnID: "t"})
	f.wantJobs()
	startTurn(f, f.turnOf("other", "t4"))
}

func aStartedTurnIsTakenWhenItsLeaseEnds(f *fixture) {
	f.createSessions("s")
	c := f.claimOf("t")
	c.Lease, c.Now = brief, time.Now()
	_, claimed, err := starterOf(f).StartTurn(f.Context(), f.turnOf("s", "t"), c)
	wantOK(f, err)
	reapTurns(f, 1)
	f.wantJobs("t")
	got := f.getTurn("t")
	wantEqual(f, "its status", got.Status, store.Pending)
	wantEqual(f, "its strikes", got.Strikes, 1)
	f.wantFenced(f.finishOf(claimed))
	wantEqual(f, "its messages", f.claimTurn("t").Messages, f.turnOf("s", "t").Input)
}

// Two turns for each session, and some for missing sessions, all concurrently.
func turnsThatAreStartedTogetherDoNotMix(f *fixture) {
	const sessions, missing = 30, 5
	s := starterOf(f)
	for i := range sessions {
		f.createSessions(fmt.Sprint("s", i))
		if i%3 == 0 {
			f.createSucceeded(fmt.Sprint("s", i), fmt.Sprint("before", i))
		}
	}
	f.queue.Take()
	made, started := make([]*store.Turn, 2*sessions+missing), make([]*store.Claimed, 2*sessions+missing)
	runTogether(f, 2*sessions+missing, func(i int) error {
		n := f.turnOf(fmt.Sprint("s", i/2), fmt.Sprint("t", i))
		var err error
		made[i], started[i], err = s.StartTurn(f.Context(), n, f.claimOf(n.Turn.ID))
		if i >= 2*sessions && errors.Is(err, store.ErrNotFound) {
			return nil
		}
		return err
	})
	f.wantJobs()
	var claimed []*store.Claimed
	for i := range 2 * sessions {
		id, session := fmt.Sprint("t", i), fmt.Sprint("s", i/2)
		got, c := f.getTurn(id), started[i]
		wantEqual(f, "the turn that is made", made[i], got)
		wantEqual(f, "the session of "+id, got.SessionID, session)
		if c == nil {
			wantEqual(f, "whether "+id+" is admitted", got.Admitted, false)
			continue
		}
		claimed = append(claimed, c)
		wantEqual(f, "the messages of "+id, c.Messages, f.turnOf(session, id).Input)
		wantEqual(f, "the turn "+id, *got, c.Turn)
		wantEqual(f, "the session", &c.Session, f.getSession(session))
		if i/2%3 == 0 {
			wantEqual(f, "what it goes on from", c.Snapshot.ID, fmt.Sprint("snapshot-before", i/2))
		}
	}
	wantEqual(f, "how many turns are claimed", len(claimed), sessions)
	for _, c := range claimed {
		f.finishTurn(c)
		jobs := f.queue.Take()
		if len(jobs) != 1 || f.getTurn(jobs[0].TurnID).SessionID != c.Turn.SessionID {
			f.Errorf("the end of %s queued %v", c.Turn.ID, jobs)
		}
	}
}
