package storetest

import (
	"encoding/json"
	"time"

	"github.com/agentruntime/agentruntime/store"
)

var sessionTests = []test{
	{name: "ASessionIsReadAsItWasMade", run: aSessionIsReadAsItWasMade},
	{name: "AnIDIsTakenOnce", run: anIDIsTakenOnce},
	{name: "TimesAreKeptToTheMicrosecond", run: timesAreKeptToTheMicrosecond},
	{name: "ASessionMayBeginWithAChain", run: aSessionMayBeginWithAChain},
	{name: "APatchChangesWhatItNames", run: aPatchChangesWhatItNames},
	{name: "ASessionIsArchivedAndBack", run: aSessionIsArchivedAndBack},
	{name: "TheTipMovesWithinTheSession", run: theTipMovesWithinTheSession},
	{name: "TheTipStaysWhileATurnHasStarted", run: theTipStaysWhileATurnHasStarted},
	{name: "ABusySessionIsNotDeleted", run: aBusySessionIsNotDeleted},
	{name: "ADeletedSessionLeavesNothing", run: aDeletedSessionLeavesNothing},
	{name: "ADeletedSessionLeavesOthers", run: aDeletedSessionLeavesOthers},
	{name: "WhatIsReturnedIsACopy", run: whatIsReturnedIsACopy},
	{name: "ATurnIsActivity", run: aTurnIsActivity},
}

func aSessionIsReadAsItWasMade(f *fixture) {
	n := f.sessionOf(ann, "s")
	n.Session.Labels = map[string]string{"team": "blue", "ünïcode": "✓ \"quoted\" \\ % _"}
	n.Session.Metadata = json.RawMessage(`{"z": 1,  "a": "\u00e9é"}`)
	made, err := f.CreateSession(f.Context(), n)
	ok(f, err)
	equal(f, "what CreateSession returns", made, &n.Session)
	equal(f, "the session", f.getSession("s"), &n.Session)
}

func anIDIsTakenOnce(f *fixture) {
	f.session("s")
	_, err := f.CreateSession(f.Context(), f.sessionOf(ann, "s"))
	as(f, err, &store.ExistsError{Kind: "session", ID: "s"})
	_, err = f.CreateSession(f.Context(), f.sessionOf(eve, "s"))
	as(f, err, &store.ExistsError{Kind: "session", ID: "s"})
	equal(f, "the owner", f.getSession("s").Owner, ann)
}

func timesAreKeptToTheMicrosecond(f *fixture) {
	n := f.sessionOf(ann, "s")
	n.Session.CreatedAt = f.now.Add(123456789 * time.Nanosecond).In(time.FixedZone("east", 7200))
	want := f.now.Add(123456 * time.Microsecond)
	made, err := f.CreateSession(f.Context(), n)
	ok(f, err)
	equal(f, "the time that is returned", made.CreatedAt, want)
	equal(f, "the time that is kept", f.getSession("s").CreatedAt, want)
	equal(f, "a time that is not set", f.getSession("s").LastTurnAt, time.Time{})
	turn := f.turnOf("s", "t")
	turn.Turn.CreatedAt = n.Session.CreatedAt
	equal(f, "the time of a turn", f.create(turn).CreatedAt, want)
	equal(f, "the time of a turn that is kept", f.get("t").CreatedAt, want)
}

func aSessionMayBeginWithAChain(f *fixture) {
	n := f.sessionOf(ann, "s")
	n.Base = f.chain("s", "base-1", "base-2")
	made, err := f.CreateSession(f.Context(), n)
	ok(f, err)
	equal(f, "the tip", made.Tip, "base-2")
	equal(f, "the tip that is kept", f.getSession("s").Tip, "base-2")
	all, err := f.Conversation(f.Context(), "base-2")
	ok(f, err)
	equal(f, "the conversation", all, messages("base-1, first", "base-1, second", "base-2, first", "base-2, second"))
	f.turn("s", "t")
	equal(f, "what the first turn goes on from", f.claim("t").Turn.ParentSnapshotID, "base-2")
}

