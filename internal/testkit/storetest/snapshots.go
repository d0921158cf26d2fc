package storetest

import (
	"fmt"
	"time"

	"github.com/agentruntime/agentruntime/store"
)

var snapshotTests = []test{
	{name: "TheChainIsTheConversation", run: theChainIsTheConversation},
	{name: "TheyAreListedNewestFirst", run: theyAreListedNewestFirst},
	{name: "ABranchHasItsOwnConversation", run: aBranchHasItsOwnConversation},
	{name: "AForkGoesOnFromItsBase", run: aForkGoesOnFromItsBase},
	{name: "AnUnknownSnapshotHasNoConversation", run: anUnknownSnapshotHasNoConversation},
	{name: "ALongChainIsRead", run: aLongChainIsRead},
}

// wantConversation checks the messages up to a snapshot.
func wantConversation(f *fixture, snapshot string, want ...string) {
	f.Helper()
	all := try(f.Conversation(f.Context(), snapshot)).wantOK(f)
	wantEqual(f, "the conversation up to "+snapshot, all, textMessages(want...))
}

func theChainIsTheConversation(f *fixture) {
	f.createSessions("s", "other")
	f.createSucceeded("s", "t1")
	f.createSucceeded("other", "o")
	f.createTurns("s", "t2")
	c := f.claimTurn("t2")
	asked := f.suspendOf(c, "q")
	asked.Messages = textMessages("call", "question")
	f.commitTurn(asked)
	wantConversation(f, "snapshot-t1", "input of t1", "answer of t1") // t2 is not part of it
	f.answerTurn("t2", "q", "yes")
	f.finishTurn(f.claimTurn("t2"))
	f.createSucceeded("s", "t3")
	wantConversation(f, "snapshot-t3",
		"input of t1", "answer of t1", "input of t2", "call", "question", "answer of t2", "input of t3", "answer of t3")
	wantConversation(f, "snapshot-t2", "input of t1", "answer of t1", "input of t2", "call", "question", "answer of t2")
	wantEqual(f, "the messages of a snapshot", try(f.OwnMessages(f.Context(), "snapshot-t2")).wantOK(f), textMessages("input of t2", "call", "question", "answer of t2"))
	snapshot := try(f.Snapshot(f.Context(), store.Of(ann), "snapshot-t2")).wantOK(f)
	wantEqual(f, "its parent", snapshot.ParentID, "snapshot-t1")
}

func theyAreListedNewestFirst(f *fixture) {
	f.createSessions("s", "other", "empty")
	for _, id := range []string{"t3", "t1", "t2"} {
		f.now = f.now.Add(time.Second)
		f.createSucceeded("s", id)
	}
	f.createSucceeded("other", "o")
	ids, next := snapshotIDs(f, "s", store.Page{})
	wantEqual(f, "the snapshots", ids, []string{"snapshot-t2", "snapshot-t1", "snapshot-t3"})
	wantEqual(f, "where the next page begins", next, "")
	ids, next = snapshotIDs(f, "s", store.Page{Limit: 2})
	wantEqual(f, "the first page", ids, []string{"snapshot-t2", "snapshot-t1"})
	ids, next = snapshotIDs(f, "s", store.Page{Limit: 2, After: next})
	wantEqual(f, "the second page", ids, []string{"snapshot-t3"})
	wantEqual(f, "where the next page begins", next, "")
	ids, _ = snapshotIDs(f, "empty", store.Page{})
	wantEqual(f, "the snapshots of a new session", ids, nil)
}

func aBranchHasItsOwnConversation(f *fixture) {
	f.createSessions("s")
	f.createSucceeded("s", "t1")
	f.createSucceeded("s", "t2")
	wantOK(f, moveTip(f, "s", "snapshot-t1"))
	f.createSucceeded("s", "t3")
	wantConversation(f, "snapshot-t3", "input of t1", "answer of t1", "input of t3", "answer of t3")
	wantConversation(f, "snapshot-t2", "input of t1", "answer of t1", "input of t2", "answer of t2")
}

func aForkGoesOnFromItsBase(f *fixture) {
	f.createSessions("s")
	f.createSucceeded("s", "t1")
	fork := f.sessionOf(ann, "fork")
	fork.Base = snapshotChain(f, "fork", "b1", "b2")
	try(f.CreateSession(f.Context(), fork)).wantOK(f)
	f.createSucceeded("fork", "t2")
	f.createSucceeded("fork", "t3")
	wantConversation(f, "snapshot-t3",
		"b1, first", "b1, second", "b2, first", "b2, second", "input of t2", "answer of t2", "input of t3", "answer of t3")
	wantEqual(f, "the messages of the base", try(f.OwnMessages(f.Context(), "b1")).wantOK(f), textMessages("b1, first", "b1, second"))
	base := try(f.Snapshot(f.Context(), store.Of(ann), "b2")).wantOK(f)
	wantEqual(f, "the base", base, &fork.Base[1].Snapshot)
	ids, _ := snapshotIDs(f, "fork", store.Page{})
	wantEqual(f, "how many snapshots there are", len(ids), 4)
	wantOK(f, f.DeleteSession(f.Context(), store.Of(ann), "s"))
	wantConversation(f, "b2", "b1, first", "b1, second", "b2, first", "b2, second") // it is a copy
	wantOK(f, moveTip(f, "fork", "b1"))
	f.createSucceeded("fork", "t4")
	wantConversation(f, "snapshot-t4", "b1, first", "b1, second", "input of t4", "answer of t4")
}

func anUnknownSnapshotHasNoConversation(f *fixture) {
	wantError(f, try(f.Conversation(f.Context(), "none")).err, store.ErrNotFound)
	n := f.sessionOf(ann, "s")
	n.Base = snapshotChain(f, "s", "silent")
	n.Base[0].Messages = nil
	try(f.CreateSession(f.Context(), n)).wantOK(f)
	wantConversation(f, "silent")
}

func aLongChainIsRead(f *fixture) {
	const n = 300
	s := f.sessionOf(ann, "s")
	s.Base = snapshotChain(f, "s", numberedNames("b", n)...)
	try(f.CreateSession(f.Context(), s)).wantOK(f)
	var want []string
	for _, id := range numberedNames("b", n) {
		want = append(want, id+", first", id+", second")
	}
	wantConversation(f, fmt.Sprintf("b-%03d", n-1), want...)
}
