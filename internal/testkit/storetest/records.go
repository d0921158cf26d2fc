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

// worker claims turns, until another one is named.
const worker = "worker-1"

// sessionOf returns a session of an owner that was not made yet.
func (f *fixture) sessionOf(o store.Owner, id string) *store.NewSession {
	return &store.NewSession{Session: store.Session{
		ID: id, Owner: o, AgentID: "helper", State: store.SessionActive, CreatedAt: f.now, UpdatedAt: f.now, ActiveAt: f.now,
	}}
}

// session makes sessions of ann.
func (f *fixture) session(ids ...string) {
	f.Helper()
	for _, id := range ids {
		f.sessionFor(ann, id)
	}
}

func (f *fixture) sessionFor(o store.Owner, id string) {
	f.Helper()
	_, err := f.CreateSession(f.Context(), f.sessionOf(o, id))
	ok(f, err)
}

// turnOf returns a turn of ann that was not made yet.
func (f *fixture) turnOf(session, id string) *store.NewTurn {
	return &store.NewTurn{Input: messages("input of " + id), Turn: store.Turn{
		ID: id, SessionID: session, Owner: ann, AgentID: "helper", Request: json.RawMessage(`{"input":"` + id + `"}`),
		SnapshotID: "snapshot-" + id, CreatedAt: f.now,
	}}
}

// turn makes turns in a session of ann, in order.
func (f *fixture) turn(session string, ids ...string) {
	f.Helper()
	for _, id := range ids {
		f.create(f.turnOf(session, id))
	}
}

func (f *fixture) create(n *store.NewTurn) *store.Turn {
	f.Helper()
	made, err := f.CreateTurn(f.Context(), n)
	ok(f, err)
	return made
}

func (f *fixture) claimOf(id string) *store.Claim {
	return &store.Claim{TurnID: id, Worker: worker, Lease: time.Hour, Now: f.now}
}

func (f *fixture) claim(id string) *store.Claimed {
	f.Helper()
	claimed, err := f.Claim(f.Context(), f.claimOf(id))
	ok(f, err)
	return claimed
}

// started makes a turn of a session and claims it.
func (f *fixture) started(session, turn string) *store.Claimed {
	f.Helper()
	f.turn(session, turn)
	return f.claim(turn)
}

// running makes a session with a turn that a worker runs.
func (f *fixture) running(session, turn string) *store.Claimed {
	f.Helper()
	f.session(session)
	f.turn(session, turn)
	claimed := f.claim(turn)
	f.jobs(turn)
	return claimed
}

// commitOf returns a commit that changes nothing.
func (f *fixture) commitOf(c *store.Claimed) *store.Commit {
	return &store.Commit{TurnID: c.Turn.ID, Fence: c.Turn.Fence, Now: f.now}
}

func (f *fixture) commit(c *store.Commit) {
	f.Helper()
	ok(f, f.Commit(f.Context(), c))
}

// eventOf returns an event of a turn.
func (f *fixture) eventOf(t *store.Turn, seq uint64, data string) event.Record {
	return event.Record{Seq: seq, Time: f.now, TurnID: t.ID, SessionID: t.SessionID, Type: event.TypeTextDelta, Data: json.RawMessage(data)}
}

// finishOf returns a commit that ends a turn successfully, with an answer.
func (f *fixture) finishOf(c *store.Claimed) *store.Commit {
	last := f.commitOf(c)
	last.Messages = messages("answer of " + c.Turn.ID)
	last.Finish = &store.Finish{Status: store.Succeeded, Result: json.RawMessage(`{"text":"done"}`), Snapshot: f.snapshotOf(c)}
	return last
}

func (f *fixture) snapshotOf(c *store.Claimed) *store.Snapshot {
	return &store.Snapshot{
		ID: c.Turn.SnapshotID, SessionID: c.Turn.SessionID, Owner: c.Turn.Owner, ParentID: c.Turn.ParentSnapshotID,
		TurnID: c.Turn.ID, FinishReason: "stop", CreatedAt: f.now,
	}
}

func (f *fixture) finish(c *store.Claimed) {
	f.Helper()
	f.commit(f.finishOf(c))
}

// succeed makes a turn of a session and runs it to its end.
func (f *fixture) succeed(session, id string) {
	f.Helper()
	f.turn(session, id)
	f.finish(f.claim(id))
	f.queue.Take()
}

// endOf returns what ends a turn from outside.
func (f *fixture) endOf(turn string) *store.EndTurn {
	return &store.EndTurn{
		Scope: store.Everything, TurnID: turn, Status: store.Canceled, Result: json.RawMessage(`{"reason":"canceled"}`), Now: f.now,
		Event: event.Record{Time: f.now, Type: event.TypeRunFinish, Data: json.RawMessage(`{"status":"canceled"}`)},
	}
}

func (f *fixture) end(turn string) *store.Turn {
	f.Helper()
	ended, err := f.EndTurn(f.Context(), f.endOf(turn))
	ok(f, err)
	return ended
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

func (f *fixture) suspend(c *store.Claimed, questions ...string) {
	f.Helper()
	f.commit(f.suspendOf(c, questions...))
}

func (f *fixture) answerOf(turn, id, answer string) *store.Answer {
	return &store.Answer{
		Scope: store.Everything, TurnID: turn, ID: id, Answer: json.RawMessage(`{"answer":"` + answer + `"}`), By: "ann", Now: f.now,
	}
}

func (f *fixture) answer(turn, id, answer string) *store.Interaction {
	f.Helper()
	resolved, err := f.AnswerInteraction(f.Context(), f.answerOf(turn, id, answer))
	ok(f, err)
	return resolved
}

// status returns the state of a turn.
func (f *fixture) status(turn string) store.Status {
	f.Helper()
	return f.get(turn).Status
}

func (f *fixture) get(turn string) *store.Turn {
	f.Helper()
	found, err := f.Turn(f.Context(), store.Everything, turn)
	ok(f, err)
	return found
}

func (f *fixture) getSession(id string) *store.Session {
	f.Helper()
	found, err := f.Session(f.Context(), store.Everything, id)
	ok(f, err)
	return found
}

// events returns all events of a turn.
func (f *fixture) events(turn string) []event.Record {
	f.Helper()
	list, err := f.Events(f.Context(), turn, 0, 1_000_000)
	ok(f, err)
	return list
}

// messages returns a message for each text.
func messages(texts ...string) [][]byte {
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

// ok wants no error.
func ok(t tester, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("unexpected error: %v", err)
	}
}

// equal wants two values to be the same. An empty list is no list.
func equal[T any](t tester, what string, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("%s is not what it should be (- want, + got):\n%s", what, diff)
	}
}

// is wants an error that is another one.
func is(t tester, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("the error is %v, want %v", err, want)
	}
}

// as wants an error that is, or wraps, the same as want.
func as[E error](t tester, err error, want E) {
	t.Helper()
	var got E
	if !errors.As(err, &got) {
		t.Fatalf("the error is %v, want %v", err, want)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("the error is not what it should be (- want, + got):\n%s", diff)
	}
}
