package storetest

import (
	"encoding/json"
	"time"

	"github.com/agentruntime/agentruntime/store"
)

var fenceTests = []test{
	{name: "AWrongFenceIsRefused", run: aWrongFenceIsRefused},
	{name: "ATurnThatWasTakenOverIsAnothersNow", run: aTurnThatWasTakenOverIsAnothersNow},
	{name: "ATurnThatNobodyRunsTakesNoCommit", run: aTurnThatNobodyRunsTakesNoCommit},
	{name: "ATurnThatHasEndedTakesNoCommit", run: aTurnThatHasEndedTakesNoCommit},
	{name: "NothingOfARefusedCommitIsThere", run: nothingOfARefusedCommitIsThere},
}

// fenced wants a commit to be refused.
func (f *fixture) fenced(c *store.Commit) {
	f.Helper()
	as(f, f.Commit(f.Context(), c), &store.FencedError{TurnID: c.TurnID, Fence: c.Fence})
}

func aWrongFenceIsRefused(f *fixture) {
	c := f.running("s", "t")
	for _, fence := range []int64{0, -1, c.Turn.Fence - 1, c.Turn.Fence + 1} {
		f.fenced(&store.Commit{TurnID: "t", Fence: fence, Now: f.now})
	}
	f.fenced(&store.Commit{TurnID: "none", Fence: 1, Now: f.now})
	f.commit(f.commitOf(c))
}

func aTurnThatWasTakenOverIsAnothersNow(f *fixture) {
	f.session("s")
	f.turn("s", "t")
	old := f.lapse("t")
	f.fenced(f.finishOf(old)) // nobody has it yet
	c := f.claimOf("t")
	c.Worker = "worker-2"
	claimed, err := f.Claim(f.Context(), c)
	ok(f, err)
	equal(f, "the fence", claimed.Turn.Fence, old.Turn.Fence+1)
	f.fenced(f.finishOf(old))
	add := f.commitOf(claimed)
	add.Events = append(add.Events, f.eventOf(&claimed.Turn, 1, `{}`))
	f.commit(add)
	f.fenced(f.commitOf(old))
	f.finish(claimed)
	f.fenced(f.finishOf(old))
	equal(f, "the state", f.status("t"), store.Succeeded)
}

func aTurnThatNobodyRunsTakesNoCommit(f *fixture) {
	f.session("s")
	f.turn("s", "t")
	f.fenced(&store.Commit{TurnID: "t", Now: f.now}) // its fence is 0
	c := f.claim("t")
	f.suspend(c, "q")
	f.fenced(f.commitOf(c))
	f.answer("t", "q", "yes")
	f.fenced(f.commitOf(c))
	c = f.claim("t")
	yield := f.commitOf(c)
	yield.Yield = true
	f.commit(yield)
	f.fenced(f.commitOf(c))
}

func aTurnThatHasEndedTakesNoCommit(f *fixture) {
	c := f.running("s", "t1")
	f.finish(c)
	f.fenced(f.finishOf(c))
	f.turn("s", "t2")
	c = f.claim("t2")
	f.end("t2")
	f.fenced(f.finishOf(c))
	c.Turn.Fence++ // the one that the end has
	f.fenced(f.finishOf(c))
	equal(f, "the state", f.status("t2"), store.Canceled)
	equal(f, "the tip", f.getSession("s").Tip, "snapshot-t1")
	ok(f, f.DeleteSession(f.Context(), store.Everything, "s"))
	f.fenced(f.commitOf(c))
}

func nothingOfARefusedCommitIsThere(f *fixture) {
	c := f.running("s", "t")
	f.turn("s", "next")
	for _, change := range []func(*store.Commit){
		func(*store.Commit) {},
		func(n *store.Commit) { n.Yield = true },
		func(n *store.Commit) { n.Suspend = &store.Suspend{Open: []string{"q"}} },
		func(n *store.Commit) { n.Finish = f.finishOf(c).Finish },
	} {
		before, session := f.get("t"), f.getSession("s")
		late := f.commitOf(c)
		late.Fence--
		late.Now = f.now.Add(time.Hour)
		late.Events = append(late.Events, f.eventOf(&c.Turn, 1, `{}`))
		late.State, late.Steps, late.Messages = []byte("state"), 9, messages("late")
		late.Journal = []store.JournalRow{{Key: "call", Entry: json.RawMessage(`{}`)}}
		late.Artifacts = []*store.Artifact{f.artifactOf(&c.Turn, "late", "data")}
		late.Asked = []*store.Interaction{f.questionOf(&c.Turn, "q")}
		change(late)
		f.fenced(late)

		f.jobs()
		equal(f, "the turn", f.get("t"), before)
		equal(f, "the session", f.getSession("s"), session)
		equal(f, "the events", f.events("t"), nil)
		own, err := f.OwnMessages(f.Context(), "t")
		ok(f, err)
		equal(f, "the messages", own, messages("input of t"))
		journal, err := f.Journal(f.Context(), "t")
		ok(f, err)
		equal(f, "the journal", journal, nil)
		_, err = f.Artifact(f.Context(), store.Everything, "late")
		is(f, err, store.ErrNotFound)
		_, err = f.Interaction(f.Context(), store.Everything, "t", "q")
		is(f, err, store.ErrNotFound)
		_, err = f.Snapshot(f.Context(), store.Everything, c.Turn.SnapshotID)
		is(f, err, store.ErrNotFound)
	}
	last := f.finishOf(c)
	last.Events = append(last.Events, f.eventOf(&c.Turn, 1, `{}`))
	f.commit(last)
}
