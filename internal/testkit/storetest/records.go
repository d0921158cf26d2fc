package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/store"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var (
	ann = store.Owner{Tenant: "acme", Subject: "ann"}
	bob = store.Owner{Tenant: "acme", Subject: "bob"}
	eve = store.Owner{Tenant: "umbra", Subject: "ann"}
)

// worker claims turns unless another one is named.
const worker = "worker-1"

// sessionOf returns a new session of an owner.
func (f *fixture) sessionOf(o store.Owner, id string) *store.NewSession {
	return &store.NewSession{Session: store.Session{
		ID: id, Owner: o, AgentID: "helper", State: store.SessionActive, CreatedAt: f.now, UpdatedAt: f.now, ActiveAt: f.now,
	}}
}

// createSessions creates sessions of ann.
func (f *fixture) createSessions(ids ...string) {
	f.Helper()
	for _, id := range ids {
		f.sessionFor(ann, id)
	}
}

func (f *fixture) sessionFor(o store.Owner, id string) {
	f.Helper()
	try(f.CreateSession(f.Context(), f.sessionOf(o, id))).wantOK(f)
}

// turnOf returns a new turn of ann.
func (f *fixture) turnOf(session, id string) *store.NewTurn {
	return &store.NewTurn{Input: textMessages("input of " + id), Turn: store.Turn{
		ID: id, SessionID: session, Owner: ann, AgentID: "helper", Request: json.RawMessage(`{"input":"` + id + `"}`),
		SnapshotID: "snapshot-" + id, CreatedAt: f.now,
	}}
}

// createTurns creates turns in a session of ann, in order.
func (f *fixture) createTurns(session string, ids ...string) {
	f.Helper()
	for _, id := range ids {
		f.createTurn(f.turnOf(session, id))
	}
}

// createQueued creates a session of ann with turns that no worker has claimed.
func (f *fixture) createQueued(session string, turns ...string) {
	f.Helper()
	f.createSessions(session)
	f.createTurns(session, turns...)
}

func (f *fixture) createTurn(n *store.NewTurn) *store.Turn {
	f.Helper()
	return try(f.CreateTurn(f.Context(), n)).wantOK(f)
}

// createDelayed creates a turn that is due after a delay.
func (f *fixture) createDelayed(session, id string, after time.Duration) {
	f.Helper()
	n := f.turnOf(session, id)
	n.Turn.NotBefore = f.now.Add(after)
	f.createTurn(n)
}

func (f *fixture) claimOf(id string) *store.Claim {
	return &store.Claim{TurnID: id, Worker: worker, Lease: time.Hour, Now: f.now}
}

func (f *fixture) claimTurn(id string) *store.Claimed {
	f.Helper()
	return try(f.Claim(f.Context(), f.claimOf(id))).wantOK(f)
}

// createStarted creates a turn of a session and claims it.
func (f *fixture) createStarted(session, turn string) *store.Claimed {
	f.Helper()
	f.createTurns(session, turn)
	return f.claimTurn(turn)
}

// createRunning creates a session with a turn that a worker runs.
func (f *fixture) createRunning(session, turn string) *store.Claimed {
	f.Helper()
	f.createQueued(session, turn)
	claimed := f.claimTurn(turn)
	f.wantJobs(turn)
	return claimed
}

// commitOf returns a commit that changes nothing.
func (f *fixture) commitOf(c *store.Claimed) *store.Commit {
	return &store.Commit{TurnID: c.Turn.ID, Fence: c.Turn.Fence, Now: f.now}
}

func (f *fixture) commitTurn(c *store.Commit) {
	f.Helper()
	wantOK(f, f.Commit(f.Context(), c))
}

// yieldTurn hands a turn back.
func (f *fixture) yieldTurn(c *store.Claimed) {
	f.Helper()
	yield := f.commitOf(c)
	yield.Yield = true
	f.commitTurn(yield)
}

// wantFenced checks that a commit is rejected.
func (f *fixture) wantFenced(c *store.Commit) {
	f.Helper()
	wantAs(f, f.Commit(f.Context(), c), &store.FencedError{TurnID: c.TurnID, Fence: c.Fence})
}

// eventOf returns an event of a turn.
func (f *fixture) eventOf(t *store.Turn, seq uint64, data string) event.Record {
	return event.Record{Seq: seq, Time: f.now, TurnID: t.ID, SessionID: t.SessionID, Type: event.TypeTextDelta, Data: json.RawMessage(data)}
}

// finishOf returns a commit that ends a turn successfully with an answer.
func (f *fixture) finishOf(c *store.Claimed) *store.Commit {
	last := f.commitOf(c)
	last.Messages = textMessages("answer of " + c.Turn.ID)
	last.Finish = &store.Finish{Status: store.Succeeded, Result: json.RawMessage(`{"text":"done"}`), Snapshot: f.snapshotOf(c)}
	return last
}

func (f *fixture) snapshotOf(c *store.Claimed) *store.Snapshot {
	return &store.Snapshot{
		ID: c.Turn.SnapshotID, SessionID: c.Turn.SessionID, Owner: c.Turn.Owner, ParentID: c.Turn.ParentSnapshotID,
		TurnID: c.Turn.ID, FinishReason: "stop", CreatedAt: f.now,
	}
}

