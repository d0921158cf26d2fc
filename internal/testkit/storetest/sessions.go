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
	made := try(f.CreateSession(f.Context(), n)).wantOK(f)
	wantEqual(f, "what CreateSession returns", made, &n.Session)
	wantEqual(f, "the session", f.getSession("s"), &n.Session)
}

func anIDIsTakenOnce(f *fixture) {
	f.createSessions("s")
	wantAs(f, try(f.CreateSession(f.Context(), f.sessionOf(ann, "s"))).err, &store.ExistsError{Kind: "session", ID: "s"})
	wantAs(f, try(f.CreateSession(f.Context(), f.sessionOf(eve, "s"))).err, &store.ExistsError{Kind: "session", ID: "s"})
	wantEqual(f, "the owner", f.getSession("s").Owner, ann)
}

func timesAreKeptToTheMicrosecond(f *fixture) {
	n := f.sessionOf(ann, "s")
	n.Session.CreatedAt = f.now.Add(123456789 * time.Nanosecond).In(time.FixedZone("east", 7200))
	want := f.now.Add(123456 * time.Microsecond)
	made := try(f.CreateSession(f.Context(), n)).wantOK(f)
	wantEqual(f, "the time that is returned", made.CreatedAt, want)
	wantEqual(f, "the time that is kept", f.getSession("s").CreatedAt, want)
	wantEqual(f, "a time that is not set", f.getSession("s").LastTurnAt, time.Time{})
	turn := f.turnOf("s", "t")
	turn.Turn.CreatedAt = n.Session.CreatedAt
	wantEqual(f, "the time of a turn", f.createTurn(turn).CreatedAt, want)
	wantEqual(f, "the time of a turn that is kept", f.getTurn("t").CreatedAt, want)
}

func aSessionMayBeginWithAChain(f *fixture) {
	n := f.sessionOf(ann, "s")
	n.Base = snapshotChain(f, "s", "base-1", "base-2")
	made := try(f.CreateSession(f.Context(), n)).wantOK(f)
	wantEqual(f, "the tip", made.Tip, "base-2")
	wantEqual(f, "the tip that is kept", f.getSession("s").Tip, "base-2")
	wantConversation(f, "base-2", "base-1, first", "base-1, second", "base-2, first", "base-2, second")
	f.createTurns("s", "t")
	wantEqual(f, "what the first turn goes on from", f.claimTurn("t").Turn.ParentSnapshotID, "base-2")
}

// snapshotChain returns snapshots of a session without turns, each with two messages, oldest first.
func snapshotChain(f *fixture, session string, ids ...string) []store.NewSnapshot {
	list := make([]store.NewSnapshot, len(ids))
	parent := ""
	for i, id := range ids {
		list[i] = store.NewSnapshot{
			Snapshot: store.Snapshot{
				ID: id, SessionID: session, Owner: ann, ParentID: parent, FinishReason: "stop", Custom: json.RawMessage(`{"z":1,"a":2}`), CreatedAt: f.now,
			},
			Messages: textMessages(id+", first", id+", second"),
		}
		parent = id
	}
	return list
}