// chain returns snapshots of a session without turns, each with two messages,
// the oldest first.
func (f *fixture) chain(session string, ids ...string) []store.NewSnapshot {
	list := make([]store.NewSnapshot, len(ids))
	parent := ""
	for i, id := range ids {
		list[i] = store.NewSnapshot{
			Snapshot: store.Snapshot{
				ID: id, SessionID: session, Owner: ann, ParentID: parent, FinishReason: "stop", Custom: json.RawMessage(`{"z":1,"a":2}`), CreatedAt: f.now,
			},
			Messages: messages(id+", first", id+", second"),
		}
		parent = id
	}
	return list
}

func aPatchChangesWhatItNames(f *fixture) {
	n := f.sessionOf(ann, "s")
	n.Session.Labels = map[string]string{"team": "blue", "stage": "test"}
	n.Session.Metadata = json.RawMessage(`{"a":1}`)
	_, err := f.CreateSession(f.Context(), n)
	ok(f, err)
	want := n.Session
	patch := func(p store.SessionPatch) {
		f.Helper()
		want.UpdatedAt = want.UpdatedAt.Add(time.Second)
		p.Now = want.UpdatedAt
		changed, err := f.UpdateSession(f.Context(), store.Of(ann), "s", p)
		ok(f, err)
		equal(f, "what UpdateSession returns", changed, &want)
		equal(f, "the session", f.getSession("s"), &want)
	}
	want.Labels = map[string]string{"team": "red"}
	patch(store.SessionPatch{Labels: &map[string]string{"team": "red"}})
	want.Metadata = json.RawMessage(`{"b":[]}`)
	patch(store.SessionPatch{Metadata: &want.Metadata})
	want.AgentID = "other"
	patch(store.SessionPatch{AgentID: &want.AgentID})
	want.Labels = nil
	patch(store.SessionPatch{Labels: new(map[string]string)})
	_, err = f.UpdateSession(f.Context(), store.Everything, "none", store.SessionPatch{Now: f.now})
	is(f, err, store.ErrNotFound)
}

func (f *fixture) setState(session string, state store.SessionState) {
	f.Helper()
	_, err := f.UpdateSession(f.Context(), store.Everything, session, store.SessionPatch{State: &state, Now: f.now})
	ok(f, err)
}

func aSessionIsArchivedAndBack(f *fixture) {
	f.session("s")
	f.setState("s", store.SessionArchived)
	_, err := f.CreateTurn(f.Context(), f.turnOf("s", "t"))
	as(f, err, &store.StateError{Kind: "session", ID: "s", State: "archived", Want: "given a turn"})
	_, err = f.Turn(f.Context(), store.Everything, "t")
	is(f, err, store.ErrNotFound)
	f.jobs()
	f.setState("s", store.SessionActive)
	f.turn("s", "t")
	f.setState("s", store.SessionArchived)
	f.finish(f.claim("t")) // what was made before goes on
	equal(f, "the turn", f.status("t"), store.Succeeded)
}

func (f *fixture) moveTip(session, tip string) error {
	_, err := f.UpdateSession(f.Context(), store.Everything, session, store.SessionPatch{Tip: &tip, Now: f.now})
	return err
}

func theTipMovesWithinTheSession(f *fixture) {
	f.session("s", "other")
	f.succeed("s", "t1")
	f.succeed("s", "t2")
	f.succeed("other", "t3")
	equal(f, "the tip", f.getSession("s").Tip, "snapshot-t2")
	ok(f, f.moveTip("s", "snapshot-t1"))
	equal(f, "the tip", f.getSession("s").Tip, "snapshot-t1")
	is(f, f.moveTip("s", "snapshot-t3"), store.ErrNotFound)
	is(f, f.moveTip("s", "none"), store.ErrNotFound)
	equal(f, "the tip", f.getSession("s").Tip, "snapshot-t1")
	f.turn("s", "t4")
	equal(f, "what the next turn goes on from", f.claim("t4").Turn.ParentSnapshotID, "snapshot-t1")
}

