package model

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"iter"
	"math"
	"sync"
	"time"
)

// Home says how the member of a pool that serves a session is chosen.
type Home string

// The ways to choose a home.
const (
	// HomeDeterministic picks by a weighted hash of the session, so that every
	// process picks the same.
	HomeDeterministic Home = "deterministic"
	// HomeRoundRobin picks in turn, by weight.
	HomeRoundRobin Home = "round_robin"
	// HomeFirstHealthy picks the first that works.
	HomeFirstHealthy Home = "first_healthy"
)

// Member is one model of a pool.
type Member struct {
	// ID is the model's id.
	ID string
	// Upstream is the vendor's name of the model.
	Upstream string
	Executor Executor
	// Weight is the member's share of sessions; it is more than 0.
	Weight float64
	// FailoverOnly keeps the member from being a home.
	FailoverOnly bool
}

// PoolPolicy says how a pool chooses among its members.
type PoolPolicy struct {
	Home Home
	// OnQuota moves on from a member that is rate limited or overloaded; with
	// QuotaThreshold set only when it asks to wait longer than that.
	OnQuota        bool
	QuotaThreshold time.Duration
	// OnPermanent moves on from a member that refuses the credentials or does
	// not know the model, and does not come back to it.
	OnPermanent bool
}

// Pool is an executor that serves each session from one of several models and
// moves on to another when that one cannot serve. It moves only before an
// answer began. A pool lives as long as its revision.
type Pool struct {
	id      string
	members []Member
	policy  PoolPolicy

	mu sync.Mutex
	// gone marks members that failed for good.
	gone []bool
	// served counts, per member, the sessions that round robin gave it; homes
	// remembers the latest of those sessions.
	served []float64
	homes  map[string]int
	recent []string
}

var _ Executor = (*Pool)(nil)

// maxHomes bounds how many sessions a pool remembers the home of.
const maxHomes = 4096

// NewPool returns a pool. It needs at least one member that may be a home.
func NewPool(id string, members []Member, policy PoolPolicy) *Pool {
	return &Pool{
		id: id, members: members, policy: policy,
		gone: make([]bool, len(members)), served: make([]float64, len(members)),
		homes: make(map[string]int),
	}
}

// Stream asks the session's home, and the other members in order when it
// cannot serve. When none can, the error is of class AllModelsUnavailable and
// wraps the last one's.
func (p *Pool) Stream(ctx context.Context, req *Request) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		var last *Error
		for _, i := range p.order(req.SessionID) {
			failure, done := p.try(ctx, i, req, yield)
			if done {
				return
			}
			last = failure
		}
		err := &Error{Class: AllModelsUnavailable, Message: fmt.Sprintf("no member of pool %s can serve", p.id)}
		if last != nil {
			err.Message += ": the last said: " + last.Error()
			err.Err = last
		}
		yield(Event{}, err)
	}
}

// try passes on the answer of one member, or returns why to move on.
func (p *Pool) try(ctx context.Context, i int, req *Request, yield func(Event, error) bool) (failure *Error, done bool) {
	own := *req
	own.Model = p.members[i].Upstream
	begun := false
	for ev, err := range p.members[i].Executor.Stream(ctx, &own) {
		if err != nil && !begun && ctx.Err() == nil {
			if e := AsError(err); p.movesOn(i, e) {
				return e, false
			}
		}
		begun = true
		if !yield(ev, err) || err != nil {
			return nil, true
		}
	}
	return nil, true
}

func (p *Pool) movesOn(i int, e *Error) bool {
	switch e.Class {
	case RateLimited, Overloaded:
		short := p.policy.QuotaThreshold > 0 && e.RetryAfter > 0 && e.RetryAfter <= p.policy.QuotaThreshold
		return p.policy.OnQuota && !short
	case Unauthorized, ModelNotFound:
		if p.policy.OnPermanent {
			p.mu.Lock()
			p.gone[i] = true
			p.mu.Unlock()
		}
		return p.policy.OnPermanent
	default:
		return false
	}
}

// order returns the members to ask: the session's home, then the others that
// work, those for failover last.
func (p *Pool) order(session string) []int {
	p.mu.Lock()
	defer p.mu.Unlock()
	home := p.home(session)
	order := make([]int, 0, len(p.members))
	if home >= 0 {
		order = append(order, home)
	}
	for _, failover := range []bool{false, true} {
		for i := range p.members {
			if i != home && !p.gone[i] && p.members[i].FailoverOnly == failover {
				order = append(order, i)
			}
		}
	}
	return order
}

// home returns the session's home, or -1 when no member can be one.
func (p *Pool) home(session string) int {
	switch p.policy.Home {
	case HomeFirstHealthy:
		return p.best(func(i int) float64 { return -float64(i) })
	case HomeRoundRobin:
		if i, ok := p.homes[session]; ok && session != "" && !p.gone[i] {
			return i
		}
		i := p.best(func(i int) float64 { return -p.served[i] / p.members[i].Weight })
		if i >= 0 {
			p.served[i]++
			p.remember(session, i)
		}
		return i
	default:
		return p.best(func(i int) float64 { return rendezvous(session, p.members[i].ID, p.members[i].Weight) })
	}
}

// best returns the member with the highest score among those that may be a
// home, or -1.
func (p *Pool) best(score func(i int) float64) int {
	best, top := -1, math.Inf(-1)
	for i := range p.members {
		if p.gone[i] || p.members[i].FailoverOnly {
			continue
		}
		if s := score(i); s > top {
			best, top = i, s
		}
	}
	return best
}

func (p *Pool) remember(session string, i int) {
	if session == "" {
		return
	}
	if _, known := p.homes[session]; !known {
		if len(p.recent) == maxHomes {
			delete(p.homes, p.recent[0])
			p.recent = p.recent[1:]
		}
		p.recent = append(p.recent, session)
	}
	p.homes[session] = i
}

// rendezvous scores a member for a session so that each member wins a share of
// sessions in proportion to its weight, and only the sessions of a member that
// goes away move.
func rendezvous(session, member string, weight float64) float64 {
	h := fnv.New64a()
	h.Write([]byte(session))
	h.Write([]byte{0})
	h.Write([]byte(member))
	// The top 52 bits and a half fit a float exactly, so u lies between 0 and 1
	// and is neither.
	u := (float64(mix(h.Sum64())>>12) + 0.5) / (1 << 52)
	return weight / -math.Log(u)
}

// mix spreads the bits of a hash: FNV's upper bits change little between texts
// that differ in their last bytes only.
func mix(x uint64) uint64 {
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	return x
}

// Unavailable is an executor that answers every request with an error. It
// stands for a provider that could not be made.
type Unavailable struct{ Err error }

// Stream returns the error.
func (u Unavailable) Stream(context.Context, *Request) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		err := u.Err
		if err == nil {
			err = errors.New("the provider is not available")
		}
		yield(Event{}, &Error{Class: InvalidRequest, Message: err.Error(), Err: err})
	}
}
