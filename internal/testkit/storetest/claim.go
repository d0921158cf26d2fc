package storetest

import (
	"encoding/json"
	"time"

	"github.com/agentruntime/agentruntime/store"
)

var claimTests = []test{
	{name: "AClaimMakesATurnTheWorkers", run: aClaimMakesATurnTheWorkers},
	{name: "EachClaimRaisesTheFence", run: eachClaimRaisesTheFence},
	{name: "OnlyAPendingTurnIsClaimed", run: onlyAPendingTurnIsClaimed},
	{name: "ATurnGoesOnFromTheTipOfItsFirstClaim", run: aTurnGoesOnFromTheTipOfItsFirstClaim},
	{name: "ATurnKeepsTheRevisionOfItsFirstClaim", run: aTurnKeepsTheRevisionOfItsFirstClaim},
	{name: "ATurnMayGoOnFromAnotherSnapshot", run: aTurnMayGoOnFromAnotherSnapshot},
	{name: "ATurnMayGoOnFromNothing", run: aTurnMayGoOnFromNothing},
	{name: "ATurnThatBeginsHasNothingButItsInput", run: aTurnThatBeginsHasNothingButItsInput},
	{name: "ATurnThatGoesOnHasAllItHad", run: aTurnThatGoesOnHasAllItHad},
}

func aClaimMakesATurnTheWorkers(f *fixture) {
	f.createQueued("s", "t")
	before := time.Now().Add(-time.Minute)
	claimed := f.claimTurn("t")
	after := time.Now().Add(time.Minute)
	got := claimed.Turn
	wantEqual(f, "what Claim returns", &got, f.getTurn("t"))
	if until := got.LeaseUntil.Add(-time.Hour); until.Before(before) || until.After(after) {
		f.Errorf("the lease ends at %v, want an hour from now", got.LeaseUntil)
	}
	if at := got.HeartbeatAt; at.Before(before) || at.After(after) {
		f.Errorf("the heartbeat was at %v, want now", at)
	}
	want := f.turnOf("s", "t").Turn
	want.Status, want.Worker, want.Fence, want.Admitted = store.Running, worker, 1, true
	want.StartedAt, want.UpdatedAt, want.ChangedAt = f.now, f.now, f.now
	want.LeaseUntil, want.HeartbeatAt = got.LeaseUntil, got.HeartbeatAt
	wantEqual(f, "the turn", got, want)
	session := claimed.Session
	wantEqual(f, "the session", &session, f.getSession("s"))
}

func eachClaimRaisesTheFence(f *fixture) {
	f.createQueued("s", "t")
	started := f.now
	for fence := int64(1); fence < 5; fence++ {
		f.now = f.now.Add(time.Second)
		claimed := f.claimTurn("t")
		wantEqual(f, "the fence", claimed.Turn.Fence, fence)
		wantEqual(f, "the fence that is kept", f.getTurn("t").Fence, fence)
		wantEqual(f, "when it started", claimed.Turn.StartedAt, started.Add(time.Second))
		f.yieldTurn(claimed)
		wantEqual(f, "the fence of a turn that was handed back", f.getTurn("t").Fence, fence)
	}
}

func onlyAPendingTurnIsClaimed(f *fixture) {
	refused := func(state store.Status) {
		f.Helper()
		before := f.getTurn("t")
		wantAs(f, try(f.Claim(f.Context(), f.claimOf("t"))).err, &store.StateError{Kind: "turn", ID: "t", State: string(state), Want: "claimed"})
		wantEqual(f, "the turn", f.getTurn("t"), before)
	}
	wantError(f, try(f.Claim(f.Context(), f.claimOf("t"))).err, store.ErrNotFound)
	c := f.createRunning("s", "t")
	refused(store.Running)
	f.suspendTurn(c, "q")
	refused(store.Waiting)
	f.answerTurn("t", "q", "yes")
	f.finishTurn(f.claimTurn("t"))
	refused(store.Succeeded)
}

func aTurnGoesOnFromTheTipOfItsFirstClaim(f *fixture) {
	c1 := f.createRunning("s", "t1")
	wantEqual(f, "what the first turn goes on from", c1.Turn.ParentSnapshotID, "")
	if c1.Snapshot != nil {
		f.Fatalf("the first turn goes on from %v", c1.Snapshot)
	}
	f.createTurns("s", "t2") // the session has no tip yet
	f.finishTurn(c1)
	c2 := f.claimTurn("t2")
	wantEqual(f, "what the second turn goes on from", c2.Turn.ParentSnapshotID, "snapshot-t1")
	wantEqual(f, "its snapshot", c2.Snapshot, f.snapshotOf(c1))
	wantEqual(f, "the turn", f.getTurn("t2").ParentSnapshotID, "snapshot-t1")
	f.suspendTurn(c2, "q")
	f.answerTurn("t2", "q", "yes")
	c2 = f.claimTurn("t2")
	wantEqual(f, "what it goes on from later", c2.Turn.ParentSnapshotID, "snapshot-t1")
	wantEqual(f, "its snapshot later", c2.Snapshot, f.snapshotOf(c1))
}

