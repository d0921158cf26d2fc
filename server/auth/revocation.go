package auth

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/service"
	"go.uber.org/zap"
)

const (
	// maxRevoked bounds the concurrently revoked tokens of one client, so that no client takes the
	// room of another.
	maxRevoked = 10_000
	// revocationPage is how many revocations are read per query.
	revocationPage = 1000
	// revocationInterval is how often revocations stored by other processes are read, and
	// revocationTimeout bounds one store operation.
	revocationInterval = time.Second
	revocationTimeout  = 5 * time.Second
)

// Revocations stores tokens revoked before they expire. Stores implement it.
type Revocations interface {
	// RevokeToken stores a revocation and assigns its Seq. It does nothing if the token is already
	// revoked.
	RevokeToken(ctx context.Context, r service.Revocation) error
	// RevokedTokens returns up to limit revocations with a Seq greater than after, in order.
	// Whatever is stored later has a greater Seq than all that were returned, even if several
	// processes store concurrently.
	RevokedTokens(ctx context.Context, after uint64, limit int) ([]service.Revocation, error)
}

// LoadRevocations reads the revoked tokens. Call it before the first request, and not concurrently
// with FollowRevocations. It fails if the store cannot be read.
func (o *OAuth) LoadRevocations(ctx context.Context) error { return o.revoked.readNew(ctx) }

// FollowRevocations reads the tokens revoked by other processes with the same store every second,
// until ctx ends. While the store cannot be read, the last known revocations apply.
func (o *OAuth) FollowRevocations(ctx context.Context) {
	tick := time.NewTicker(revocationInterval)
	defer tick.Stop()
	for away := false; ; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		err := o.revoked.readNew(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil && !away:
			o.logger.Warn("does not hear of tokens that other processes revoke; tries again every second", zap.Error(err))
		case err == nil && away:
			o.logger.Info("hears of tokens that other processes revoke again")
		}
		away = err != nil
	}
}

// errManyRevoked means that no more revoked tokens of a client can be kept.
var errManyRevoked = errors.New("too many tokens are revoked")

// revocations are the tokens that were revoked before they expired. All of them are in memory, so
// that authentication never waits for the store.
type revocations struct {
	store Revocations
	clock func() time.Time

	mu sync.RWMutex
	// ends has the expiry of each revoked token, by client and token.
	ends map[string]map[string]time.Time

	// seen is the Seq of the last revocation read.
	seen uint64
}

func newRevocations(s Revocations, clock func() time.Time) *revocations {
	return &revocations{store: s, clock: clock, ends: map[string]map[string]time.Time{}}
}

// isRevoked reports whether a token, or the token from which it was issued, was revoked.
func (v *revocations) isRevoked(g *grant) bool {
	v.mu.RLock()
	defer v.mu.RUnlock()
	ends := v.ends[g.Client]
	_, own := ends[g.ID]
	_, above := ends[g.Refresh]
	return own || above
}

// addToken revokes a token. The revocation applies only once stored: a caller whose request failed
// retries, and otherwise the token would already look revoked.
func (v *revocations) addToken(ctx context.Context, g *grant) error {
	if !v.hasRoom(g.Client) {
		return errManyRevoked
	}
	r := service.Revocation{TokenID: g.ID, ClientID: g.Client, Until: time.Unix(g.Expires, 0), RevokedAt: v.clock()}
	if v.store != nil {
		// The caller may disconnect before the result is known.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), revocationTimeout)
		defer cancel()
		if err := v.store.RevokeToken(ctx, r); err != nil {
			return err
		}
	}
	v.putAll([]service.Revocation{r})
	return nil
}

// hasRoom reports whether one more token of a client can be revoked. It drops expired revocations
// to make room.
func (v *revocations) hasRoom(client string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.forgetExpired(client, v.clock())
	return len(v.ends[client]) < maxRevoked
}

// forgetExpired drops the expired tokens of a client if there are many.
func (v *revocations) forgetExpired(client string, now time.Time) {
	ends := v.ends[client]
	if len(ends) < maxRevoked {
		return
	}
	maps.DeleteFunc(ends, func(_ string, end time.Time) bool { return !now.Before(end) })
}

// putAll adds revocations of tokens that have not expired and drops the expired ones. If only other
// processes revoke tokens, nothing else makes room.
func (v *revocations) putAll(list []service.Revocation) {
	now := v.clock()
	v.mu.Lock()
	defer v.mu.Unlock()
	for i := range list {
		r := &list[i]
		if !now.Before(r.Until) {
			continue
		}
		if v.ends[r.ClientID] == nil {
			v.ends[r.ClientID] = map[string]time.Time{}
		}
		v.ends[r.ClientID][r.TokenID] = r.Until
	}
	for client := range v.ends {
		v.forgetExpired(client, now)
	}
}

// readNew reads the revocations stored by any process since the last call. Those read before an
// error are applied. Only one goroutine may call it at a time.
func (v *revocations) readNew(ctx context.Context) error {
	if v.store == nil {
		return nil
	}
	for {
		list, err := v.nextPage(ctx)
		if err != nil {
			return fmt.Errorf("read which tokens are revoked: %w", err)
		}
		v.putAll(list)
		if len(list) > 0 {
			v.seen = list[len(list)-1].Seq
		}
		if len(list) < revocationPage {
			return nil
		}
	}
}

func (v *revocations) nextPage(ctx context.Context) ([]service.Revocation, error) {
	ctx, cancel := context.WithTimeout(ctx, revocationTimeout)
	defer cancel()
	return v.store.RevokedTokens(ctx, v.seen, revocationPage)
}