func aPatchChangesWhatItNames(f *fixture) {
	n := f.sessionOf(ann, "s")
	n.Session.Labels = map[string]string{"team": "blue", "stage": "test"}
	n.Session.Metadata = json.RawMessage(`{"a":1}`)
	try(f.CreateSession(f.Context(), n)).wantOK(f)
	want := n.Session
	patch := func(p store.SessionPatch) {
		f.Helper()
		want.UpdatedAt = want.UpdatedAt.Add(time.Second)
		p.Now = want.UpdatedAt
		changed := try(f.UpdateSession(f.Context(), store.Of(ann), "s", p)).wantOK(f)
		wantEqual(f, "what UpdateSession returns", changed, &want)
		wantEqual(f, "the session", f.getSession("s"), &want)
	}
	want.Labels = map[string]string{"team": "red"}
	patch(store.SessionPatch{Labels: &map[string]string{"team": "red"}})
	want.Metadata = json.RawMessage(`{"b":[]}`)
	patch(store.SessionPatch{Metadata: &want.Metadata})
	kept := f.getSession("s").Metadata
	for _, other := range []json.RawMessage{nil, json.RawMessage(`{"b":[1]}`)} {
		wantError(f, try(f.UpdateSession(f.Context(), store.Everything, "s", store.SessionPatch{IfMetadata: &other, Metadata: &other, Now: f.now})).err, store.ErrChanged)
	}
	patch(store.SessionPatch{IfMetadata: &kept, Metadata: &want.Metadata})
	want.AgentID = "other"
	patch(store.SessionPatch{AgentID: &want.AgentID})
	want.Labels = nil
	patch(store.SessionPatch{Labels: new(map[string]string)})
	wantError(f, try(f.UpdateSession(f.Context(), store.Everything, "none", store.SessionPatch{Now: f.now})).err, store.ErrNotFound)
}

func setSessionState(f *fixture, session string, state store.SessionState) {
	f.Helper()
	try(f.UpdateSession(f.Context(), store.Everything, session, store.SessionPatch{State: &state, Now: f.now})).wantOK(f)
}

func aSessionIsArchivedAndBack(f *fixture) {
	f.createSessions("s")
	setSessionState(f, "s", store.SessionArchived)
	wantAs(f, try(f.CreateTurn(f.Context(), f.turnOf("s", "t"))).err, &store.StateError{Kind: "session", ID: "s", State: "archived", Want: "given a turn"})
	wantError(f, try(f.Turn(f.Context(), store.Everything, "t")).err, store.ErrNotFound)
	f.wantJobs()
	setSessionState(f, "s", store.SessionActive)
	f.createTurns("s", "t")
	setSessionState(f, "s", store.SessionArchived)
	f.finishTurn(f.claimTurn("t")) // turns created earlier still run
	wantEqual(f, "the turn", f.turnStatus("t"), store.Succeeded)
}

func moveTip(f *fixture, session, tip string) error {
	_, err := f.UpdateSession(f.Context(), store.Everything, session, store.SessionPatch{Tip: &tip, Now: f.now})
	return err
}

func theTipMovesWithinTheSession(f *fixture) {
	f.createSessions("s", "other")
	f.createSucceeded("s", "t1")
	f.createSucceeded("s", "t2")
	f.createSucceeded("other", "t3")
	wantEqual(f, "the tip", f.getSession("s").Tip, "snapshot-t2")
	wantOK(f, moveTip(f, "s", "snapshot-t1"))
	wantEqual(f, "the tip", f.getSession("s").Tip, "snapshot-t1")
	wantError(f, moveTip(f, "s", "snapshot-t3"), store.ErrNotFound)
	wantError(f, moveTip(f, "s", "none"), store.ErrNotFound)
	wantEqual(f, "the tip", f.getSession("s").Tip, "snapshot-t1")
	f.createTurns("s", "t4")
	wantEqual(f, "what the next turn goes on from", f.claimTurn("t4").Turn.ParentSnapshotID, "snapshot-t1")
}

func theTipStaysWhileATurnHasStarted(f *fixture) {
	f.createSessions("s")
	f.createSucceeded("s", "t1")
	f.createSucceeded("s", "t2")
	f.createTurns("s", "t3")
	wantOK(f, moveTip(f, "s", "snapshot-t1")) // it has not started
	c := f.claimTurn("t3")
	busy := &store.BusyError{SessionID: "s", TurnID: "t3"}
	wantAs(f, moveTip(f, "s", "snapshot-t2"), busy)
	f.suspendTurn(c, "q")
	wantAs(f, moveTip(f, "s", "snapshot-t2"), busy)
	f.answerTurn("t3", "q", "yes")
	wantAs(f, moveTip(f, "s", "snapshot-t2"), busy)

	label := map[string]string{"a": "b"}
	tip := "snapshot-t2"
	wantAs(f, try(f.UpdateSession(f.Context(), store.Everything, "s", store.SessionPatch{Tip: &tip, Labels: &label, Now: f.now})).err, busy)
	wantEqual(f, "the labels after a refused patch", f.getSession("s").Labels, nil)
	wantEqual(f, "the tip after a refused patch", f.getSession("s").Tip, "snapshot-t1")
	f.endTurn("t3")
	wantOK(f, moveTip(f, "s", "snapshot-t2"))
}

