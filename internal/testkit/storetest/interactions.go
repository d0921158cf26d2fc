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
	c := f.running("s", "t")
	want := f.questionOf(&c.Turn, "q")
	want.ExpiresAt = f.now.Add(time.Hour)
	asked := f.commitOf(c)
	asked.Asked, asked.Suspend = []*store.Interaction{want}, &store.Suspend{Open: []string{"q"}}
	f.commit(asked)
	got, err := f.Interaction(f.Context(), store.Of(ann), "t", "q")
	ok(f, err)
	equal(f, "the interaction", got, want)
	_, err = f.Interaction(f.Context(), store.Everything, "t", "none")
	is(f, err, store.ErrNotFound)
	_, err = f.Interaction(f.Context(), store.Everything, "none", "q")
	is(f, err, store.ErrNotFound)
}

func anAnswerIsKept(f *fixture) {
	c := f.running("s", "t")
	f.suspend(c, "q")
	answer := f.answerOf("t", "q", "yes")
	answer.Scope, answer.Now = store.Of(ann), f.now.Add(time.Minute)
	got, err := f.AnswerInteraction(f.Context(), answer)
	ok(f, err)
	want := f.questionOf(&c.Turn, "q")
	want.State, want.Answer, want.AnsweredBy, want.AnsweredAt = store.InteractionAnswered, json.RawMessage(`{"answer":"yes"}`), "ann", answer.Now
	equal(f, "what AnswerInteraction returns", got, want)
	got, err = f.Interaction(f.Context(), store.Of(ann), "t", "q")
	ok(f, err)
	equal(f, "the interaction", got, want)
}

func theSameAnswerAgainChangesNothing(f *fixture) {
	f.suspend(f.running("s", "t"), "q")
	first := f.answer("t", "q", "yes")
	f.jobs("t")
	turn := f.get("t")
	again := f.answerOf("t", "q", "yes")
	again.By, again.Now = "bob", f.now.Add(time.Minute)
	check := func() {
		f.Helper()
		got, err := f.AnswerInteraction(f.Context(), again)
		ok(f, err)
		equal(f, "the interaction", got, first)
		f.jobs()
	}
	check()
	equal(f, "the turn", f.get("t"), turn)
	c := f.claim("t")
	check()
	equal(f, "the state", f.status("t"), store.Running)
	f.finish(c)
	check()
}

func anotherAnswerIsAConflict(f *fixture) {
	f.suspend(f.running("s", "t"), "q")
	first := f.answer("t", "q", "yes")
	f.jobs("t")
	_, err := f.AnswerInteraction(f.Context(), f.answerOf("t", "q", "no"))
	as(f, err, &store.ConflictError{TurnID: "t", ID: "q"})
	f.jobs()
	got, err := f.Interaction(f.Context(), store.Everything, "t", "q")
	ok(f, err)
	equal(f, "the interaction", got, first)
}

func aCanceledInteractionTakesNoAnswer(f *fixture) {
	f.suspend(f.running("s", "t"), "q1", "q2")
	f.answer("t", "q1", "yes")
	f.jobs("t")
	f.end("t")
	_, err := f.AnswerInteraction(f.Context(), f.answerOf("t", "q2", "yes"))
	as(f, err, &store.StateError{Kind: "interaction", ID: "q2", State: "canceled", Want: "answered"})
	f.jobs()
	equal(f, "the state of the turn", f.status("t"), store.Canceled)
	got, err := f.Interaction(f.Context(), store.Everything, "t", "q2")
	ok(f, err)
	equal(f, "the state", got.State, store.InteractionCanceled)
	equal(f, "when it was canceled", got.AnsweredAt, f.now)
	got, err = f.Interaction(f.Context(), store.Everything, "t", "q1")
	ok(f, err)
	equal(f, "the state of the one with an answer", got.State, store.InteractionAnswered)
}

func anUnknownInteractionTakesNoAnswer(f *fixture) {
	f.suspend(f.running("s", "t"), "q")
	_, err := f.AnswerInteraction(f.Context(), f.answerOf("t", "none", "yes"))
	is(f, err, store.ErrNotFound)
	_, err = f.AnswerInteraction(f.Context(), f.answerOf("none", "q", "yes"))
	is(f, err, store.ErrNotFound)
	equal(f, "the state", f.status("t"), store.Waiting)
	f.jobs()
}

func anIDIsUniqueInItsTurn(f *fixture) {
	f.suspend(f.running("s1", "t1"), "q")
	f.suspend(f.running("s2", "t2"), "q")
	f.answer("t1", "q", "yes")
	f.jobs("t1")
	got, err := f.Interaction(f.Context(), store.Everything, "t2", "q")
	ok(f, err)
	equal(f, "the state of the other", got.State, store.InteractionPending)
	f.answer("t2", "q", "no")
	f.jobs("t2")
}

// questions returns the turns and ids of interactions.
func (f *fixture) questions(q store.InteractionQuery) (names []string) {
	f.Helper()
	list, err := f.Interactions(f.Context(), q)
	ok(f, err)
	for _, i := range list {
		names = append(names, i.TurnID+"/"+i.ID)
	}
	return names
}

// asked makes turns that wait for interactions, the later the older.
func (f *fixture) asked() {
	f.Helper()
	for i, turn := range []string{"t1", "t2", "t3"} {
		c := f.running("session-of-"+turn, turn)
		asked := f.suspendOf(c, "b", "a")
		for _, q := range asked.Asked {
			q.CreatedAt = f.now.Add(-time.Duration(i) * time.Minute)
			if q.ID == "a" {
				q.ExpiresAt = f.now.Add(time.Duration(i) * time.Hour)
			}
		}
		f.commit(asked)
	}
	f.answer("t2", "a", "yes")
	f.queue.Take()
}

func theyAreListedOldestFirst(f *fixture) {
	f.asked()
	all := []string{"t3/b", "t3/a", "t2/b", "t2/a", "t1/b", "t1/a"}
	equal(f, "all interactions", f.questions(store.InteractionQuery{Scope: store.Everything}), all)
	equal(f, "the oldest", f.questions(store.InteractionQuery{Scope: store.Everything, Limit: 3}), all[:3])
}

func theyAreFiltered(f *fixture) {
	f.asked()
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
		equal(f, "the interactions by "+c.name, f.questions(c.q), c.want)
	}
}

func theyExpire(f *fixture) {
	f.asked()
	expired := func(by time.Duration) []string {
		return f.questions(store.InteractionQuery{Scope: store.Everything, State: store.InteractionPending, ExpiredBy: f.now.Add(by)})
	}
	equal(f, "what expired before all", expired(-time.Second), nil)
	equal(f, "what expires now", expired(0), []string{"t1/a"})
	equal(f, "what expires soon", expired(time.Hour), []string{"t1/a"}) // the one of t2 has an answer
	equal(f, "what expires later", expired(2*time.Hour), []string{"t3/a", "t1/a"})
	equal(f, "what expires at all", expired(1000*time.Hour), []string{"t3/a", "t1/a"})
}
