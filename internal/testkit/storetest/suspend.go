package storetest

import (
	"time"

	"github.com/agentruntime/agentruntime/store"
)

var suspendTests = []test{
	{name: "AWaitingTurnHasNoWorker", run: aWaitingTurnHasNoWorker},
	{name: "AnAnswerMakesTheTurnGoOn", run: anAnswerMakesTheTurnGoOn},
	{name: "OneAnswerOfManyIsEnough", run: oneAnswerOfManyIsEnough},
	{name: "AnAnswerThatIsThereAlreadyIsNotWaitedFor", run: anAnswerThatIsThereAlreadyIsNotWaitedFor},
	{name: "ATurnMayWaitAgain", run: aTurnMayWaitAgain},
	{name: "AnAnswerWhileTheTurnRunsMakesNoJob", run: anAnswerWhileTheTurnRunsMakesNoJob},
	{name: "AQuestionIsAskedOnce", run: aQuestionIsAskedOnce},
	{name: "AQuestionIsAnsweredBeforeTheTurnWaits", run: aQuestionIsAnsweredBeforeTheTurnWaits},
	{name: "WhatComesWithASuspendIsKept", run: whatComesWithASuspendIsKept},
}

func aWaitingTurnHasNoWorker(f *fixture) {
	c := f.running("s", "t")
	asked := f.suspendOf(c, "q")
	asked.Now = f.now.Add(time.Second)
	f.commit(asked)
	f.jobs()
	got := f.get("t")
	equal(f, "the state", got.Status, store.Waiting)
	equal(f, "the worker", got.Worker, "")
	equal(f, "the lease", got.LeaseUntil, time.Time{})
	equal(f, "whether it is admitted", got.Admitted, false)
	equal(f, "the fence", got.Fence, c.Turn.Fence)
	equal(f, "when it changed", got.UpdatedAt, asked.Now)
	n, err := f.Reap(f.Context(), f.now.Add(100*time.Hour))
	ok(f, err)
	equal(f, "how many turns Reap takes", n, 0)
	equal(f, "the state", f.status("t"), store.Waiting)
	f.jobs()
}

func anAnswerMakesTheTurnGoOn(f *fixture) {
	f.suspend(f.running("s", "t"), "q")
	answer := f.answerOf("t", "q", "yes")
	answer.Now = f.now.Add(time.Second)
	_, err := f.AnswerInteraction(f.Context(), answer)
	ok(f, err)
	f.jobs("t")
	got := f.get("t")
	equal(f, "the state", got.Status, store.Pending)
	equal(f, "whether it is admitted", got.Admitted, true)
	equal(f, "when it changed", got.UpdatedAt, answer.Now)
	c := f.claim("t")
	equal(f, "the fence", c.Turn.Fence, 2)
	equal(f, "the answer", string(c.Interactions[0].Answer), `{"answer":"yes"}`)
}

func oneAnswerOfManyIsEnough(f *fixture) {
	f.suspend(f.running("s", "t"), "q1", "q2", "q3")
	f.answer("t", "q2", "yes")
	f.jobs("t")
	equal(f, "the state", f.status("t"), store.Pending)
	f.answer("t", "q1", "yes") // the job is there already
	f.jobs()
	c := f.claim("t")
	var states []store.InteractionState
	for _, i := range c.Interactions {
		states = append(states, i.State)
	}
	equal(f, "the interactions", states, []store.InteractionState{store.InteractionAnswered, store.InteractionAnswered, store.InteractionPending})
}

func anAnswerThatIsThereAlreadyIsNotWaitedFor(f *fixture) {
	f.suspend(f.running("s", "t"), "q1", "q2")
	f.answer("t", "q1", "yes")
	c := f.claim("t")
	f.jobs("t")
	f.answer("t", "q2", "yes") // the worker does not know of it
	again := f.suspendOf(c, "q3")
	again.Suspend.Open = []string{"q2", "q3"}
	f.commit(again)
	f.jobs("t")
	got := f.get("t")
	equal(f, "the state", got.Status, store.Pending)
	equal(f, "whether it is admitted", got.Admitted, true)
	equal(f, "the worker", got.Worker, "")
	equal(f, "the lease", got.LeaseUntil, time.Time{})
	c = f.claim("t")
	equal(f, "how many interactions there are", len(c.Interactions), 3)
}

func aTurnMayWaitAgain(f *fixture) {
	f.suspend(f.running("s", "t"), "q1", "q2")
	f.answer("t", "q1", "yes")
	f.jobs("t")
	again := f.commitOf(f.claim("t"))
	again.Suspend = &store.Suspend{Open: []string{"q2"}} // q1 is not among them any more
	f.commit(again)
	f.jobs()
	equal(f, "the state", f.status("t"), store.Waiting)
	f.answer("t", "q2", "yes")
	f.jobs("t")
	equal(f, "the state", f.status("t"), store.Pending)
}

func anAnswerWhileTheTurnRunsMakesNoJob(f *fixture) {
	f.suspend(f.running("s", "t"), "q1", "q2")
	f.answer("t", "q1", "yes")
	f.jobs("t")
	c := f.claim("t")
	f.answer("t", "q2", "yes")
	f.jobs()
	equal(f, "the state", f.status("t"), store.Running)
	f.finish(c) // it is still the worker's
}

func aQuestionIsAnsweredBeforeTheTurnWaits(f *fixture) {
	c := f.running("s", "t")
	asked := f.commitOf(c)
	asked.Asked = append(asked.Asked, f.questionOf(&c.Turn, "q"))
	f.commit(asked)
	f.answer("t", "q", "yes")
	f.jobs()
	equal(f, "the state", f.status("t"), store.Running)
	waits := f.commitOf(c)
	waits.Suspend = &store.Suspend{Open: []string{"q"}}
	f.commit(waits)
	f.jobs("t")
	equal(f, "how many interactions are loaded", len(f.claim("t").Interactions), 1)
}

// A worker that died may have asked what the next one asks again.
func aQuestionIsAskedOnce(f *fixture) {
	f.suspend(f.running("s", "t"), "q1", "q2")
	f.answer("t", "q1", "yes")
	f.jobs("t")
	c := f.claim("t")
	f.suspend(c, "q2", "q3")
	f.jobs()
	equal(f, "the state", f.status("t"), store.Waiting)
	equal(f, "the interactions", f.questions(store.InteractionQuery{Scope: store.Everything}), []string{"t/q1", "t/q2", "t/q3"})
	f.answer("t", "q2", "yes")
	f.jobs("t")
	c = f.claim("t")
	f.suspend(c, "q2") // it has its answer
	f.jobs("t")
	got, err := f.Interaction(f.Context(), store.Everything, "t", "q2")
	ok(f, err)
	equal(f, "the answer", string(got.Answer), `{"answer":"yes"}`)
	equal(f, "the state", f.status("t"), store.Pending)
}

func whatComesWithASuspendIsKept(f *fixture) {
	c := f.running("s", "t")
	asked := f.suspendOf(c, "q")
	asked.Events = append(asked.Events, f.eventOf(&c.Turn, 1, `{}`))
	asked.State, asked.Steps, asked.Messages = []byte("state"), 3, messages("question")
	f.commit(asked)
	f.answer("t", "q", "yes")
	c = f.claim("t")
	equal(f, "the state", string(c.State), "state")
	equal(f, "the steps", c.Turn.Steps, 3)
	equal(f, "the latest event", c.Turn.Seq, 1)
	equal(f, "the messages", c.Messages, messages("input of t", "question"))
}