func aBusySessionIsNotDeleted(f *fixture) {
	f.createSessions("s")
	busy := &store.BusyError{SessionID: "s", TurnID: "t"}
	f.createTurns("s", "t")
	wantAs(f, f.DeleteSession(f.Context(), store.Of(ann), "s"), busy)
	c := f.claimTurn("t")
	wantAs(f, f.DeleteSession(f.Context(), store.Of(ann), "s"), busy)
	f.suspendTurn(c, "q")
	wantAs(f, f.DeleteSession(f.Context(), store.Of(ann), "s"), busy)
	f.endTurn("t")
	wantOK(f, f.DeleteSession(f.Context(), store.Of(ann), "s"))
	wantError(f, f.DeleteSession(f.Context(), store.Of(ann), "s"), store.ErrNotFound)
}

// createFull creates a session with one of every kind of record, all belonging to an ended turn.
func createFull(f *fixture, session, turn string) {
	f.Helper()
	n := f.sessionOf(ann, session)
	n.Key = store.Key{Value: "key of " + session, Hash: []byte("hash")}
	n.Session.Labels = map[string]string{"team": "blue"}
	try(f.CreateSession(f.Context(), n)).wantOK(f)
	new := f.turnOf(session, turn)
	new.Key = store.Key{Value: "key", Hash: []byte("hash")}
	f.createTurn(new)
	c := f.claimTurn(turn)
	asked := f.suspendOf(c, "q")
	asked.Events = append(asked.Events, f.eventOf(&c.Turn, 1, `{"delta":"a"}`))
	asked.Journal = []store.JournalRow{{Key: turn + "/call", Entry: json.RawMessage(`{"tool":"a"}`)}}
	asked.State = []byte("state")
	f.commitTurn(asked)
	f.answerTurn(turn, "q", "yes")
	c = f.claimTurn(turn)
	last := f.finishOf(c)
	last.Artifacts = []*store.Artifact{f.artifactOf(&c.Turn, "artifact-"+turn, "data")}
	f.commitTurn(last)
	f.queue.Take()
}

func aDeletedSessionLeavesNothing(f *fixture) {
	createFull(f, "s", "t")
	ctx := f.Context()
	wantOK(f, f.DeleteSession(ctx, store.Of(ann), "s"))

	wantError(f, try(f.Session(ctx, store.Everything, "s")).err, store.ErrNotFound)
	wantError(f, try(f.Turn(ctx, store.Everything, "t")).err, store.ErrNotFound)
	wantError(f, try(f.Snapshot(ctx, store.Everything, "snapshot-t")).err, store.ErrNotFound)
	wantError(f, try(f.Conversation(ctx, "snapshot-t")).err, store.ErrNotFound)
	wantError(f, try(f.Interaction(ctx, store.Everything, "t", "q")).err, store.ErrNotFound)
	wantError(f, try(f.Artifact(ctx, store.Everything, "artifact-t")).err, store.ErrNotFound)
	wantEqual(f, "the messages", try(f.OwnMessages(ctx, "t")).wantOK(f), nil)
	wantEqual(f, "the events", f.listEvents("t"), nil)
	wantEqual(f, "the journal", try(f.Journal(ctx, "t")).wantOK(f), nil)
	sessions := try(f.Sessions(ctx, store.SessionQuery{Scope: store.Everything, Labels: map[string]string{"team": "blue"}})).wantOK(f)
	wantEqual(f, "the sessions", sessions, store.SessionPage{})
	turns := try(f.Turns(ctx, store.TurnQuery{Scope: store.Everything})).wantOK(f)
	wantEqual(f, "the turns", turns, store.TurnPage{})
	questions := try(f.Interactions(ctx, store.InteractionQuery{Scope: store.Everything})).wantOK(f)
	wantEqual(f, "the interactions", questions, nil)

	createFull(f, "s", "t") // all names are free again
}