func theTipStaysWhileATurnHasStarted(f *fixture) {
	f.session("s")
	f.succeed("s", "t1")
	f.succeed("s", "t2")
	f.turn("s", "t3")
	ok(f, f.moveTip("s", "snapshot-t1")) // it has not started
	c := f.claim("t3")
	busy := &store.BusyError{SessionID: "s", TurnID: "t3"}
	as(f, f.moveTip("s", "snapshot-t2"), busy)
	f.suspend(c, "q")
	as(f, f.moveTip("s", "snapshot-t2"), busy)
	f.answer("t3", "q", "yes")
	as(f, f.moveTip("s", "snapshot-t2"), busy)

	label := map[string]string{"a": "b"}
	tip := "snapshot-t2"
	_, err := f.UpdateSession(f.Context(), store.Everything, "s", store.SessionPatch{Tip: &tip, Labels: &label, Now: f.now})
	as(f, err, busy)
	equal(f, "the labels after a refused patch", f.getSession("s").Labels, nil)
	equal(f, "the tip after a refused patch", f.getSession("s").Tip, "snapshot-t1")
	f.end("t3")
	ok(f, f.moveTip("s", "snapshot-t2"))
}

func aBusySessionIsNotDeleted(f *fixture) {
	f.session("s")
	busy := &store.BusyError{SessionID: "s", TurnID: "t"}
	f.turn("s", "t")
	as(f, f.DeleteSession(f.Context(), store.Of(ann), "s"), busy)
	c := f.claim("t")
	as(f, f.DeleteSession(f.Context(), store.Of(ann), "s"), busy)
	f.suspend(c, "q")
	as(f, f.DeleteSession(f.Context(), store.Of(ann), "s"), busy)
	f.end("t")
	ok(f, f.DeleteSession(f.Context(), store.Of(ann), "s"))
	is(f, f.DeleteSession(f.Context(), store.Of(ann), "s"), store.ErrNotFound)
}

// full makes a session with something of everything, all of which belongs to a
// turn that has ended.
func (f *fixture) full(session, turn string) {
	f.Helper()
	n := f.sessionOf(ann, session)
	n.Key = store.Key{Value: "key of " + session, Hash: []byte("hash")}
	n.Session.Labels = map[string]string{"team": "blue"}
	_, err := f.CreateSession(f.Context(), n)
	ok(f, err)
	new := f.turnOf(session, turn)
	new.Key = store.Key{Value: "key", Hash: []byte("hash")}
	f.create(new)
	c := f.claim(turn)
	asked := f.suspendOf(c, "q")
	asked.Events = append(asked.Events, f.eventOf(&c.Turn, 1, `{"delta":"a"}`))
	asked.Journal = []store.JournalRow{{Key: turn + "/call", Entry: json.RawMessage(`{"tool":"a"}`)}}
	asked.State = []byte("state")
	f.commit(asked)
	f.answer(turn, "q", "yes")
	c = f.claim(turn)
	last := f.finishOf(c)
	last.Artifacts = []*store.Artifact{f.artifactOf(&c.Turn, "artifact-"+turn, "data")}
	f.commit(last)
	f.queue.Take()
}

func aDeletedSessionLeavesNothing(f *fixture) {
	f.full("s", "t")
	ctx := f.Context()
	ok(f, f.DeleteSession(ctx, store.Of(ann), "s"))

	_, err := f.Session(ctx, store.Everything, "s")
	is(f, err, store.ErrNotFound)
	_, err = f.Turn(ctx, store.Everything, "t")
	is(f, err, store.ErrNotFound)
	_, err = f.Snapshot(ctx, store.Everything, "snapshot-t")
	is(f, err, store.ErrNotFound)
	_, err = f.Conversation(ctx, "snapshot-t")
	is(f, err, store.ErrNotFound)
	_, err = f.Interaction(ctx, store.Everything, "t", "q")
	is(f, err, store.ErrNotFound)
	_, err = f.Artifact(ctx, store.Everything, "artifact-t")
	is(f, err, store.ErrNotFound)
	own, err := f.OwnMessages(ctx, "t")
	ok(f, err)
	equal(f, "the messages", own, nil)
	equal(f, "the events", f.events("t"), nil)
	journal, err := f.Journal(ctx, "t")
	ok(f, err)
	equal(f, "the journal", journal, nil)
	sessions, err := f.Sessions(ctx, store.SessionQuery{Scope: store.Everything, Labels: map[string]string{"team": "blue"}})
	ok(f, err)
	equal(f, "the sessions", sessions, store.SessionPage{})
	turns, err := f.Turns(ctx, store.TurnQuery{Scope: store.Everything})
	ok(f, err)
	equal(f, "the turns", turns, store.TurnPage{})
	questions, err := f.Interactions(ctx, store.InteractionQuery{Scope: store.Everything})
	ok(f, err)
	equal(f, "the interactions", questions, nil)

	f.full("s", "t") // all names are free again
}

