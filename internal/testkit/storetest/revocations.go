package storetest

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/store"
)

var revocationTests = []test{
	{name: "RevokedTokensAreRemembered", run: revokedTokensAreRemembered},
	{name: "RevokingAgainChangesNothing", run: revokingAgainChangesNothing},
	{name: "RevocationsAreReadOn", run: revocationsAreReadOn},
	{name: "OldRevocationsAreForgotten", run: oldRevocationsAreForgotten},
	{name: "ARevocationThatIsNewIsNotMissed", run: aRevocationThatIsNewIsNotMissed},
}

// revokeTokens revokes tokens that would be valid for another hour.
func revokeTokens(f *fixture, ids ...string) {
	f.Helper()
	for _, id := range ids {
		wantOK(f, f.RevokeToken(f.Context(), revocationOf(f, id)))
	}
}

func revocationOf(f *fixture, id string) store.Revocation {
	return store.Revocation{TokenID: id, ClientID: "desk", Until: f.now.Add(time.Hour), RevokedAt: f.now}
}

// listRevoked returns the ids of the tokens revoked after a place, and the place of the last one.
func listRevoked(f *fixture, after uint64, limit int) (ids []string, last uint64) {
	f.Helper()
	list := try(f.RevokedTokens(f.Context(), after, limit)).wantOK(f)
	last = after
	for _, r := range list {
		if r.Seq <= last {
			f.Fatalf("the revocation of %s has the place %d, after %d", r.TokenID, r.Seq, last)
		}
		ids, last = append(ids, r.TokenID), r.Seq
	}
	return ids, last
}

func revokedTokensAreRemembered(f *fixture) {
	ids, _ := listRevoked(f, 0, 10)
	wantEqual(f, "what is revoked at first", ids, nil)
	revokeTokens(f, "a")
	list := try(f.RevokedTokens(f.Context(), 0, 10)).wantOK(f)
	if len(list) != 1 || list[0].Seq == 0 {
		f.Fatalf("%d tokens are revoked: %v", len(list), list)
	}
	list[0].Seq = 0
	wantEqual(f, "the revocation", list[0], revocationOf(f, "a"))
}

func revokingAgainChangesNothing(f *fixture) {
	revokeTokens(f, "a", "b")
	before := try(f.RevokedTokens(f.Context(), 0, 10)).wantOK(f)
	f.now = f.now.Add(time.Minute)
	revokeTokens(f, "a")
	after := try(f.RevokedTokens(f.Context(), 0, 10)).wantOK(f)
	wantEqual(f, "the revocations", after, before)
}

func revocationsAreReadOn(f *fixture) {
	revokeTokens(f, "a", "b", "c", "d", "e")
	first, at := listRevoked(f, 0, 2)
	wantEqual(f, "the first", first, []string{"a", "b"})
	next, at := listRevoked(f, at, 2)
	wantEqual(f, "the next", next, []string{"c", "d"})
	last, at := listRevoked(f, at, 2)
	wantEqual(f, "the last", last, []string{"e"})
	none, at := listRevoked(f, at, 2)
	wantEqual(f, "what comes after", none, nil)
	revokeTokens(f, "f")
	later, _ := listRevoked(f, at, 2)
	wantEqual(f, "what came later", later, []string{"f"})
}

func oldRevocationsAreForgotten(f *fixture) {
	revokeTokens(f, "a", "b")
	_, at := listRevoked(f, 0, 10)
	f.now = f.now.Add(time.Hour + store.RevocationHold)
	revokeTokens(f, "c")
	ids, _ := listRevoked(f, 0, 10)
	wantEqual(f, "those at the end of the time", ids, []string{"a", "b", "c"})
	f.now = f.now.Add(time.Second)
	revokeTokens(f, "d")
	ids, _ = listRevoked(f, 0, 10)
	wantEqual(f, "those after it", ids, []string{"c", "d"})
	// Not even the last place is reused.
	f.now = f.now.Add(2 * (time.Hour + store.RevocationHold))
	over := revocationOf(f, "e")
	over.Until = f.now.Add(-store.RevocationHold - time.Second)
	wantOK(f, f.RevokeToken(f.Context(), over))
	ids, _ = listRevoked(f, 0, 10)
	wantEqual(f, "those that are left", ids, nil)
	revokeTokens(f, "g")
	ids, last := listRevoked(f, at, 10)
	wantEqual(f, "what came later", ids, []string{"g"})
	if last <= at+2 {
		f.Errorf("the place %d was another's before", last)
	}
}

// aRevocationThatIsNewIsNotMissed keeps reading while several revoke concurrently.
func aRevocationThatIsNewIsNotMissed(f *fixture) {
	const writers, each = 4, 25
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for i := range each {
				if err := f.RevokeToken(f.Context(), revocationOf(f, fmt.Sprintf("%d-%02d", w, i))); err != nil {
					f.Error(err)
				}
			}
		})
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		all.Wait()
	}()
	var seen []string
	at := uint64(0)
	for ended := false; !ended; {
		select {
		case <-done:
			ended = true // then read the last ones once more
		default:
		}
		ids, last := listRevoked(f, at, 1000)
		seen, at = append(seen, ids...), last
	}
	slices.Sort(seen)
	wantEqual(f, "how many were seen", len(slices.Compact(seen)), writers*each)
}
