package storetest

import (
	"encoding/json"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/store"
)

var endTests = []test{
	{name: "ATurnThatSucceedsMovesTheTip", run: aTurnThatSucceedsMovesTheTip},
	{name: "ATurnThatFailsLeavesTheTip", run: aTurnThatFailsLeavesTheTip},
	{name: "AFinishCancelsWhatIsOpen", run: aFinishCancelsWhatIsOpen},
	{name: "AnEndFromOutsideHasTheLastEvent", run: anEndFromOutsideHasTheLastEvent},
	{name: "AnEndFromOutsideWorksInEachState", run: anEndFromOutsideWorksInEachState},
	{name: "ATurnThatHasEndedStaysAsItIs", run: aTurnThatHasEndedStaysAsItIs},
	{name: "AnUnknownTurnIsNotEnded", run: anUnknownTurnIsNotEnded},
}

func aTurnThatSucceedsMovesTheTip(f *fixture) {
	c := f.createRunning("s", "t")
	last := f.finishOf(c)
	last.Now, last.Steps = f.now.Add(time.Minute), 4
	last.Events = append(last.Events, f.eventOf(&c.Turn, 1, `{}`), f.eventOf(&c.Turn, 2, `{"last":true}`))
	last.State = []byte("state")
	f.commitTurn(last)
	f.wantJobs()
	want := f.turnOf("s", "t").Turn
	want.Status, want.Result, want.Fence, want.Seq, want.Steps = store.Succeeded, json.RawMessage(`{"text":"done"}`), 1, 2, 4
	want.StartedAt, want.UpdatedAt, want.ChangedAt, want.FinishedAt = f.now, last.Now, last.Now, last.Now
	want.HeartbeatAt = c.Turn.HeartbeatAt
	wantEqual(f, "the turn", f.getTurn("t"), &want)
	wantEqual(f, "the tip", f.getSession("s").Tip, "snapshot-t")
	wantEqual(f, "how many events there are", len(f.listEvents("t")), 2)
	snapshot := try(f.Snapshot(f.Context(), store.Of(ann), "snapshot-t")).wantOK(f)
	wantEqual(f, "the snapshot", snapshot, f.snapshotOf(c))
}

func aTurnThatFailsLeavesTheTip(f *fixture) {
	f.createSessions("s")
	f.createSucceeded("s", "t1")
	for _, status := range []store.Status{store.Failed, store.Canceled} {
		id := "turn-" + string(status)
		f.createTurns("s", id)
		last := f.commitOf(f.claimTurn(id))
		last.Messages = textMessages("half an answer")
		last.Finish = &store.Finish{Status: status, Result: json.RawMessage(`{"error":"none"}`)}
		f.commitTurn(last)
		got := f.getTurn(id)
		wantEqual(f, "the state", got.Status, status)
		wantEqual(f, "the result", string(got.Result), `{"error":"none"}`)
		wantEqual(f, "when it ended", got.FinishedAt, f.now)
		wantEqual(f, "the tip", f.getSession("s").Tip, "snapshot-t1")
		wantError(f, try(f.Snapshot(f.Context(), store.Everything, "snapshot-"+id)).err, store.ErrNotFound)
		wantEqual(f, "its messages", try(f.OwnMessages(f.Context(), id)).wantOK(f), textMessages("input of "+id, "half an answer"))
	}
	f.createTurns("s", "t2")
	c := f.claimTurn("t2")
	wantEqual(f, "what the next turn goes on from", c.Turn.ParentSnapshotID, "snapshot-t1")
	f.finishTurn(c)
	wantConversation(f, "snapshot-t2", "input of t1", "answer of t1", "input of t2", "answer of t2")
}

func aFinishCancelsWhatIsOpen(f *fixture) {
	f.suspendTurn(f.createRunning("s", "t"), "q1", "q2")
	f.answerTurn("t", "q1", "yes")
	last := f.finishOf(f.claimTurn("t"))
	last.Now = f.now.Add(time.Minute)
	f.commitTurn(last)
	wantEqual(f, "what has an answer", listQuestions(f, store.InteractionQuery{Scope: store.Everything, State: store.InteractionAnswered}), []string{"t/q1"})
	wantEqual(f, "what is canceled", listQuestions(f, store.InteractionQuery{Scope: store.Everything, State: store.InteractionCanceled}), []string{"t/q2"})
	got := try(f.Interaction(f.Context(), store.Everything, "t", "q2")).wantOK(f)
	wantEqual(f, "when it was canceled", got.AnsweredAt, last.Now)
}