func aDeletedSessionLeavesOthers(f *fixture) {
	f.full("s", "t")
	f.full("other", "u")
	ok(f, f.DeleteSession(f.Context(), store.Of(ann), "s"))
	equal(f, "the turn", f.status("u"), store.Succeeded)
	equal(f, "how many events there are", len(f.events("u")), 1)
	all, err := f.Conversation(f.Context(), "snapshot-u")
	ok(f, err)
	equal(f, "the conversation", all, messages("input of u", "answer of u"))
	artifact, err := f.Artifact(f.Context(), store.Of(ann), "artifact-u")
	ok(f, err)
	equal(f, "the data", string(artifact.Data), "data")
	_, err = f.Interaction(f.Context(), store.Of(ann), "u", "q")
	ok(f, err)
}

func whatIsReturnedIsACopy(f *fixture) {
	n := f.sessionOf(ann, "s")
	n.Session.Labels = map[string]string{"a": "1"}
	n.Session.Metadata = json.RawMessage(`{"a":1}`)
	made, err := f.CreateSession(f.Context(), n)
	ok(f, err)
	n.Session.Labels["a"], n.Session.Metadata[2] = "2", 'x'
	made.Labels["a"], made.Metadata[2], made.AgentID = "3", 'y', "other"
	got := f.getSession("s")
	got.Labels["a"], got.Metadata[2] = "4", 'z'
	got = f.getSession("s")
	equal(f, "the labels", got.Labels, map[string]string{"a": "1"})
	equal(f, "the metadata", string(got.Metadata), `{"a":1}`)
	equal(f, "the agent", got.AgentID, "helper")

	turn := f.turnOf("s", "t")
	f.create(turn)
	turn.Input[0][0], turn.Turn.Request[0] = 'x', 'x'
	c := f.claim("t")
	c.Messages[0][0], c.Turn.Request[0] = 'y', 'y'
	write := f.commitOf(c)
	write.Events = append(write.Events, f.eventOf(&c.Turn, 1, `{"delta":"a"}`))
	write.Journal = []store.JournalRow{{Key: "call", Entry: json.RawMessage(`{"tool":"a"}`)}}
	write.Messages = messages("one")
	f.commit(write)
	write.Events[0].Data[0], write.Journal[0].Entry[0], write.Messages[0][0] = 'x', 'x', 'x'
	f.events("t")[0].Data[0] = 'y'
	equal(f, "the request", string(f.get("t").Request), `{"input":"t"}`)
	equal(f, "the event", string(f.events("t")[0].Data), `{"delta":"a"}`)
	own, err := f.OwnMessages(f.Context(), "t")
	ok(f, err)
	equal(f, "the messages", own, messages("input of t", "one"))
	journal, err := f.Journal(f.Context(), "t")
	ok(f, err)
	equal(f, "the journal", string(journal[0].Entry), `{"tool":"a"}`)
}

func aTurnIsActivity(f *fixture) {
	f.session("s")
	n := f.turnOf("s", "t")
	n.Turn.CreatedAt = f.now.Add(time.Minute)
	f.create(n)
	s := f.getSession("s")
	equal(f, "when the session had a turn last", s.LastTurnAt, f.now.Add(time.Minute))
	equal(f, "when it was active", s.ActiveAt, f.now.Add(time.Minute))
	end := f.finishOf(f.claim("t"))
	end.Now = f.now.Add(2 * time.Minute)
	f.commit(end)
	equal(f, "when it was active after the end", f.getSession("s").ActiveAt, f.now.Add(2*time.Minute))
	equal(f, "when it had a turn last", f.getSession("s").LastTurnAt, f.now.Add(time.Minute))
}
