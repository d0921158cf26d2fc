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
	c := f.createRunning("s", "t")
	asked := f.suspendOf(c, "q")
	asked.Now = f.now.Add(time.Second)
	f.commitTurn(asked)
	f.wantJobs()
	got := f.getTurn("t")
	wantEqual(f, "the state", got.Status, store.Waiting)
	wantEqual(f, "the worker", got.Worker, "")
	wantEqual(f, "the lease", got.LeaseUntil, time.Time{})
	wantEqual(f, "whether it is admitted", got.Admitted, false)
	wantEqual(f, "the fence", got.Fence, c.Turn.Fence)
	wantEqual(f, "when it changed", got.UpdatedAt, asked.Now)
	n := try(f.Reap(f.Context(), f.now.Add(100*time.Hour))).wantOK(f)
	wantEqual(f, "how many turns Reap takes", n, 0)
	wantEqual(f, "the state", f.turnStatus("t"), store.Waiting)
	f.wantJobs()
}

func anAnswerMakesTheTurnGoOn(f *fixture) {
	f.suspendTurn(f.createRunning("s", "t"), "q")
	answer := f.answerOf("t", "q", "yes")
	answer.Now = f.now.Add(time.Second)
	try(f.AnswerInteraction(f.Context(), answer)).wantOK(f)
	f.wantJobs("t")
	got := f.getTurn("t")
	wantEqual(f, "the state", got.Status, store.Pending)
	wantEqual(f, "whether it is admitted", got.Admitted, true)
	wantEqual(f, "when it changed", got.UpdatedAt, answer.Now)
	c := f.claimTurn("t")
	wantEqual(f, "the fence", c.Turn.Fence, 2)
	wantEqual(f, "the answer", string(c.Interactions[0].Answer), `{"answer":"yes"}`)
}

func oneAnswerOfManyIsEnough(f *fixture) {
	f.suspendTurn(f.createRunning("s", "t"), "q1", "q2", "q3")
	f.answerTurn("t", "q2", "yes")
	f.wantJobs("t")
	wantEqual(f, "the state", f.turnStatus("t"), store.Pending)
	f.answerTurn("t", "q1", "yes") // the job is there already
	f.wantJobs()
	c := f.claimTurn("t")
	var states []store.InteractionState
	for _, i := range c.Interactions {
		states = append(states, i.State)
	}
	wantEqual(f, "the interactions", states, []store.InteractionState{store.InteractionAnswered, store.InteractionAnswered, store.InteractionPending})
}

func anAnswerThatIsThereAlreadyIsNotWaitedFor(f *fixture) {
	f.suspendTurn(f.createRunning("s", "t"), "q1", "q2")
	f.answerTurn("t", "q1", "yes")
	c := f.claimTurn("t")
	f.wantJobs("t")
	f.answerTurn("t", "q2", "yes") // unknown to the worker
	again := f.suspendOf(c, "q3")
	again.Suspend.Open = []string{"q2", "q3"}
	f.commitTurn(again)
	f.wantJobs("t")
	got := f.getTurn("t")
	wantEqual(f, "the state", got.Status, store.Pending)
	wantEqual(f, "whether it is admitted", got.Admitted, true)
	wantEqual(f, "the worker", got.Worker, "")
	wantEqual(f, "the lease", got.LeaseUntil, time.Time{})
	c = f.claimTurn("t")
	wantEqual(f, "how many interactions there are", len(c.Interactions), 3)
}

func aTurnMayWaitAgain(f *fixture) {
	f.suspendTurn(f.createRunning("s", "t"), "q1", "q2")
	f.answerTurn("t", "q1", "yes")
	f.wantJobs("t")
	again := f.commitOf(f.claimTurn("t"))
	again.Suspend = &store.Suspend{Open: []string{"q2"}} // q1 is no longer among them
	f.commitTurn(again)
	f.wantJobs()
	wantEqual(f, "the state", f.turnStatus("t"), store.Waiting)
	f.answerTurn("t", "q2", "yes")
	f.wantJobs("t")
	wantEqual(f, "the state", f.turnStatus("t"), store.Pending)
}

func anAnswerWhileTheTurnRunsMakesNoJob(f *fixture) {
	f.suspendTurn(f.createRunning("s", "t"), "q1", "q2")
	f.answerTurn("t", "q1", "yes")
	f.wantJobs("t")
	c := f.claimTurn("t")
	f.answerTurn("t", "q2", "yes")
	f.wantJobs()
	wantEqual(f, "the state", f.turnStatus("t"), store.Running)
	f.finishTurn(c) // the worker still holds it
}

func aQuestionIsAnsweredBeforeTheTurnWaits(f *fixture) {
	c := f.createRunning("s", "t")
	asked := f.commitOf(c)
	asked.Asked = append(asked.Asked, f.questionOf(&c.Turn, "q"))
	f.commitTurn(asked)
	f.answerTurn("t", "q", "yes")
	f.wantJobs()
	wantEqual(f, "the state", f.turnStatus("t"), store.Running)
	waits := f.commitOf(c)
	waits.Suspend = &store.Suspend{Open: []string{"q"}}
	f.commitTurn(waits)
	f.wantJobs("t")
	wantEqual(f, "how many interactions are loaded", len(f.claimTurn("t").Interactions), 1)
}

// A dead worker may have asked a question that the next worker repeats.
func aQuestionIsAskedOnce(f *fixture) {
	f.suspendTurn(f.createRunning("s", "t"), "q1", "q2")
	f.answerTurn("t", "q1", "yes")
	f.wantJobs("t")
	c := f.claimTurn("t")
	f.suspendTurn(c, "q2", "q3")
	f.wantJobs()
	wantEqual(f, "the state", f.turnStatus("t"), store.Waiting)
	wantEqual(f, "the interactions", listQuestions(f, store.InteractionQuery{Scope: store.Everything}), []string{"t/q1", "t/q2", "t/q3"})
	f.answerTurn("t", "q2", "yes")
	f.wantJobs("t")
	c = f.claimTurn("t")
	f.suspendTurn(c, "q2") // it has its answer
	f.wantJobs("t")
	got := try(f.Interaction(f.Context(), store.Everything, "t", "q2")).wantOK(f)
	wantEqual(f, "the answer", string(got.Answer), `{"answer":"yes"}`)
	wantEqual(f, "the state", f.turnStatus("t"), store.Pending)
}

func whatComesWithASuspendIsKept(f *fixture) {
	c := f.createRunning("s", "t")
	asked := f.suspendOf(c, "q")
	asked.Events = append(asked.Events, f.eventOf(&c.Turn, 1, `{}`))
	asked.State, asked.Steps, asked.Messages = []byte("state"), 3, textMessages("question")
	f.commitTurn(asked)
	f.answerTurn("t", "q", "yes")
	c = f.claimTurn("t")
	wantEqual(f, "the state", string(c.State), "state")
	wantEqual(f, "the steps", c.Turn.Steps, 3)
	wantEqual(f, "the latest event", c.Turn.Seq, 1)
	wantEqual(f, "the messages", c.Messages, textMessages("input of t", "question"))
}
