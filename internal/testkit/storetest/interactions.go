package storetest

import (
	"encoding/json"
	"time"

	"github.com/agentruntime/agentruntime/store"
)

var interactionTests = []test{
	{name: "AnInteractionIsReadAsItWasAsked", run: anInteractionIsReadAsItWasAsked},
	{name: "AnAnswerIsKept", run: anAnswerIsKept},
	{name: "TheSameAnswerAgainChangesNothing", run: theSameAnswerAgainChangesNothing},
	{name: "AnotherAnswerIsAConflict", run: anotherAnswerIsAConflict},
	{name: "ACanceledInteractionTakesNoAnswer", run: aCanceledInteractionTakesNoAnswer},
	{name: "AnUnknownInteractionTakesNoAnswer", run: anUnknownInteractionTakesNoAnswer},
	{name: "AnIDIsUniqueInItsTurn", run: anIDIsUniqueInItsTurn},
	{name: "TheyAreListedOldestFirst", run: theyAreListedOldestFirst},
	{name: "TheyAreFiltered", run: theyAreFiltered},
	{name: "TheyExpire", run: theyExpire},
}

func anInteractionIsReadAsItWasAsked(f *fixture) {
	c := f.createRunning("s", "t")
	want := f.questionOf(&c.Turn, "q")
	want.ExpiresAt = f.now.Add(time.Hour)
	asked := f.commitOf(c)
	asked.Asked, asked.Suspend = []*store.Interaction{want}, &store.Suspend{Open: []string{"q"}}
	f.commitTurn(asked)
	got := try(f.Interaction(f.Context(), store.Of(ann), "t", "q")).wantOK(f)
	wantEqual(f, "the interaction", got, want)
	wantError(f, try(f.Interaction(f.Context(), store.Everything, "t", "none")).err, store.ErrNotFound)
	wantError(f, try(f.Interaction(f.Context(), store.Everything, "none", "q")).err, store.ErrNotFound)
}

func anAnswerIsKept(f *fixture) {
	c := f.createRunning("s", "t")
	f.suspendTurn(c, "q")
	answer := f.answerOf("t", "q", "yes")
	answer.Scope, answer.Now = store.Of(ann), f.now.Add(time.Minute)
	got := try(f.AnswerInteraction(f.Context(), answer)).wantOK(f)
	want := f.questionOf(&c.Turn, "q")
	want.State, want.Answer, want.AnsweredBy, want.AnsweredAt = store.InteractionAnswered, json.RawMessage(`{"answer":"yes"}`), "ann", answer.Now
	wantEqual(f, "what AnswerInteraction returns", got, want)
	got = try(f.Interaction(f.Context(), store.Of(ann), "t", "q")).wantOK(f)
	wantEqual(f, "the interaction", got, want)
}

func theSameAnswerAgainChangesNothing(f *fixture) {
	f.suspendTurn(f.createRunning("s", "t"), "q")
	first := f.answerTurn("t", "q", "yes")
	f.wantJobs("t")
	turn := f.getTurn("t")
	again := f.answerOf("t", "q", "yes")
	again.By, again.Now = "bob", f.now.Add(time.Minute)
	check := func() {
		f.Helper()
		got := try(f.AnswerInteraction(f.Context(), again)).wantOK(f)
		wantEqual(f, "the interaction", got, first)
		f.wantJobs()
	}
	check()
	wantEqual(f, "the turn", f.getTurn("t"), turn)
	c := f.claimTurn("t")
	check()
	wantEqual(f, "the state", f.turnStatus("t"), store.Running)
	f.finishTurn(c)
	check()
}

func anotherAnswerIsAConflict(f *fixture) {
	f.suspendTurn(f.createRunning("s", "t"), "q")
	first := f.answerTurn("t", "q", "yes")
	f.wantJobs("t")
	wantAs(f, try(f.AnswerInteraction(f.Context(), f.answerOf("t", "q", "no"))).err, &store.ConflictError{TurnID: "t", ID: "q"})
	f.wantJobs()
	got := try(f.Interaction(f.Context(), store.Everything, "t", "q")).wantOK(f)
	wantEqual(f, "the interaction", got, first)
}

func aCanceledInteractionTakesNoAnswer(f *fixture) {
	f.suspendTurn(f.createRunning("s", "t"), "q1", "q2")
	f.answerTurn("t", "q1", "yes")
	f.wantJobs("t")
	f.endTurn("t")
	wantAs(f, try(f.AnswerInteraction(f.Context(), f.answerOf("t", "q2", "yes"))).err, &store.StateError{Kind: "interaction", ID: "q2", State: "canceled", Want: "answered"})
	f.wantJobs()
	wantEqual(f, "the state of the turn", f.turnStatus("t"), store.Canceled)
	got := try(f.Interaction(f.Context(), store.Everything, "t", "q2")).wantOK(f)
	wantEqual(f, "the state", got.State, store.InteractionCanceled)
	wantEqual(f, "when it was canceled", got.AnsweredAt, f.now)
	got = try(f.Interaction(f.Context(), store.Everything, "t", "q1")).wantOK(f)
	wantEqual(f, "the state of the one with an answer", got.State, store.InteractionAnswered)
}