func anEndFromOutsideHasTheLastEvent(f *fixture) {
	c := f.createRunning("s", "t")
	add := f.commitOf(c)
	add.Events = append(add.Events, f.eventOf(&c.Turn, 1, `{}`), f.eventOf(&c.Turn, 2, `{}`))
	f.commitTurn(add)
	e := f.endOf("t")
	e.Now = f.now.Add(time.Minute)
	e.Event.Seq, e.Event.TurnID = 99, "other" // the store knows better
	e.Event.Data = json.RawMessage(`{"z": 1, "a": "✓"}`)
	ended := try(f.EndTurn(f.Context(), e)).wantOK(f)
	want := c.Turn
	want.Status, want.Result, want.Seq, want.Fence, want.Admitted = store.Canceled, e.Result, 3, c.Turn.Fence+1, false
	want.Worker, want.LeaseUntil = "", time.Time{}
	want.UpdatedAt, want.ChangedAt, want.FinishedAt = e.Now, e.Now, e.Now
	wantEqual(f, "what EndTurn returns", ended, &want)
	wantEqual(f, "the turn", f.getTurn("t"), &want)
	list := try(f.Events(f.Context(), "t", 2, 10)).wantOK(f)
	wantEqual(f, "the last event", list, []event.Record{{
		Seq: 3, Time: f.now, TurnID: "t", SessionID: "s", Type: event.TypeRunFinish, Data: e.Event.Data,
	}})
	wantEqual(f, "when the session was active", f.getSession("s").ActiveAt, e.Now)
	wantEqual(f, "the tip", f.getSession("s").Tip, "")
}

func anEndFromOutsideWorksInEachState(f *fixture) {
	ended := func(turn string, started bool) {
		f.Helper()
		got := f.endTurn(turn)
		wantEqual(f, "the state of "+turn, got.Status, store.Canceled)
		wantEqual(f, "whether "+turn+" started", !got.StartedAt.IsZero(), started)
		wantEqual(f, "how many events "+turn+" has", len(f.listEvents(turn)), 1)
	}
	f.createSessions("s1", "s2")
	f.createTurns("s1", "pending", "held")
	f.createDelayed("s1", "delayed", time.Hour)
	ended("delayed", false)
	ended("held", false)
	ended("pending", false)
	f.queue.Take()
	f.createRunning("s3", "running")
	ended("running", true)
	f.suspendTurn(f.createRunning("s4", "waiting"), "q")
	ended("waiting", true)
	f.suspendTurn(f.createRunning("s5", "answered"), "q")
	f.answerTurn("answered", "q", "yes")
	ended("answered", true)
	live, _ := turnIDs(f, store.TurnQuery{Scope: store.Everything, Statuses: []store.Status{store.Pending, store.Running, store.Waiting}})
	wantEqual(f, "the live turns", live, nil)
	open := listQuestions(f, store.InteractionQuery{Scope: store.Everything, State: store.InteractionPending})
	wantEqual(f, "the open interactions", open, nil)
}

func aTurnThatHasEndedStaysAsItIs(f *fixture) {
	c := f.createRunning("s", "t1")
	f.createTurns("s", "t2", "t3")
	f.finishTurn(c)
	f.wantJobs("t2")
	f.endTurn("t2")
	f.wantJobs("t3")
	for _, id := range []string{"t1", "t2"} {
		before, events := f.getTurn(id), f.listEvents(id)
		e := f.endOf(id)
		e.Status, e.Result, e.Now = store.Failed, json.RawMessage(`{}`), f.now.Add(time.Hour)
		again := try(f.EndTurn(f.Context(), e)).wantOK(f)
		wantEqual(f, "what EndTurn returns", again, before)
		wantEqual(f, "the turn", f.getTurn(id), before)
		wantEqual(f, "the events", f.listEvents(id), events)
	}
	f.wantJobs()
	n := try(f.Reap(f.Context(), f.now.Add(100*time.Hour))).wantOK(f)
	wantEqual(f, "how many turns Reap takes", n, 0)
	wantEqual(f, "the state", f.turnStatus("t1"), store.Succeeded)
	wantEqual(f, "the state", f.turnStatus("t2"), store.Canceled)
}

func anUnknownTurnIsNotEnded(f *fixture) {
	wantError(f, try(f.EndTurn(f.Context(), f.endOf("none"))).err, store.ErrNotFound)
}
