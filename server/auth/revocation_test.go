package auth_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/memory"
)

// ledger is a store of revocations that can be away, and counts how often it is
// asked.
type ledger struct {
	store.Revocations
	away  atomic.Bool
	asked atomic.Int64
}

func newLedger() *ledger { return &ledger{Revocations: memory.New(store.Settings{})} }

var errAway = errors.New("the store is away")

// RevokeToken stores a revocation.
func (l *ledger) RevokeToken(ctx context.Context, r store.Revocation) error {
	l.asked.Add(1)
	if l.away.Load() {
		return errAway
	}
	return l.Revocations.RevokeToken(ctx, r)
}

// RevokedTokens returns revocations.
func (l *ledger) RevokedTokens(ctx context.Context, after uint64, limit int) ([]store.Revocation, error) {
	l.asked.Add(1)
	if l.away.Load() {
		return nil, errAway
	}
	return l.Revocations.RevokedTokens(ctx, after, limit)
}

// good checks that a token is good.
func (a *authority) good(name, token string) {
	a.t.Helper()
	if _, err := a.Authenticate(showing(token)); err != nil {
		a.t.Errorf("%s: %v", name, err)
	}
}

// revoke revokes a token of desk.
func (a *authority) revoke(token string) (status int) {
	a.t.Helper()
	status, _ = a.post("/api/oauth/revoke", deskForm+"&token="+url.QueryEscape(token))
	return status
}

func TestARevokedTokenIsSoAfterARestart(t *testing.T) {
	t.Parallel()
	kept := newLedger()
	a := newAuthorityOn(t, oneKey, kept)
	token, other := a.token(""), a.token("")
	if status := a.revoke(token); status != http.StatusOK {
		t.Fatal(status)
	}
	a.refused("here", token)
	b := newAuthorityOn(t, oneKey, kept)
	if err := b.LoadRevocations(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.refused("after a restart", token)
	b.good("another token", other)
	kept.away.Store(true)
	if err := newAuthorityOn(t, oneKey, kept).LoadRevocations(t.Context()); !errors.Is(err, errAway) {
		t.Errorf("without its store it begins with %v", err)
	}
}

func TestARevokedTokenIsSoElsewhereWithinASecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		kept := newLedger()
		a, b := newAuthorityOn(t, oneKey, kept), newAuthorityOn(t, oneKey, kept)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go b.FollowRevocations(ctx)
		first, second := a.token(""), a.token("")
		a.revoke(first)
		b.good("at once", first)
		time.Sleep(time.Second)
		synctest.Wait()
		b.refused("a second later", first)
		// While the store is away what is known counts on.
		kept.away.Store(true)
		time.Sleep(time.Minute)
		b.refused("without the store", first)
		b.good("another one", second)
		kept.away.Store(false)
		a.revoke(second)
		time.Sleep(time.Second)
		synctest.Wait()
		b.refused("once it is back", second)
	})
}

// A client that is told to try again must not be told at the second try that all is
// well while nothing is stored.
func TestARevocationThatCannotBeKeptIsNone(t *testing.T) {
	t.Parallel()
	kept := newLedger()
	a := newAuthorityOn(t, oneKey, kept)
	token := a.token("")
	kept.away.Store(true)
	for range 2 {
		status, body := a.post("/api/oauth/revoke", deskForm+"&token="+token)
		if status != http.StatusServiceUnavailable || body.Error != "temporarily_unavailable" {
			t.Fatalf("%d %+v", status, body)
		}
	}
	a.good("a token that is not revoked", token)
	kept.away.Store(false)
	if status := a.revoke(token); status != http.StatusOK {
		t.Fatal(status)
	}
	a.refused("at last", token)
	if stored, err := kept.Revocations.RevokedTokens(t.Context(), 0, 10); err != nil || len(stored) != 1 {
		t.Errorf("%v are stored, error %v", stored, err)
	}
}

// A client that has gone away does not leave it open whether its token is revoked.
func TestARevocationDoesNotEndWithItsRequest(t *testing.T) {
	t.Parallel()
	a := newAuthorityOn(t, oneKey, newLedger())
	token := a.token("")
	status, _ := a.post("/api/oauth/revoke", deskForm+"&token="+token, func(r *http.Request) {
		ctx, cancel := context.WithCancel(r.Context())
		cancel()
		*r = *r.WithContext(ctx)
	})
	if status != http.StatusOK {
		t.Errorf("the status is %d", status)
	}
	a.refused("of a client that is gone", token)
}

