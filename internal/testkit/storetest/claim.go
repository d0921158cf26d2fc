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
	{name: "ATurnMayGoOnFromAnotherSnapshot", run: aTurnMayGoOnFromAnotherSnapshot},
	{name: "ATurnMayGoOnFromNothing", run: aTurnMayGoOnFromNothing},
	{name: "ATurnThatBeginsHasNothingButItsInput", run: aTurnThatBeginsHasNothingButItsInput},
	{name: "ATurnThatGoesOnHasAllItHad", run: aTurnThatGoesOnHasAllItHad},
}

func aClaimMakesATurnTheWorkers(f *fixture) {
	f.session("s")
	f.turn("s", "t")
	before := time.Now().Add(-time.Minute)
	claimed := f.claim("t")
	after := time.Now().Add(time.Minute)
	got := claimed.Turn
	equal(f, "what Claim returns", &got, f.get("t"))
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
	equal(f, "the turn", got, want)
	session := claimed.Session
	equal(f, "the session", &session, f.getSession("s"))
}

func eachClaimRaisesTheFence(f *fixture) {
	f.session("s")
	f.turn("s", "t")
	started := f.now
	for fence := int64(1); fence < 5; fence++ {
		f.now = f.now.Add(time.Second)
		claimed := f.claim("t")
		equal(f, "the fence", claimed.Turn.Fence, fence)
		equal(f, "the fence that is kept", f.get("t").Fence, fence)
		equal(f, "when it started", claimed.Turn.StartedAt, started.Add(time.Second))
		yield := f.commitOf(claimed)
		yield.Yield = true
		f.commit(yield)
		equal(f, "the fence of a turn that was handed back", f.get("t").Fence, fence)
	}
}

func onlyAPendingTurnIsClaimed(f *fixture) {
	refused := func(state store.Status) {
		f.Helper()
		before := f.get("t")
		_, err := f.Claim(f.Context(), f.claimOf("t"))
		as(f, err, &store.StateError{Kind: "turn", ID: "t", State: string(state), Want: "claimed"})
		equal(f, "the turn", f.get("t"), before)
	}
	_, err := f.Claim(f.Context(), f.claimOf("t"))
	is(f, err, store.ErrNotFound)
	c := f.running("s", "t")
	refused(store.Running)
	f.suspend(c, "q")
	refused(store.Waiting)
	f.answer("t", "q", "yes")
	f.finish(f.claim("t"))
	refused(store.Succeeded)
}

func aTurnGoesOnFromTheTipOfItsFirstClaim(f *fixture) {
	c1 := f.running("s", "t1")
	equal(f, "what the first turn goes on from", c1.Turn.ParentSnapshotID, "")
	if c1.Snapshot != nil {
		f.Fatalf("the first turn goes on from %v", c1.Snapshot)
	}
	f.turn("s", "t2") // there is no tip yet
	f.finish(c1)
	c2 := f.claim("t2")
	equal(f, "what the second turn goes on from", c2.Turn.ParentSnapshotID, "snapshot-t1")
	equal(f, "its snapshot", c2.Snapshot, f.snapshotOf(c1))
	equal(f, "the turn", f.get("t2").ParentSnapshotID, "snapshot-t1")
	f.suspend(c2, "q")
	f.answer("t2", "q", "yes")
	c2 = f.claim("t2")
	equal(f, "what it goes on from later", c2.Turn.ParentSnapshotID, "snapshot-t1")
	equal(f, "its snapshot later", c2.Snapshot, f.snapshotOf(c1))
}

func aTurnMayGoOnFromAnotherSnapshot(f *fixture) {
	f.session("s")
	f.succeed("s", "t1")
	f.succeed("s", "t2")
	n := f.turnOf("s", "t3")
	n.Turn.ParentSnapshotID = "snapshot-t1"
	f.create(n)
	c := f.claim("t3")
	equal(f, "what it goes on from", c.Turn.ParentSnapshotID, "snapshot-t1")
	equal(f, "the id of its snapshot", c.Snapshot.ID, "snapshot-t1")
	f.finish(c)
	equal(f, "the tip", f.getSession("s").Tip, "snapshot-t3")
	all, err := f.Conversation(f.Context(), "snapshot-t3")
	ok(f, err)
	equal(f, "the conversation", all, messages("input of t1", "answer of t1", "input of t3", "answer of t3"))
}

func aTurnMayGoOnFromNothing(f *fixture) {
	f.session("s")
	f.succeed("s", "t1")
	n := f.turnOf("s", "t2")
	n.Turn.FromStart = true
	f.create(n)
	c := f.claim("t2")
	equal(f, "what it goes on from", c.Turn.ParentSnapshotID, "")
	if c.Snapshot != nil {
		f.Fatalf("the turn goes on from %v", c.Snapshot)
	}
	f.suspend(c, "q")
	f.answer("t2", "q", "yes")
	c = f.claim("t2")
	equal(f, "what it goes on from later", c.Turn.ParentSnapshotID, "")
	f.finish(c)
	all, err := f.Conversation(f.Context(), "snapshot-t2")
	ok(f, err)
	equal(f, "the conversation", all, messages("input of t2", "answer of t2"))
}

func aTurnThatBeginsHasNothingButItsInput(f *fixture) {
	f.session("s")
	n := f.turnOf("s", "t")
	n.Input = messages("one", "two", "three")
	f.create(n)
	c := f.claim("t")
	equal(f, "its messages", c.Messages, n.Input)
	equal(f, "its journal", c.Journal, nil)
	equal(f, "its interactions", c.Interactions, nil)
	if c.State != nil {
		f.Errorf("the state of a turn that begins is %q, want nil", c.State)
	}
}

func aTurnThatGoesOnHasAllItHad(f *fixture) {
	c := f.running("s", "t")
	first := f.commitOf(c)
	first.State, first.Steps = []byte("one"), 1
	first.Messages = messages("a", "b")
	first.Journal = []store.JournalRow{{Key: "z", Entry: json.RawMessage(`{"tool":"z"}`)}, {Key: "a", Entry: json.RawMessage(`{"tool":"a"}`)}}
	f.commit(first)
	second := f.suspendOf(c, "q1", "q2")
	second.State, second.Steps = []byte("two"), 2
	second.Messages = messages("c")
	second.Journal = []store.JournalRow{{Key: "z", Entry: json.RawMessage(`{"tool":"z","done":true}`), Result: json.RawMessage(`"ok"`)}}
	second.Events = append(second.Events, f.eventOf(&c.Turn, 1, `{}`))
	f.commit(second)
	f.answer("t", "q2", "yes")

	c = f.claim("t")
	equal(f, "its state", string(c.State), "two")
	equal(f, "its steps", c.Turn.Steps, 2)
	equal(f, "its latest event", c.Turn.Seq, 1)
	equal(f, "its messages", c.Messages, messages("input of t", "a", "b", "c"))
	equal(f, "its journal", c.Journal, []store.JournalRow{
		{Key: "z", Entry: json.RawMessage(`{"tool":"z","done":true}`), Result: json.RawMessage(`"ok"`)},
		{Key: "a", Entry: json.RawMessage(`{"tool":"a"}`)},
	})
	answered := f.questionOf(&c.Turn, "q2")
	answered.State, answered.Answer, answered.AnsweredBy, answered.AnsweredAt = store.InteractionAnswered, json.RawMessage(`{"answer":"yes"}`), "ann", f.now
	equal(f, "its interactions", c.Interactions, []*store.Interaction{f.questionOf(&c.Turn, "q1"), answered})
}
