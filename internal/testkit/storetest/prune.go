package storetest

import (
	"encoding/json"
	"time"

	"github.com/agentruntime/agentruntime/store"
)

var pruneTests = []test{
	{name: "OldSessionsAreDeleted", run: oldSessionsAreDeleted},
	{name: "ALiveSessionIsKept", run: aLiveSessionIsKept},
	{name: "OldEventsAreDeleted", run: oldEventsAreDeleted},
	{name: "EventsOfALiveTurnAreKept", run: eventsOfALiveTurnAreKept},
	{name: "OldKeysAreForgotten", run: oldKeysAreForgotten},
	{name: "NothingIsTooOldForNoRetention", run: nothingIsTooOldForNoRetention},
	{name: "ACallHasALimit", run: aCallHasALimit},
}

func (f *fixture) prune(r store.Retention) store.Pruned {
	f.Helper()
	pruned, err := f.Prune(f.Context(), r)
	ok(f, err)
	return pruned
}

func oldSessionsAreDeleted(f *fixture) {
	f.full("old", "t1")
	f.now = f.now.Add(time.Hour)
	f.full("young", "t2")
	f.now = f.now.Add(-time.Hour)
	r := store.Retention{Now: f.now.Add(90 * time.Minute), Sessions: time.Hour}
	equal(f, "what was deleted", f.prune(r), store.Pruned{Sessions: 1})
	ids, _ := f.sessionIDs(store.SessionQuery{Scope: store.Everything})
	equal(f, "the sessions", ids, []string{"young"})
	_, err := f.Turn(f.Context(), store.Everything, "t1")
	is(f, err, store.ErrNotFound)
	_, err = f.Artifact(f.Context(), store.Everything, "artifact-t1")
	is(f, err, store.ErrNotFound)
	equal(f, "how many events there are", len(f.events("t1")), 0)
	equal(f, "the other turn", f.status("t2"), store.Succeeded)
	equal(f, "what was deleted once more", f.prune(r), store.Pruned{})
}

func aLiveSessionIsKept(f *fixture) {
	f.session("pending", "running", "waiting", "ended", "empty")
	f.turn("pending", "t1")
	f.turn("running", "t2")
	f.claim("t2")
	f.turn("waiting", "t3")
	f.suspend(f.claim("t3"), "q")
	f.turn("ended", "t4")
	f.end("t4")
	pruned := f.prune(store.Retention{Now: f.now.Add(1000 * time.Hour), Sessions: time.Hour, Events: time.Hour, Keys: time.Hour})
	equal(f, "how many sessions were deleted", pruned.Sessions, 2)
	ids, _ := f.sessionIDs(store.SessionQuery{Scope: store.Everything})
	equal(f, "the sessions", ids, []string{"waiting", "running", "pending"})
	f.answer("t3", "q", "yes")
	f.finish(f.claim("t3"))
}

func oldEventsAreDeleted(f *fixture) {
	f.full("s", "t")
	later := f.now.Add(time.Hour)
	r := store.Retention{Now: later, Events: 2 * time.Hour}
	equal(f, "what was deleted too early", f.prune(r), store.Pruned{})
	equal(f, "how many events there are", len(f.events("t")), 1)
	before := f.get("t")
	r.Events = time.Minute
	equal(f, "what was deleted", f.prune(r), store.Pruned{Turns: 1})
	equal(f, "the events", f.events("t"), nil)
	journal, err := f.Journal(f.Context(), "t")
	ok(f, err)
	equal(f, "the journal", journal, nil)
	equal(f, "the turn", f.get("t"), before)
	f.conversation("snapshot-t", "input of t", "answer of t")
	_, err = f.Artifact(f.Context(), store.Of(ann), "artifact-t")
	ok(f, err)
	equal(f, "what was deleted once more", f.prune(r), store.Pruned{})
}

func eventsOfALiveTurnAreKept(f *fixture) {
	c := f.running("s", "t")
	add := f.suspendOf(c, "q")
	add.Events = append(add.Events, f.eventOf(&c.Turn, 1, `{}`))
	add.Journal = []store.JournalRow{{Key: "call", Entry: json.RawMessage(`{}`)}}
	f.commit(add)
	r := store.Retention{Now: f.now.Add(1000 * time.Hour), Events: time.Hour}
	equal(f, "what was deleted", f.prune(r), store.Pruned{})
	equal(f, "how many events there are", len(f.events("t")), 1)
	f.answer("t", "q", "yes")
	c = f.claim("t")
	equal(f, "how many calls the worker is given", len(c.Journal), 1)
	equal(f, "what was deleted", f.prune(r), store.Pruned{})
}

func oldKeysAreForgotten(f *fixture) {
	_, err := f.keyedSession(ann, "s1", key("k", "h"))
	ok(f, err)
	_, err = f.keyedTurn("s1", "t1", key("k", "h"))
	ok(f, err)
	f.now = f.now.Add(time.Hour)
	_, err = f.keyedTurn("s1", "t2", key("young", "h"))
	ok(f, err)
	r := store.Retention{Now: f.now.Add(30 * time.Minute), Keys: time.Hour}
	equal(f, "what was forgotten", f.prune(r), store.Pruned{Keys: 2})
	made, err := f.keyedSession(ann, "s2", key("k", "other"))
	ok(f, err)
	equal(f, "the session", made.ID, "s2")
	turn, err := f.keyedTurn("s1", "t3", key("k", "other"))
	ok(f, err)
	equal(f, "the turn", turn.ID, "t3")
	turn, err = f.keyedTurn("s1", "t4", key("young", "h"))
	ok(f, err)
	equal(f, "the turn of a key that is remembered", turn.ID, "t2")
	f.getSession("s1") // what the keys made stays
	f.get("t1")
}

func nothingIsTooOldForNoRetention(f *fixture) {
	f.full("s", "t")
	equal(f, "what was deleted", f.prune(store.Retention{Now: f.now.Add(100_000 * time.Hour)}), store.Pruned{})
	equal(f, "how many events there are", len(f.events("t")), 1)
}

func aCallHasALimit(f *fixture) {
	const n = 5
	for _, id := range numbered("s", n) {
		f.full(id, "turn-of-"+id)
	}
	sessions, turns := 0, 0
	for range n {
		pruned := f.prune(store.Retention{Now: f.now.Add(time.Hour), Events: time.Minute, Limit: 2})
		if pruned.Turns > 2 {
			f.Fatalf("one call deleted the events of %d turns, its limit is 2", pruned.Turns)
		}
		turns += pruned.Turns
	}
	equal(f, "of how many turns the events were deleted", turns, n)
	for range n {
		pruned := f.prune(store.Retention{Now: f.now.Add(time.Hour), Sessions: time.Minute, Limit: 2})
		if pruned.Sessions > 2 {
			f.Fatalf("one call deleted %d sessions, its limit is 2", pruned.Sessions)
		}
		sessions += pruned.Sessions
	}
	equal(f, "how many sessions were deleted", sessions, n)
}
