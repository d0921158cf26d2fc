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

func aWrongFenceIsRefused(f *fixture) {
	c := f.createRunning("s", "t")
	for _, fence := range []int64{0, -1, c.Turn.Fence - 1, c.Turn.Fence + 1} {
		f.wantFenced(&store.Commit{TurnID: "t", Fence: fence, Now: f.now})
	}
	f.wantFenced(&store.Commit{TurnID: "none", Fence: 1, Now: f.now})
	f.commitTurn(f.commitOf(c))
}

func aTurnThatWasTakenOverIsAnothersNow(f *fixture) {
	f.createQueued("s", "t")
	old := lapseLease(f, "t")
	f.wantFenced(f.finishOf(old)) // nobody has it yet
	c := f.claimOf("t")
	c.Worker = "worker-2"
	claimed := try(f.Claim(f.Context(), c)).wantOK(f)
	wantEqual(f, "the fence", claimed.Turn.Fence, old.Turn.Fence+1)
	f.wantFenced(f.finishOf(old))
	add := f.commitOf(claimed)
	add.Events = append(add.Events, f.eventOf(&claimed.Turn, 1, `{}`))
	f.commitTurn(add)
	f.wantFenced(f.commitOf(old))
	f.finishTurn(claimed)
	f.wantFenced(f.finishOf(old))
	wantEqual(f, "the state", f.turnStatus("t"), store.Succeeded)
}

func aTurnThatNobodyRunsTakesNoCommit(f *fixture) {
	f.createQueued("s", "t")
	f.wantFenced(&store.Commit{TurnID: "t", Now: f.now}) // its fence is 0
	c := f.claimTurn("t")
	f.suspendTurn(c, "q")
	f.wantFenced(f.commitOf(c))
	f.answerTurn("t", "q", "yes")
	f.wantFenced(f.commitOf(c))
	c = f.claimTurn("t")
	f.yieldTurn(c)
	f.wantFenced(f.commitOf(c))
}

func aTurnThatHasEndedTakesNoCommit(f *fixture) {
	c := f.createRunning("s", "t1")
	f.finishTurn(c)
	f.wantFenced(f.finishOf(c))
	f.createTurns("s", "t2")
	c = f.claimTurn("t2")
	f.endTurn("t2")
	f.wantFenced(f.finishOf(c))
	c.Turn.Fence++ // ending the turn raised it
	f.wantFenced(f.finishOf(c))
	wantEqual(f, "the state", f.turnStatus("t2"), store.Canceled)
	wantEqual(f, "the tip", f.getSession("s").Tip, "snapshot-t1")
	wantOK(f, f.DeleteSession(f.Context(), store.Everything, "s"))
	f.wantFenced(f.commitOf(c))
}

func nothingOfARefusedCommitIsThere(f *fixture) {
	c := f.createRunning("s", "t")
	f.createTurns("s", "next")
	for _, change := range []func(*store.Commit){
		func(*store.Commit) {},
		func(n *store.Commit) { n.Yield = true },
		func(n *store.Commit) { n.Suspend = &store.Suspend{Open: []string{"q"}} },
		func(n *store.Commit) { n.Finish = f.finishOf(c).Finish },
	} {
		before, session := f.getTurn("t"), f.getSession("s")
		late := f.commitOf(c)
		late.Fence--
		late.Now = f.now.Add(time.Hour)
		late.Events = append(late.Events, f.eventOf(&c.Turn, 1, `{}`))
		late.State, late.Steps, late.Messages = []byte("state"), 9, textMessages("late")
		late.Journal = []store.JournalRow{{Key: "call", Entry: json.RawMessage(`{}`)}}
		late.Artifacts = []*store.Artifact{f.artifactOf(&c.Turn, "late", "data")}
		late.Asked = []*store.Interaction{f.questionOf(&c.Turn, "q")}
		change(late)
		f.wantFenced(late)

		f.wantJobs()
		wantEqual(f, "the turn", f.getTurn("t"), before)
		wantEqual(f, "the session", f.getSession("s"), session)
		wantEqual(f, "the events", f.listEvents("t"), nil)
		wantEqual(f, "the messages", try(f.OwnMessages(f.Context(), "t")).wantOK(f), textMessages("input of t"))
		wantEqual(f, "the journal", try(f.Journal(f.Context(), "t")).wantOK(f), nil)
		wantError(f, try(f.Artifact(f.Context(), store.Everything, "late")).err, store.ErrNotFound)
		wantError(f, try(f.Interaction(f.Context(), store.Everything, "t", "q")).err, store.ErrNotFound)
		wantError(f, try(f.Snapshot(f.Context(), store.Everything, c.Turn.SnapshotID)).err, store.ErrNotFound)
	}
	last := f.finishOf(c)
	last.Events = append(last.Events, f.eventOf(&c.Turn, 1, `{}`))
	f.commitTurn(last)
}