func anUnknownInteractionTakesNoAnswer(f *fixture) {
	f.suspendTurn(f.createRunning("s", "t"), "q")
	wantError(f, try(f.AnswerInteraction(f.Context(), f.answerOf("t", "none", "yes"))).err, store.ErrNotFound)
	wantError(f, try(f.AnswerInteraction(f.Context(), f.answerOf("none", "q", "yes"))).err, store.ErrNotFound)
	wantEqual(f, "the state", f.turnStatus("t"), store.Waiting)
	f.wantJobs()
}

func anIDIsUniqueInItsTurn(f *fixture) {
	f.suspendTurn(f.createRunning("s1", "t1"), "q")
	f.suspendTurn(f.createRunning("s2", "t2"), "q")
	f.answerTurn("t1", "q", "yes")
	f.wantJobs("t1")
	got := try(f.Interaction(f.Context(), store.Everything, "t2", "q")).wantOK(f)
	wantEqual(f, "the state of the other", got.State, store.InteractionPending)
	f.answerTurn("t2", "q", "no")
	f.wantJobs("t2")
}

// listQuestions returns the turns and ids of interactions.
func listQuestions(f *fixture, q store.InteractionQuery) (names []string) {
	f.Helper()
	list := try(f.Interactions(f.Context(), q)).wantOK(f)
	for _, i := range list {
		names = append(names, i.TurnID+"/"+i.ID)
	}
	return names
}

// createAsked creates turns that wait for interactions, each older than the one before.
func createAsked(f *fixture) {
	f.Helper()
	for i, turn := range []string{"t1", "t2", "t3"} {
		c := f.createRunning("session-of-"+turn, turn)
		asked := f.suspendOf(c, "b", "a")
		for _, q := range asked.Asked {
			q.CreatedAt = f.now.Add(-time.Duration(i) * time.Minute)
			if q.ID == "a" {
				q.ExpiresAt = f.now.Add(time.Duration(i) * time.Hour)
			}
		}
		f.commitTurn(asked)
	}
	f.answerTurn("t2", "a", "yes")
	f.queue.Take()
}

func theyAreListedOldestFirst(f *fixture) {
	createAsked(f)
	all := []string{"t3/b", "t3/a", "t2/b", "t2/a", "t1/b", "t1/a"}
	wantEqual(f, "all interactions", listQuestions(f, store.InteractionQuery{Scope: store.Everything}), all)
	list := try(f.Interactions(f.Context(), store.InteractionQuery{Scope: store.Of(ann), State: store.InteractionPending})).wantOK(f)
	for _, i := range list {
		wantEqual(f, "the agent of "+i.TurnID+"/"+i.ID, i.AgentID, f.getTurn(i.TurnID).AgentID)
	}
	wantEqual(f, "the oldest", listQuestions(f, store.InteractionQuery{Scope: store.Everything, Limit: 3}), all[:3])
}

func theyAreFiltered(f *fixture) {
	createAsked(f)
	for _, c := range []struct {
		name string
		q    store.InteractionQuery
		want []string
	}{
		{"turn", store.InteractionQuery{Scope: store.Of(ann), TurnID: "t1"}, []string{"t1/b", "t1/a"}},
		{"session", store.InteractionQuery{Scope: store.Of(ann), SessionID: "session-of-t2"}, []string{"t2/b", "t2/a"}},
		{"state", store.InteractionQuery{Scope: store.Of(ann), State: store.InteractionAnswered}, []string{"t2/a"}},
		{"all of it", store.InteractionQuery{
			Scope: store.Of(ann), TurnID: "t2", SessionID: "session-of-t2", State: store.InteractionPending,
		}, []string{"t2/b"}},
		{"a turn of another session", store.InteractionQuery{Scope: store.Of(ann), TurnID: "t1", SessionID: "session-of-t2"}, nil},
	} {
		wantEqual(f, "the interactions by "+c.name, listQuestions(f, c.q), c.want)
	}
}

func theyExpire(f *fixture) {
	createAsked(f)
	expired := func(by time.Duration) []string {
		return listQuestions(f, store.InteractionQuery{Scope: store.Everything, State: store.InteractionPending, ExpiredBy: f.now.Add(by)})
	}
	wantEqual(f, "what expired before all", expired(-time.Second), nil)
	wantEqual(f, "what expires now", expired(0), []string{"t1/a"})
	wantEqual(f, "what expires soon", expired(time.Hour), []string{"t1/a"}) // the one of t2 has an answer
	wantEqual(f, "what expires later", expired(2*time.Hour), []string{"t3/a", "t1/a"})
	wantEqual(f, "what expires at all", expired(1000*time.Hour), []string{"t3/a", "t1/a"})
}
