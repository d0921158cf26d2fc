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

// snapshotIDs returns the ids of a page of snapshots.
func (f *fixture) snapshotIDs(session string, p store.Page) (ids []string, next string) {
	f.Helper()
	page, err := f.Snapshots(f.Context(), store.SnapshotQuery{Scope: store.Everything, SessionID: session, Page: p})
	ok(f, err)
	for _, s := range page.Snapshots {
		ids = append(ids, s.ID)
	}
	return ids, page.Next
}

// conversation wants the messages up to a snapshot to be these.
func (f *fixture) conversation(snapshot string, want ...string) {
	f.Helper()
	all, err := f.Conversation(f.Context(), snapshot)
	ok(f, err)
	equal(f, "the conversation up to "+snapshot, all, messages(want...))
}

func theChainIsTheConversation(f *fixture) {
	f.session("s", "other")
	f.succeed("s", "t1")
	f.succeed("other", "o")
	f.turn("s", "t2")
	c := f.claim("t2")
	asked := f.suspendOf(c, "q")
	asked.Messages = messages("call", "question")
	f.commit(asked)
	f.conversation("snapshot-t1", "input of t1", "answer of t1") // t2 is not part of it
	f.answer("t2", "q", "yes")
	f.finish(f.claim("t2"))
	f.succeed("s", "t3")
	f.conversation("snapshot-t3",
		"input of t1", "answer of t1", "input of t2", "call", "question", "answer of t2", "input of t3", "answer of t3")
	f.conversation("snapshot-t2", "input of t1", "answer of t1", "input of t2", "call", "question", "answer of t2")
	own, err := f.OwnMessages(f.Context(), "snapshot-t2")
	ok(f, err)
	equal(f, "the messages of a snapshot", own, messages("input of t2", "call", "question", "answer of t2"))
	snapshot, err := f.Snapshot(f.Context(), store.Of(ann), "snapshot-t2")
	ok(f, err)
	equal(f, "its parent", snapshot.ParentID, "snapshot-t1")
}

func theyAreListedNewestFirst(f *fixture) {
	f.session("s", "other", "empty")
	for _, id := range []string{"t3", "t1", "t2"} {
		f.now = f.now.Add(time.Second)
		f.succeed("s", id)
	}
	f.succeed("other", "o")
	ids, next := f.snapshotIDs("s", store.Page{})
	equal(f, "the snapshots", ids, []string{"snapshot-t2", "snapshot-t1", "snapshot-t3"})
	equal(f, "where the next page begins", next, "")
	ids, next = f.snapshotIDs("s", store.Page{Limit: 2})
	equal(f, "the first page", ids, []string{"snapshot-t2", "snapshot-t1"})
	ids, next = f.snapshotIDs("s", store.Page{Limit: 2, After: next})
	equal(f, "the second page", ids, []string{"snapshot-t3"})
	equal(f, "where the next page begins", next, "")
	ids, _ = f.snapshotIDs("empty", store.Page{})
	equal(f, "the snapshots of a new session", ids, nil)
}

func aBranchHasItsOwnConversation(f *fixture) {
	f.session("s")
	f.succeed("s", "t1")
	f.succeed("s", "t2")
	ok(f, f.moveTip("s", "snapshot-t1"))
	f.succeed("s", "t3")
	f.conversation("snapshot-t3", "input of t1", "answer of t1", "input of t3", "answer of t3")
	f.conversation("snapshot-t2", "input of t1", "answer of t1", "input of t2", "answer of t2")
}

func aForkGoesOnFromItsBase(f *fixture) {
	f.session("s")
	f.succeed("s", "t1")
	fork := f.sessionOf(ann, "fork")
	fork.Base = f.chain("fork", "b1", "b2")
	_, err := f.CreateSession(f.Context(), fork)
	ok(f, err)
	f.succeed("fork", "t2")
	f.succeed("fork", "t3")
	f.conversation("snapshot-t3",
		"b1, first", "b1, second", "b2, first", "b2, second", "input of t2", "answer of t2", "input of t3", "answer of t3")
	own, err := f.OwnMessages(f.Context(), "b1")
	ok(f, err)
	equal(f, "the messages of the base", own, messages("b1, first", "b1, second"))
	base, err := f.Snapshot(f.Context(), store.Of(ann), "b2")
	ok(f, err)
	equal(f, "the base", base, &fork.Base[1].Snapshot)
	ids, _ := f.snapshotIDs("fork", store.Page{})
	equal(f, "how many snapshots there are", len(ids), 4)
	ok(f, f.DeleteSession(f.Context(), store.Of(ann), "s"))
	f.conversation("b2", "b1, first", "b1, second", "b2, first", "b2, second") // it is a copy
	ok(f, f.moveTip("fork", "b1"))
	f.succeed("fork", "t4")
	f.conversation("snapshot-t4", "b1, first", "b1, second", "input of t4", "answer of t4")
}

func anUnknownSnapshotHasNoConversation(f *fixture) {
	_, err := f.Conversation(f.Context(), "none")
	is(f, err, store.ErrNotFound)
	n := f.sessionOf(ann, "s")
	n.Base = f.chain("s", "silent")
	n.Base[0].Messages = nil
	_, err = f.CreateSession(f.Context(), n)
	ok(f, err)
	f.conversation("silent")
}

func aLongChainIsRead(f *fixture) {
	const n = 300
	s := f.sessionOf(ann, "s")
	s.Base = f.chain("s", numbered("b", n)...)
	_, err := f.CreateSession(f.Context(), s)
	ok(f, err)
	var want []string
	for _, id := range numbered("b", n) {
		want = append(want, id+", first", id+", second")
	}
	f.conversation(fmt.Sprintf("b-%03d", n-1), want...)
}
