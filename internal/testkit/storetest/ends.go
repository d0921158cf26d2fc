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
	c := f.running("s", "t")
	last := f.finishOf(c)
	last.Now, last.Steps = f.now.Add(time.Minute), 4
	last.Events = append(last.Events, f.eventOf(&c.Turn, 1, `{}`), f.eventOf(&c.Turn, 2, `{"last":true}`))
	last.State = []byte("state")
	f.commit(last)
	f.jobs()
	want := f.turnOf("s", "t").Turn
	want.Status, want.Result, want.Fence, want.Seq, want.Steps = store.Succeeded, json.RawMessage(`{"text":"done"}`), 1, 2, 4
	want.StartedAt, want.UpdatedAt, want.ChangedAt, want.FinishedAt = f.now, last.Now, last.Now, last.Now
	want.HeartbeatAt = c.Turn.HeartbeatAt
	equal(f, "the turn", f.get("t"), &want)
	equal(f, "the tip", f.getSession("s").Tip, "snapshot-t")
	equal(f, "how many events there are", len(f.events("t")), 2)
	snapshot, err := f.Snapshot(f.Context(), store.Of(ann), "snapshot-t")
	ok(f, err)
	equal(f, "the snapshot", snapshot, f.snapshotOf(c))
}

func aTurnThatFailsLeavesTheTip(f *fixture) {
	f.session("s")
	f.succeed("s", "t1")
	for _, status := range []store.Status{store.Failed, store.Canceled} {
		id := "turn-" + string(status)
		f.turn("s", id)
		last := f.commitOf(f.claim(id))
		last.Messages = messages("half an answer")
		last.Finish = &store.Finish{Status: status, Result: json.RawMessage(`{"error":"none"}`)}
		f.commit(last)
		got := f.get(id)
		equal(f, "the state", got.Status, status)
		equal(f, "the result", string(got.Result), `{"error":"none"}`)
		equal(f, "when it ended", got.FinishedAt, f.now)
		equal(f, "the tip", f.getSession("s").Tip, "snapshot-t1")
		_, err := f.Snapshot(f.Context(), store.Everything, "snapshot-"+id)
		is(f, err, store.ErrNotFound)
		own, err := f.OwnMessages(f.Context(), id)
		ok(f, err)
		equal(f, "its messages", own, messages("input of "+id, "half an answer"))
	}
	f.turn("s", "t2")
	c := f.claim("t2")
	equal(f, "what the next turn goes on from", c.Turn.ParentSnapshotID, "snapshot-t1")
	f.finish(c)
	all, err := f.Conversation(f.Context(), "snapshot-t2")
	ok(f, err)
	equal(f, "the conversation", all, messages("input of t1", "answer of t1", "input of t2", "answer of t2"))
}

func aFinishCancelsWhatIsOpen(f *fixture) {
	f.suspend(f.running("s", "t"), "q1", "q2")
	f.answer("t", "q1", "yes")
	last := f.finishOf(f.claim("t"))
	last.Now = f.now.Add(time.Minute)
	f.commit(last)
	equal(f, "what has an answer", f.questions(store.InteractionQuery{Scope: store.Everything, State: store.InteractionAnswered}), []string{"t/q1"})
	equal(f, "what is canceled", f.questions(store.InteractionQuery{Scope: store.Everything, State: store.InteractionCanceled}), []string{"t/q2"})
	got, err := f.Interaction(f.Context(), store.Everything, "t", "q2")
	ok(f, err)
	equal(f, "when it was canceled", got.AnsweredAt, last.Now)
}

func anEndFromOutsideHasTheLastEvent(f *fixture) {
	c := f.running("s", "t")
	add := f.commitOf(c)
	add.Events = append(add.Events, f.eventOf(&c.Turn, 1, `{}`), f.eventOf(&c.Turn, 2, `{}`))
	f.commit(add)
	e := f.endOf("t")
	e.Now = f.now.Add(time.Minute)
	e.Event.Seq, e.Event.TurnID = 99, "other" // the store knows better
	e.Event.Data = json.RawMessage(`{"z": 1, "a": "✓"}`)
	ended, err := f.EndTurn(f.Context(), e)
	ok(f, err)
	want := c.Turn
	want.Status, want.Result, want.Seq, want.Fence, want.Admitted = store.Canceled, e.Result, 3, c.Turn.Fence+1, false
	want.Worker, want.LeaseUntil = "", time.Time{}
	want.UpdatedAt, want.ChangedAt, want.FinishedAt = e.Now, e.Now, e.Now
	equal(f, "what EndTurn returns", ended, &want)
	equal(f, "the turn", f.get("t"), &want)
	list, err := f.Events(f.Context(), "t", 2, 10)
	ok(f, err)
	equal(f, "the last event", list, []event.Record{{
		Seq: 3, Time: f.now, TurnID: "t", SessionID: "s", Type: event.TypeRunFinish, Data: e.Event.Data,
	}})
	equal(f, "when the session was active", f.getSession("s").ActiveAt, e.Now)
	equal(f, "the tip", f.getSession("s").Tip, "")
}

func anEndFromOutsideWorksInEachState(f *fixture) {
	ended := func(turn string, started bool) {
		f.Helper()
		got := f.end(turn)
		equal(f, "the state of "+turn, got.Status, store.Canceled)
		equal(f, "whether "+turn+" started", !got.StartedAt.IsZero(), started)
		equal(f, "how many events "+turn+" has", len(f.events(turn)), 1)
	}
	f.session("s1", "s2")
	f.turn("s1", "pending", "held")
	f.delayed("s1", "delayed", time.Hour)
	ended("delayed", false)
	ended("held", false)
	ended("pending", false)
	f.queue.Take()
	f.running("s3", "running")
	ended("running", true)
	f.suspend(f.running("s4", "waiting"), "q")
	ended("waiting", true)
	f.suspend(f.running("s5", "answered"), "q")
	f.answer("answered", "q", "yes")
	ended("answered", true)
	live, _ := f.turnIDs(store.TurnQuery{Scope: store.Everything, Statuses: []store.Status{store.Pending, store.Running, store.Waiting}})
	equal(f, "the live turns", live, nil)
	open := f.questions(store.InteractionQuery{Scope: store.Everything, State: store.InteractionPending})
	equal(f, "the open interactions", open, nil)
}

func aTurnThatHasEndedStaysAsItIs(f *fixture) {
	c := f.running("s", "t1")
	f.turn("s", "t2", "t3")
	f.finish(c)
	f.jobs("t2")
	f.end("t2")
	f.jobs("t3")
	for _, id := range []string{"t1", "t2"} {
		before, events := f.get(id), f.events(id)
		e := f.endOf(id)
		e.Status, e.Result, e.Now = store.Failed, json.RawMessage(`{}`), f.now.Add(time.Hour)
		again, err := f.EndTurn(f.Context(), e)
		ok(f, err)
		equal(f, "what EndTurn returns", again, before)
		equal(f, "the turn", f.get(id), before)
		equal(f, "the events", f.events(id), events)
	}
	f.jobs()
	n, err := f.Reap(f.Context(), f.now.Add(100*time.Hour))
	ok(f, err)
	equal(f, "how many turns Reap takes", n, 0)
	equal(f, "the state", f.status("t1"), store.Succeeded)
	equal(f, "the state", f.status("t2"), store.Canceled)
}

func anUnknownTurnIsNotEnded(f *fixture) {
	_, err := f.EndTurn(f.Context(), f.endOf("none"))
	is(f, err, store.ErrNotFound)
}