func aTurnMayGoOnFromAnotherSnapshot(f *fixture) {
	f.createSessions("s")
	f.createSucceeded("s", "t1")
	f.createSucceeded("s", "t2")
	n := f.turnOf("s", "t3")
	n.Turn.ParentSnapshotID = "snapshot-t1"
	f.createTurn(n)
	c := f.claimTurn("t3")
	wantEqual(f, "what it goes on from", c.Turn.ParentSnapshotID, "snapshot-t1")
	wantEqual(f, "the id of its snapshot", c.Snapshot.ID, "snapshot-t1")
	f.finishTurn(c)
	wantEqual(f, "the tip", f.getSession("s").Tip, "snapshot-t3")
	wantConversation(f, "snapshot-t3", "input of t1", "answer of t1", "input of t3", "answer of t3")
}

func aTurnMayGoOnFromNothing(f *fixture) {
	f.createSessions("s")
	f.createSucceeded("s", "t1")
	n := f.turnOf("s", "t2")
	n.Turn.FromStart = true
	f.createTurn(n)
	c := f.claimTurn("t2")
	wantEqual(f, "what it goes on from", c.Turn.ParentSnapshotID, "")
	if c.Snapshot != nil {
		f.Fatalf("the turn goes on from %v", c.Snapshot)
	}
	f.suspendTurn(c, "q")
	f.answerTurn("t2", "q", "yes")
	c = f.claimTurn("t2")
	wantEqual(f, "what it goes on from later", c.Turn.ParentSnapshotID, "")
	f.finishTurn(c)
	wantConversation(f, "snapshot-t2", "input of t2", "answer of t2")
}

func aTurnThatBeginsHasNothingButItsInput(f *fixture) {
	f.createSessions("s")
	n := f.turnOf("s", "t")
	n.Input = textMessages("one", "two", "three")
	f.createTurn(n)
	c := f.claimTurn("t")
	wantEqual(f, "its messages", c.Messages, n.Input)
	wantEqual(f, "its journal", c.Journal, nil)
	wantEqual(f, "its interactions", c.Interactions, nil)
	if c.State != nil {
		f.Errorf("the state of a turn that begins is %q, want nil", c.State)
	}
}

func aTurnThatGoesOnHasAllItHad(f *fixture) {
	c := f.createRunning("s", "t")
	first := f.commitOf(c)
	first.State, first.Steps = []byte("one"), 1
	first.Messages = textMessages("a", "b")
	first.Journal = []store.JournalRow{{Key: "z", Entry: json.RawMessage(`{"tool":"z"}`)}, {Key: "a", Entry: json.RawMessage(`{"tool":"a"}`)}}
	f.commitTurn(first)
	second := f.suspendOf(c, "q1", "q2")
	second.State, second.Steps = []byte("two"), 2
	second.Messages = textMessages("c")
	second.Journal = []store.JournalRow{{Key: "z", Entry: json.RawMessage(`{"tool":"z","done":true}`), Result: json.RawMessage(`"ok"`)}}
	second.Events = append(second.Events, f.eventOf(&c.Turn, 1, `{}`))
	f.commitTurn(second)
	f.answerTurn("t", "q2", "yes")

	c = f.claimTurn("t")
	wantEqual(f, "its state", string(c.State), "two")
	wantEqual(f, "its steps", c.Turn.Steps, 2)
	wantEqual(f, "its latest event", c.Turn.Seq, 1)
	wantEqual(f, "its messages", c.Messages, textMessages("input of t", "a", "b", "c"))
	wantEqual(f, "its journal", c.Journal, []store.JournalRow{
		{Key: "z", Entry: json.RawMessage(`{"tool":"z","done":true}`), Result: json.RawMessage(`"ok"`)},
		{Key: "a", Entry: json.RawMessage(`{"tool":"a"}`)},
	})
	answered := f.questionOf(&c.Turn, "q2")
	answered.State, answered.Answer, answered.AnsweredBy, answered.AnsweredAt = store.InteractionAnswered, json.RawMessage(`{"answer":"yes"}`), "ann", f.now
	wantEqual(f, "its interactions", c.Interactions, []*store.Interaction{f.questionOf(&c.Turn, "q1"), answered})
}

func aTurnKeepsTheRevisionOfItsFirstClaim(f *fixture) {
	f.createQueued("s", "t")
	wantEqual(f, "the revision before the first claim", f.getTurn("t").Revision, "")
	for _, current := range []string{"first", "second"} {
		c := f.claimOf("t")
		c.Revision = current
		claimed := try(f.Claim(f.Context(), c)).wantOK(f)
		wantEqual(f, "the revision that Claim returns", claimed.Turn.Revision, "first")
		wantEqual(f, "the revision that is kept", f.getTurn("t").Revision, "first")
		page := try(f.Turns(f.Context(), store.TurnQuery{Scope: store.Everything})).wantOK(f)
		wantEqual(f, "the revision in the list", page.Turns[0].Revision, "first")
		f.yieldTurn(claimed)
	}
}
