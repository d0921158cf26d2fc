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
func (f *fixture) revokeTokens(ids ...string) {
	f.Helper()
	for _, id := range ids {
		wantOK(f, f.RevokeToken(f.Context(), f.revocationOf(id)))
	}
}

func (f *fixture) revocationOf(id string) store.Revocation {
	return store.Revocation{TokenID: id, ClientID: "desk", Until: f.now.Add(time.Hour), RevokedAt: f.now}
}

// listRevoked returns the ids of the tokens revoked after a place, and the place of the last one.
func (f *fixture) listRevoked(after uint64, limit int) (ids []string, last uint64) {
	f.Helper()
	list, err := f.RevokedTokens(f.Context(), after, limit)
	wantOK(f, err)
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
	ids, _ := f.listRevoked(0, 10)
	wantEqual(f, "what is revoked at first", ids, nil)
	f.revokeTokens("a")
	list, err := f.RevokedTokens(f.Context(), 0, 10)
	wantOK(f, err)
	if len(list) != 1 || list[0].Seq == 0 {
		f.Fatalf("%d tokens are revoked: %v", len(list), list)
	}
	list[0].Seq = 0
	wantEqual(f, "the revocation", list[0], f.revocationOf("a"))
}

func revokingAgainChangesNothing(f *fixture) {
	f.revokeTokens("a", "b")
	before, err := f.RevokedTokens(f.Context(), 0, 10)
	wantOK(f, err)
	f.now = f.now.Add(time.Minute)
	f.revokeTokens("a")
	after, err := f.RevokedTokens(f.Context(), 0, 10)
	wantOK(f, err)
	wantEqual(f, "the revocations", after, before)
}

func revocationsAreReadOn(f *fixture) {
	f.revokeTokens("a", "b", "c", "d", "e")
	first, at := f.listRevoked(0, 2)
	wantEqual(f, "the first", first, []string{"a", "b"})
	next, at := f.listRevoked(at, 2)
	wantEqual(f, "the next", next, []string{"c", "d"})
	last, at := f.listRevoked(at, 2)
	wantEqual(f, "the last", last, []string{"e"})
	none, at := f.listRevoked(at, 2)
	wantEqual(f, "what comes after", none, nil)
	f.revokeTokens("f")
	later, _ := f.listRevoked(at, 2)
	wantEqual(f, "what came later", later, []string{"f"})
}

func oldRevocationsAreForgotten(f *fixture) {
	f.revokeTokens("a", "b")
	_, at := f.listRevoked(0, 10)
	f.now = f.now.Add(time.Hour + store.RevocationHold)
	f.revokeTokens("c")
	ids, _ := f.listRevoked(0, 10)
	wantEqual(f, "those at the end of the time", ids, []string{"a", "b", "c"})
	f.now = f.now.Add(time.Second)
	f.revokeTokens("d")
	ids, _ = f.listRevoked(0, 10)
	wantEqual(f, "those after it", ids, []string{"c", "d"})
	// Not even the last place is reused.
	f.now = f.now.Add(2 * (time.Hour + store.RevocationHold))
	over := f.revocationOf("e")
	over.Until = f.now.Add(-store.RevocationHold - time.Second)
	wantOK(f, f.RevokeToken(f.Context(), over))
	ids, _ = f.listRevoked(0, 10)
	wantEqual(f, "those that are left", ids, nil)
	f.revokeTokens("g")
	ids, last := f.listRevoked(at, 10)
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
				if err := f.RevokeToken(f.Context(), f.revocationOf(fmt.Sprintf("%d-%02d", w, i))); err != nil {
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
		ids, last := f.listRevoked(at, 1000)
		seen, at = append(seen, ids...), last
	}
	slices.Sort(seen)
	wantEqual(f, "how many were seen", len(slices.Compact(seen)), writers*each)
}