func aDeletedSessionLeavesOthers(f *fixture) {
	createFull(f, "s", "t")
	createFull(f, "other", "u")
	wantOK(f, f.DeleteSession(f.Context(), store.Of(ann), "s"))
	wantEqual(f, "the turn", f.turnStatus("u"), store.Succeeded)
	wantEqual(f, "how many events there are", len(f.listEvents("u")), 1)
	wantConversation(f, "snapshot-u", "input of u", "answer of u")
	artifact := try(f.Artifact(f.Context(), store.Of(ann), "artifact-u")).wantOK(f)
	wantEqual(f, "the data", string(artifact.Data), "data")
	try(f.Interaction(f.Context(), store.Of(ann), "u", "q")).wantOK(f)
}

func whatIsReturnedIsACopy(f *fixture) {
	n := f.sessionOf(ann, "s")
	n.Session.Labels = map[string]string{"a": "1"}
	n.Session.Metadata = json.RawMessage(`{"a":1}`)
	made := try(f.CreateSession(f.Context(), n)).wantOK(f)
	n.Session.Labels["a"], n.Session.Metadata[2] = "2", 'x'
	made.Labels["a"], made.Metadata[2], made.AgentID = "3", 'y', "other"
	got := f.getSession("s")
	got.Labels["a"], got.Metadata[2] = "4", 'z'
	got = f.getSession("s")
	wantEqual(f, "the labels", got.Labels, map[string]string{"a": "1"})
	wantEqual(f, "the metadata", string(got.Metadata), `{"a":1}`)
	wantEqual(f, "the agent", got.AgentID, "helper")

	turn := f.turnOf("s", "t")
	f.createTurn(turn)
	turn.Input[0][0], turn.Turn.Request[0] = 'x', 'x'
	c := f.claimTurn("t")
	c.Messages[0][0], c.Turn.Request[0] = 'y', 'y'
	write := f.commitOf(c)
	write.Events = append(write.Events, f.eventOf(&c.Turn, 1, `{"delta":"a"}`))
	write.Journal = []store.JournalRow{{Key: "call", Entry: json.RawMessage(`{"tool":"a"}`)}}
	write.Messages = textMessages("one")
	f.commitTurn(write)
	write.Events[0].Data[0], write.Journal[0].Entry[0], write.Messages[0][0] = 'x', 'x', 'x'
	f.listEvents("t")[0].Data[0] = 'y'
	wantEqual(f, "the request", string(f.getTurn("t").Request), `{"input":"t"}`)
	wantEqual(f, "the event", string(f.listEvents("t")[0].Data), `{"delta":"a"}`)
	wantEqual(f, "the messages", try(f.OwnMessages(f.Context(), "t")).wantOK(f), textMessages("input of t", "one"))
	journal := try(f.Journal(f.Context(), "t")).wantOK(f)
	wantEqual(f, "the journal", string(journal[0].Entry), `{"tool":"a"}`)
}

func aTurnIsActivity(f *fixture) {
	f.createSessions("s")
	n := f.turnOf("s", "t")
	n.Turn.CreatedAt = f.now.Add(time.Minute)
	f.createTurn(n)
	s := f.getSession("s")
	wantEqual(f, "when the session had a turn last", s.LastTurnAt, f.now.Add(time.Minute))
	wantEqual(f, "when it was active", s.ActiveAt, f.now.Add(time.Minute))
	end := f.finishOf(f.claimTurn("t"))
	end.Now = f.now.Add(2 * time.Minute)
	f.commitTurn(end)
	wantEqual(f, "when it was active after the end", f.getSession("s").ActiveAt, f.now.Add(2*time.Minute))
	wantEqual(f, "when it had a turn last", f.getSession("s").LastTurnAt, f.now.Add(time.Minute))
}