func TestRefreshingLeavesOlderTokensAlone(t *testing.T) {
	t.Parallel()
	kept := newLedger()
	a := newAuthorityOn(t, oneKey, kept)
	refresh, err := a.IssueRefreshToken("desk", nil, tokenTime.Add(24*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	renew := func() string {
		t.Helper()
		status, body := a.post("/api/oauth/token", deskForm+"&grant_type=refresh_token&refresh_token="+refresh)
		if status != http.StatusOK || body.Refresh != refresh || body.Expires != 3600 {
			t.Fatalf("%d %+v", status, body)
		}
		return body.Token
	}
	one, two, own := renew(), renew(), a.token("")
	a.good("an older token", one)
	a.revoke(one)
	a.refused("an access token that was revoked", one)
	a.good("another of the same refresh token", two)
	three := renew()
	a.revoke(refresh)
	b := newAuthorityOn(t, oneKey, kept)
	if err := b.LoadRevocations(t.Context()); err != nil {
		t.Fatal(err)
	}
	for where, at := range map[string]*authority{"here": a, "after a restart": b} {
		at.refused("of a refresh token that was revoked, "+where, two)
		at.refused("the latest one, "+where, three)
		at.good("one that was made without, "+where, own)
		if status, body := at.post("/api/oauth/token", deskForm+"&grant_type=refresh_token&refresh_token="+refresh); status != http.StatusBadRequest || body.Error != "invalid_grant" {
			t.Errorf("%s the refresh token gives %d %+v", where, status, body)
		}
	}
}

// An access token ends with its refresh token, so that nothing outlives the
// revocation of that.
func TestAnAccessTokenEndsWithItsRefreshToken(t *testing.T) {
	t.Parallel()
	a := newAuthority(t, oneKey)
	refresh, err := a.IssueRefreshToken("desk", nil, tokenTime.Add(10*time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	status, body := a.post("/api/oauth/token", deskForm+"&grant_type=refresh_token&refresh_token="+refresh)
	if status != http.StatusOK || body.Expires != 600 {
		t.Fatalf("%d %+v", status, body)
	}
	a.now = a.now.Add(10*time.Minute - time.Second)
	a.good("before", body.Token)
	a.now = a.now.Add(time.Second)
	a.refused("after", body.Token)
}

func TestWhatIsNoTokenIsAsGoodAsRevoked(t *testing.T) {
	t.Parallel()
	kept := newLedger()
	a := newAuthorityOn(t, oneKey, kept)
	over := a.token("")
	a.now = a.now.Add(time.Hour)
	for name, token := range map[string]string{"nothing": "", "nonsense": "test_at_x.y", "over": over, "of another key": newAuthority(t, "another-key-another-key-another-key").token("")} {
		if status := a.revoke(token); status != http.StatusOK {
			t.Errorf("%s: %d", name, status)
		}
	}
	if kept.asked.Load() != 0 {
		t.Error("the store is asked for what is no token")
	}
}

// No client takes the room that others need, and tokens that have ended take none.
func TestAClientCanRevokeSoManyTokens(t *testing.T) {
	t.Parallel()
	a := newAuthority(t, oneKey)
	for range 10_000 {
		if status := a.revoke(a.token("")); status != http.StatusOK {
			t.Fatal(status)
		}
	}
	token := a.token("")
	if status := a.revoke(token); status != http.StatusServiceUnavailable {
		t.Errorf("one too many gives %d", status)
	}
	a.good("the one too many", token)
	bot := "client_id=bot&client_secret=bot-secret"
	_, body := a.post("/api/oauth/token", bot+"&grant_type=client_credentials")
	if status, _ := a.post("/api/oauth/revoke", bot+"&token="+body.Token); status != http.StatusOK {
		t.Errorf("another client is told %d", status)
	}
	a.now = a.now.Add(time.Hour)
	token = a.token("")
	if status := a.revoke(token); status != http.StatusOK {
		t.Errorf("when they have ended it is told %d", status)
	}
	a.refused("revoked", token)
}

// A process that only hears of revocations forgets those of tokens that have ended.
func TestRevocationsOfOthersAreForgotten(t *testing.T) {
	t.Parallel()
	kept := newLedger()
	a := newAuthorityOn(t, oneKey, kept)
	revoke := func(from, to int) {
		t.Helper()
		for i := from; i < to; i++ {
			r := store.Revocation{TokenID: fmt.Sprint(i), ClientID: "desk", Until: a.now.Add(time.Minute), RevokedAt: a.now}
			if err := kept.RevokeToken(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
		if err := a.LoadRevocations(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	revoke(0, 10_000)
	if n := a.Revoked(); n != 10_000 {
		t.Errorf("%d are remembered", n)
	}
	a.now = a.now.Add(time.Minute)
	revoke(10_000, 10_001)
	if n := a.Revoked(); n != 1 {
		t.Errorf("%d are remembered when all but one have ended", n)
	}
}

// There are more revocations than are read at once, and showing a token asks nobody.
func TestTokensAreCheckedWithoutTheStore(t *testing.T) {
	t.Parallel()
	kept := newLedger()
	a := newAuthorityOn(t, oneKey, kept)
	var tokens []string
	for range 2500 {
		token := a.token("")
		a.revoke(token)
		tokens = append(tokens, token)
	}
	b := newAuthorityOn(t, oneKey, kept)
	if err := b.LoadRevocations(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := kept.asked.Load()
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for n := i; n < len(tokens); n += 4 {
				b.refused(fmt.Sprint("number ", n), tokens[n])
			}
		})
	}
	all.Wait()
	if kept.asked.Load() != before {
		t.Error("the store is asked when a token is shown")
	}
}
