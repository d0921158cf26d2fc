package storetest

import (
	"errors"
	"fmt"
	"sync"

	"github.com/agentruntime/agentruntime/store"
)

var keyTests = []test{
	{name: "AKeyMakesOneSession", run: aKeyMakesOneSession},
	{name: "AKeyMakesOneTurn", run: aKeyMakesOneTurn},
	{name: "AKeyIsUsedForOneRequest", run: aKeyIsUsedForOneRequest},
	{name: "AKeyIsWorthNothingElsewhere", run: aKeyIsWorthNothingElsewhere},
	{name: "ATurnIsReplayedWhateverBecameOfIt", run: aTurnIsReplayedWhateverBecameOfIt},
	{name: "ARefusedRequestUsesNoKey", run: aRefusedRequestUsesNoKey},
	{name: "AKeyMakesOneOfManyAtOnce", run: aKeyMakesOneOfManyAtOnce},
}

func newKey(value, hash string) store.Key { return store.Key{Value: value, Hash: []byte(hash)} }

func keyedSession(f *fixture, o store.Owner, id string, k store.Key) (*store.Session, error) {
	n := f.sessionOf(o, id)
	n.Key = k
	return f.CreateSession(f.Context(), n)
}

func keyedTurn(f *fixture, session, id string, k store.Key) (*store.Turn, error) {
	n := f.turnOf(session, id)
	n.Key = k
	return f.CreateTurn(f.Context(), n)
}

func aKeyMakesOneSession(f *fixture) {
	made := try(keyedSession(f, ann, "s1", newKey("k", "h"))).wantOK(f)
	again := try(keyedSession(f, ann, "s2", newKey("k", "h"))).wantOK(f)
	wantEqual(f, "the session of the second request", again, made)
	again = try(keyedSession(f, ann, "s1", newKey("k", "h"))).wantOK(f)
	wantEqual(f, "the session of the third request", again, made)
	wantError(f, try(f.Session(f.Context(), store.Everything, "s2")).err, store.ErrNotFound)
}

func aKeyMakesOneTurn(f *fixture) {
	f.createSessions("s")
	made := try(keyedTurn(f, "s", "t1", newKey("k", "h"))).wantOK(f)
	f.wantJobs("t1")
	again := try(keyedTurn(f, "s", "t2", newKey("k", "h"))).wantOK(f)
	wantEqual(f, "the turn of the second request", again, made)
	wantError(f, try(f.Turn(f.Context(), store.Everything, "t2")).err, store.ErrNotFound)
	f.wantJobs()
	ids, _ := turnIDs(f, store.TurnQuery{Scope: store.Everything})
	wantEqual(f, "the turns", ids, []string{"t1"})
}

func aKeyIsUsedForOneRequest(f *fixture) {
	try(keyedSession(f, ann, "s", newKey("k", "h"))).wantOK(f)
	wantAs(f, try(keyedSession(f, ann, "s2", newKey("k", "other"))).err, &store.KeyConflictError{Key: "k", ID: "s"})
	try(keyedTurn(f, "s", "t", newKey("k", "h"))).wantOK(f)
	f.wantJobs("t")
	wantAs(f, try(keyedTurn(f, "s", "t2", newKey("k", "other"))).err, &store.KeyConflictError{Key: "k", ID: "t"})
	f.wantJobs()
}

func aKeyIsWorthNothingElsewhere(f *fixture) {
	for i, o := range []store.Owner{ann, bob, eve, {Tenant: "a", Subject: "b\x00c"}, {Tenant: "a b", Subject: "c"}, {Tenant: "a", Subject: "b c"}} {
		id := fmt.Sprint("s", i)
		made, err := keyedSession(f, o, id, newKey("k", "h"))
		if err != nil && i == 3 {
			continue // a subject with a zero byte may be rejected
		}
		wantOK(f, err)
		wantEqual(f, "the session", made.ID, id)
	}
	f.createSessions("x", "y")
	for i, session := range []string{"x", "y"} {
		id := fmt.Sprint("t", i)
		made := try(keyedTurn(f, session, id, newKey("k", "h"))).wantOK(f)
		wantEqual(f, "the turn", made.ID, id)
	}
	f.createSessions("z1", "z2") // empty keys do not collide
}

func aTurnIsReplayedWhateverBecameOfIt(f *fixture) {
	f.createSessions("s")
	try(keyedTurn(f, "s", "t1", newKey("k", "h"))).wantOK(f)
	n := f.turnOf("s", "t2")
	n.Key, n.Reject = newKey("k", "h"), true
	again, err := f.CreateTurn(f.Context(), n)
	wantOK(f, err) // not a second turn that would have to wait
	wantEqual(f, "the turn", again.ID, "t1")
	f.finishTurn(f.claimTurn("t1"))
	setSessionState(f, "s", store.SessionArchived)
	again = try(f.CreateTurn(f.Context(), n)).wantOK(f)
	wantEqual(f, "the turn", again.ID, "t1")
	wantEqual(f, "its state", again.Status, store.Succeeded)
}

func aRefusedRequestUsesNoKey(f *fixture) {
	f.createQueued("s", "t1")
	n := f.turnOf("s", "t2")
	n.Key, n.Reject = newKey("k", "h"), true
	wantAs(f, try(f.CreateTurn(f.Context(), n)).err, &store.BusyError{SessionID: "s", TurnID: "t1"})
	f.endTurn("t1")
	n.Key = newKey("k", "other")
	made := try(f.CreateTurn(f.Context(), n)).wantOK(f)
	wantEqual(f, "the turn", made.ID, "t2")

	wantAs(f, try(keyedSession(f, ann, "s", newKey("k", "h"))).err, &store.ExistsError{Kind: "session", ID: "s"})
	made2 := try(keyedSession(f, ann, "s2", newKey("k", "other"))).wantOK(f)
	wantEqual(f, "the session", made2.ID, "s2")
}

func aKeyMakesOneOfManyAtOnce(f *fixture) {
	const n = 16
	f.createSessions("home")
	var (
		wait            sync.WaitGroup
		mu              sync.Mutex
		sessions, turns = make(map[string]int), make(map[string]int)
		failed          []error
	)
	for i := range n {
		wait.Go(func() {
			s, err1 := keyedSession(f, ann, fmt.Sprint("s", i), newKey("k", "h"))
			t, err2 := keyedTurn(f, "home", fmt.Sprint("t", i), newKey("k", "h"))
			mu.Lock()
			defer mu.Unlock()
			if err := errors.Join(err1, err2); err != nil {
				failed = append(failed, err)
				return
			}
			sessions[s.ID]++
			turns[t.ID]++
		})
	}
	wait.Wait()
	wantOK(f, errors.Join(failed...))
	wantEqual(f, "how many sessions there are", len(sessions), 1)
	wantEqual(f, "how many turns there are", len(turns), 1)
	wantEqual(f, "how many jobs there are", len(f.queue.Take()), 1)
}