// artifactOf returns an artifact of a turn.
func (f *fixture) artifactOf(t *store.Turn, id, data string) *store.Artifact {
	return &store.Artifact{
		ID: id, SessionID: t.SessionID, TurnID: t.ID, Owner: t.Owner, Name: "report é.txt", MediaType: "text/plain",
		Size: len(data), Data: []byte(data), Metadata: json.RawMessage(`{"z":1, "a":2}`), CreatedAt: f.now,
	}
}

func (f *fixture) finishTurn(c *store.Claimed) {
	f.Helper()
	f.commitTurn(f.finishOf(c))
}

// createSucceeded creates a turn of a session and runs it to its end.
func (f *fixture) createSucceeded(session, id string) {
	f.Helper()
	f.createTurns(session, id)
	f.finishTurn(f.claimTurn(id))
	f.queue.Take()
}

// endOf returns the change that ends a turn from outside.
func (f *fixture) endOf(turn string) *store.EndTurn {
	return &store.EndTurn{
		Scope: store.Everything, TurnID: turn, Status: store.Canceled, Result: json.RawMessage(`{"reason":"canceled"}`), Now: f.now,
		Event: event.Record{Time: f.now, Type: event.TypeRunFinish, Data: json.RawMessage(`{"status":"canceled"}`)},
	}
}

func (f *fixture) endTurn(turn string) *store.Turn {
	f.Helper()
	return try(f.EndTurn(f.Context(), f.endOf(turn))).wantOK(f)
}

// questionOf returns an interaction of a turn.
func (f *fixture) questionOf(t *store.Turn, id string) *store.Interaction {
	return &store.Interaction{
		ID: id, TurnID: t.ID, SessionID: t.SessionID, Owner: t.Owner, State: store.InteractionPending, Action: "approve",
		Request: json.RawMessage(`{"question":"` + id + `"}`), CreatedAt: f.now,
	}
}

// suspendOf returns a commit that asks and waits.
func (f *fixture) suspendOf(c *store.Claimed, questions ...string) *store.Commit {
	asked := f.commitOf(c)
	asked.Suspend = &store.Suspend{Open: questions}
	for _, id := range questions {
		asked.Asked = append(asked.Asked, f.questionOf(&c.Turn, id))
	}
	return asked
}

func (f *fixture) suspendTurn(c *store.Claimed, questions ...string) {
	f.Helper()
	f.commitTurn(f.suspendOf(c, questions...))
}

func (f *fixture) answerOf(turn, id, answer string) *store.Answer {
	return &store.Answer{
		Scope: store.Everything, TurnID: turn, ID: id, Answer: json.RawMessage(`{"answer":"` + answer + `"}`), By: "ann", Now: f.now,
	}
}

func (f *fixture) answerTurn(turn, id, answer string) *store.Interaction {
	f.Helper()
	return try(f.AnswerInteraction(f.Context(), f.answerOf(turn, id, answer))).wantOK(f)
}

// turnStatus returns the state of a turn.
func (f *fixture) turnStatus(turn string) store.Status {
	f.Helper()
	return f.getTurn(turn).Status
}

func (f *fixture) getTurn(turn string) *store.Turn {
	f.Helper()
	return try(f.Turn(f.Context(), store.Everything, turn)).wantOK(f)
}

func (f *fixture) getSession(id string) *store.Session {
	f.Helper()
	return try(f.Session(f.Context(), store.Everything, id)).wantOK(f)
}

// listEvents returns all events of a turn.
func (f *fixture) listEvents(turn string) []event.Record {
	f.Helper()
	return try(f.Events(f.Context(), turn, 0, 1_000_000)).wantOK(f)
}

// textMessages returns a message for each text.
func textMessages(texts ...string) [][]byte {
	list := make([][]byte, len(texts))
	for i, text := range texts {
		list[i] = fmt.Appendf(nil, "{%q:%q}", "text", text)
	}
	return list
}

// tester is a test or an attempt of a property.
type tester interface {
	Helper()
	Fatalf(format string, args ...any)
}

// result holds the value and the error returned by a store.
type result[T any] struct {
	value T
	err   error
}

// try returns the result of a call.
func try[T any](value T, err error) result[T] { return result[T]{value, err} }

// wantOK returns the value and wants no error.
func (r result[T]) wantOK(t tester) T {
	t.Helper()
	wantOK(t, r.err)
	return r.value
}

// wantOK wants no error.
func wantOK(t tester, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("unexpected error: %v", err)
	}
}

// wantEqual checks that two values are equal. An empty list equals a missing one.
func wantEqual[T any](t tester, what string, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("%s is not what it should be (- want, + got):\n%s", what, diff)
	}
}

// wantError checks that an error is, or wraps, another one.
func wantError(t tester, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("the error is %v, want %v", err, want)
	}
}

// wantAs checks that an error is or wraps one equal to want.
func wantAs[E error](t tester, err error, want E) {
	t.Helper()
	var got E
	if !errors.As(err, &got) {
		t.Fatalf("the error is %v, want %v", err, want)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("the error is not what it should be (- want, + got):\n%s", diff)
	}
}
