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

func pruneStore(f *fixture, r store.Retention) store.Pruned {
	f.Helper()
	return try(f.Prune(f.Context(), r)).wantOK(f)
}

func oldSessionsAreDeleted(f *fixture) {
	createFull(f, "old", "t1")
	f.now = f.now.Add(time.Hour)
	createFull(f, "young", "t2")
	f.now = f.now.Add(-time.Hour)
	r := store.Retention{Now: f.now.Add(90 * time.Minute), Sessions: time.Hour}
	wantEqual(f, "what was deleted", pruneStore(f, r), store.Pruned{Sessions: 1})
	ids, _ := sessionIDs(f, store.SessionQuery{Scope: store.Everything})
	wantEqual(f, "the sessions", ids, []string{"young"})
	wantError(f, try(f.Turn(f.Context(), store.Everything, "t1")).err, store.ErrNotFound)
	wantError(f, try(f.Artifact(f.Context(), store.Everything, "artifact-t1")).err, store.ErrNotFound)
	wantEqual(f, "how many events there are", len(f.listEvents("t1")), 0)
	wantEqual(f, "the other turn", f.turnStatus("t2"), store.Succeeded)
	wantEqual(f, "what was deleted once more", pruneStore(f, r), store.Pruned{})
}

func aLiveSessionIsKept(f *fixture) {
	f.createSessions("pending", "running", "waiting", "ended", "empty")
	f.createTurns("pending", "t1")
	f.createTurns("running", "t2")
	f.claimTurn("t2")
	f.createTurns("waiting", "t3")
	f.suspendTurn(f.claimTurn("t3"), "q")
	f.createTurns("ended", "t4")
	f.endTurn("t4")
	pruned := pruneStore(f, store.Retention{Now: f.now.Add(1000 * time.Hour), Sessions: time.Hour, Events: time.Hour, Keys: time.Hour})
	wantEqual(f, "how many sessions were deleted", pruned.Sessions, 2)
	ids, _ := sessionIDs(f, store.SessionQuery{Scope: store.Everything})
	wantEqual(f, "the sessions", ids, []string{"waiting", "running", "pending"})
	f.answerTurn("t3", "q", "yes")
	f.finishTurn(f.claimTurn("t3"))
}

func oldEventsAreDeleted(f *fixture) {
	createFull(f, "s", "t")
	later := f.now.Add(time.Hour)
	r := store.Retention{Now: later, Events: 2 * time.Hour}
	wantEqual(f, "what was deleted too early", pruneStore(f, r), store.Pruned{})
	wantEqual(f, "how many events there are", len(f.listEvents("t")), 1)
	before := f.getTurn("t")
	r.Events = time.Minute
	wantEqual(f, "what was deleted", pruneStore(f, r), store.Pruned{Turns: 1})
	wantEqual(f, "the events", f.listEvents("t"), nil)
	wantEqual(f, "the journal", try(f.Journal(f.Context(), "t")).wantOK(f), nil)
	wantEqual(f, "the turn", f.getTurn("t"), before)
	wantConversation(f, "snapshot-t", "input of t", "answer of t")
	try(f.Artifact(f.Context(), store.Of(ann), "artifact-t")).wantOK(f)
	wantEqual(f, "what was deleted once more", pruneStore(f, r), store.Pruned{})
}

func eventsOfALiveTurnAreKept(f *fixture) {
	c := f.createRunning("s", "t")
	add := f.suspendOf(c, "q")
	add.Events = append(add.Events, f.eventOf(&c.Turn, 1, `{}`))
	add.Journal = []store.JournalRow{{Key: "call", Entry: json.RawMessage(`{}`)}}
	f.commitTurn(add)
	r := store.Retention{Now: f.now.Add(1000 * time.Hour), Events: time.Hour}
	wantEqual(f, "what was deleted", pruneStore(f, r), store.Pruned{})
	wantEqual(f, "how many events there are", len(f.listEvents("t")), 1)
	f.answerTurn("t", "q", "yes")
	c = f.claimTurn("t")
	wantEqual(f, "how many calls the worker is given", len(c.Journal), 1)
	wantEqual(f, "what was deleted", pruneStore(f, r), store.Pruned{})
}

func oldKeysAreForgotten(f *fixture) {
	try(keyedSession(f, ann, "s1", newKey("k", "h"))).wantOK(f)
	try(keyedTurn(f, "s1", "t1", newKey("k", "h"))).wantOK(f)
	f.now = f.now.Add(time.Hour)
	try(keyedTurn(f, "s1", "t2", newKey("young", "h"))).wantOK(f)
	r := store.Retention{Now: f.now.Add(30 * time.Minute), Keys: time.Hour}
	wantEqual(f, "what was forgotten", pruneStore(f, r), store.Pruned{Keys: 2})
	made := try(keyedSession(f, ann, "s2", newKey("k", "other"))).wantOK(f)
	wantEqual(f, "the session", made.ID, "s2")
	turn := try(keyedTurn(f, "s1", "t3", newKey("k", "other"))).wantOK(f)
	wantEqual(f, "the turn", turn.ID, "t3")
	turn = try(keyedTurn(f, "s1", "t4", newKey("young", "h"))).wantOK(f)
	wantEqual(f, "the turn of a key that is remembered", turn.ID, "t2")
	f.getSession("s1") // pruning keys keeps their records
	f.getTurn("t1")
}

func nothingIsTooOldForNoRetention(f *fixture) {
	createFull(f, "s", "t")
	wantEqual(f, "what was deleted", pruneStore(f, store.Retention{Now: f.now.Add(100_000 * time.Hour)}), store.Pruned{})
	wantEqual(f, "how many events there are", len(f.listEvents("t")), 1)
}

func aCallHasALimit(f *fixture) {
	const n = 5
	for _, id := range numberedNames("s", n) {
		createFull(f, id, "turn-of-"+id)
	}
	sessions, turns := 0, 0
	for range n {
		pruned := pruneStore(f, store.Retention{Now: f.now.Add(time.Hour), Events: time.Minute, Limit: 2})
		if pruned.Turns > 2 {
			f.Fatalf("one call deleted the events of %d turns, its limit is 2", pruned.Turns)
		}
		turns += pruned.Turns
	}
	wantEqual(f, "of how many turns the events were deleted", turns, n)
	for range n {
		pruned := pruneStore(f, store.Retention{Now: f.now.Add(time.Hour), Sessions: time.Minute, Limit: 2})
		if pruned.Sessions > 2 {
			f.Fatalf("one call deleted %d sessions, its limit is 2", pruned.Sessions)
		}
		sessions += pruned.Sessions
	}
	wantEqual(f, "how many sessions were deleted", sessions, n)
}
