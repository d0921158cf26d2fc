package model

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/internal/recent"
	"github.com/agentruntime/agentruntime/spec"
)

// Member is one model of a pool.
type Member struct {
	// ID is the model's id.
	ID string
	// Upstream is the vendor's name of the model.
	Upstream string
	Executor Executor
	// Breaker rejects calls while the model does not work, and counts each call that the pool
	// makes; nil for none.
	Breaker *Breaker
	// Input are the modalities that the model reads; nil if unknown.
	Input []spec.Modality
	// Weight is the member's share of sessions; it is more than 0.
	Weight float64
	// FailoverOnly excludes the member from being a home.
	FailoverOnly bool
}

// PoolPolicy configures how a pool chooses among its members.
type PoolPolicy struct {
	Home Home
	// PerTurn chooses a home for each turn instead of each session.
	PerTurn bool
	// OnCircuitOpen avoids members whose breaker is open.
	OnCircuitOpen bool
	// OnQuota moves on from a member that is rate limited or overloaded; if QuotaThreshold is set,
	// only when the member requests a longer wait.
	OnQuota        bool
	QuotaThreshold time.Duration
	// OnPermanent permanently moves on from a member that rejects the credentials or does not know
	// the model.
	OnPermanent bool
	// MaxMoves is how often a session may move to another member; nil for no limit.
	MaxMoves *int
}

// Pool is an executor that serves each session from one of several models, its home, and moves it
// to another one when the home fails. It moves only before an answer started, or after one that was
// empty except for reasoning, and the session stays at the new home. A pool lives as long as its
// revision.
//
// The pool emits an EventServed for each member it calls.
type Pool struct {
	id      string
	members []Member
	policy  PoolPolicy

	mu sync.Mutex
	// gone holds each member's permanent failure.
	gone []*Error
	// served counts the sessions that round robin gave each member.
	served []float64
	// seats holds the seats of the latest sessions, by session key. Calls outside a session have the
	// empty key and are not remembered.
	seats *recent.Map[string, seat]
}

var _ Executor = (*Pool)(nil)

// NewPool returns a pool. It needs at least one member that may be a home.
func NewPool(id string, members []Member, policy PoolPolicy) *Pool {
	return &Pool{
		id: id, members: members, policy: policy,
		gone: make([]*Error, len(members)), served: make([]float64, len(members)),
		seats: recent.NewMap[string, seat](maxSeats),
	}
}

// Stream calls the session's home and, if the home cannot serve, the other members in order. If all
// of several members fail, the error has class AllModelsUnavailable and wraps the last member's
// error; if there was only one to call, or the session may not move again, it is that member's own.
// A request that no member can read is rejected with class InvalidRequest.
func (p *Pool) Stream(ctx context.Context, req *Request) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		unread, err := p.readErrors(req)
		if err != nil {
			yield(Event{}, err)
			return
		}
		r := p.planRoute(req, unread)
		last := r.objection
		for _, i := range r.order {
			failure, done := p.tryMember(ctx, i, req, r, yield)
			if done {
				return
			}
			last = failure
		}
		yield(Event{}, p.unavailableError(r, last))
	}
}

// unavailableError returns the error of a call that no member served.
func (p *Pool) unavailableError(r *route, last *Error) *Error {
	if !r.mayMove || r.objection == nil && len(r.order) == 1 {
		return last
	}
	return &Error{
		Class: AllModelsUnavailable, Err: last, RetryAfter: last.RetryAfter,
		Message: fmt.Sprintf("no member of pool %s can serve the request; last error: %v", p.id, last),
	}
}

// tryMember passes on one member's answer, or returns why to move on.
func (p *Pool) tryMember(ctx context.Context, i int, req *Request, r *route, yield func(Event, error) bool) (failure *Error, done bool) {
	m := &p.members[i]
	attempt, err := m.Breaker.beginAttempt()
	if err != nil {
		if e := AsError(err); p.movesOn(i, e) {
			return e, false
		}
		yield(Event{}, err)
		return nil, true
	}
	defer attempt.countOutcome()
	if !yield(Event{Type: EventServed, ID: m.ID, Name: m.Upstream}, nil) {
		return nil, true
	}
	own := *req
	own.Model, own.Messages = m.Upstream, readableMessages(req.Messages, m.Input)
	begun := false
	for ev, err := range m.Executor.Stream(ctx, &own) {
		attempt.noteEvent(ctx, ev.Type, err)
		if err != nil && ctx.Err() == nil {
			switch e := AsError(err); {
			case !begun && p.movesOn(i, e):
				return e, false
			case begun && e.Class == EmptyAnswer && i != r.order[len(r.order)-1]: // it had at most reasoning
				return e, !yield(Event{Type: EventReset, Delta: "the model gave no answer"}, nil)
			}
		}
		if err == nil && !begun {
			begun = true
			p.settleHome(r, i)
		}
		if !yield(ev, err) || err != nil {
			return nil, true
		}
	}
	return nil, true
}

// movesOn reports whether a member's failure is a reason to call another member, and records
// permanent failures.
func (p *Pool) movesOn(i int, e *Error) bool {
	switch e.Class {
	case RateLimited, Overloaded:
		short := p.policy.QuotaThreshold > 0 && e.RetryAfter > 0 && e.RetryAfter <= p.policy.QuotaThreshold
		return p.policy.OnQuota && !short
	case Unauthorized, ModelNotFound:
		if p.policy.OnPermanent {
			p.mu.Lock()
			p.gone[i] = e
			p.mu.Unlock()
		}
		return p.policy.OnPermanent
	case EmptyAnswer:
		return true
	default:
		return p.policy.OnCircuitOpen && errors.Is(e, ErrCircuitOpen)
	}
}

// route is the route of one call through a pool.
type route struct {
	// key identifies the session whose home is stored.
	key string
	// order are the members to call. The home comes first, unless there is an objection to it.
	order     []int
	objection *Error
	// mayMove is set if a member other than the home may be called.
	mayMove bool
}

// planRoute returns the route of a call: the home, then the other members that may serve,
// failover-only members last.
func (p *Pool) planRoute(req *Request, unread []*Error) *route {
	r := &route{key: req.SessionID}
	if p.policy.PerTurn {
		r.key = req.TurnID
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	s, known := p.seats.Get(r.key)
	if !known {
		s.home = p.chooseHome(r.key, unread)
		p.takeSeat(r, s)
	}
	r.mayMove = p.policy.MaxMoves == nil || s.moves < *p.policy.MaxMoves
	r.order = make([]int, 0, len(p.members))
	if r.objection = p.objectionTo(s.home, unread); r.objection == nil {
		r.order = append(r.order, s.home)
	}
	if !r.mayMove {
		return r
	}
	for _, failover := range []bool{false, true} {
		for i := range p.members {
			if i != s.home && p.members[i].FailoverOnly == failover && p.objectionTo(i, unread) == nil {
				r.order = append(r.order, i)
			}
		}
	}
	return r
}

// objectionTo returns the reason not to call a member, if known in advance.
func (p *Pool) objectionTo(i int, unread []*Error) *Error {
	switch {
	case p.gone[i] != nil:
		return p.gone[i]
	case unread != nil && unread[i] != nil:
		return unread[i]
	case p.policy.OnCircuitOpen:
		return p.members[i].Breaker.refusal()
	default:
		return nil
	}
}

// readErrors returns, for each member, why it cannot read the request, or nil if all can. Members
// that read every user message are preferred to members that read only the latest. It fails if no
// member reads the latest.
func (p *Pool) readErrors(req *Request) ([]*Error, error) {
	limited := func(m Member) bool { return len(m.Input) > 0 }
	if !slices.ContainsFunc(p.members, limited) {
		return nil, nil
	}
	for _, messages := range [][]Message{req.Messages, latestUserMessages(req.Messages)} {
		reasons, able := make([]*Error, len(p.members)), 0
		for i := range p.members {
			m := &p.members[i]
			if unread := unreadableModalities(messages, m.Input); len(unread) > 0 {
				reasons[i] = cannotRead(m.ID, unread, m.Input)
			} else {
				able++
			}
		}
		switch able {
		case len(p.members):
			return nil, nil
		case 0:
		default:
			return reasons, nil
		}
	}
	asked := unreadableModalities(latestUserMessages(req.Messages), []spec.Modality{spec.ModalityText})
	return nil, &Error{Class: InvalidRequest, Message: fmt.Sprintf("no member of pool %s reads all of %s", p.id, spec.JoinModalities(asked, ", "))}
}

// settleHome makes the member that serves a session its home.
func (p *Pool) settleHome(r *route, i int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s, _ := p.seats.Get(r.key); s.home != i {
		p.takeSeat(r, seat{home: i, moves: s.moves + 1})
	}
}

// takeSeat remembers the seat of a session.
func (p *Pool) takeSeat(r *route, to seat) {
	if r.key != "" {
		p.seats.Put(r.key, to)
	}
}

// chooseHome returns the home of a session that has none yet: by the policy, among
// the eligible members with no known obstacle, or among all eligible members if all
// have one.
func (p *Pool) chooseHome(key string, unread []*Error) int {
	fit := func(i int) bool { return p.objectionTo(i, unread) == nil }
	i := p.bestMember(key, fit)
	if i < 0 {
		i = p.bestMember(key, func(int) bool { return true })
	}
	if p.policy.Home == HomeRoundRobin {
		p.served[i]++
	}
	return i
}

// bestMember returns the fit member that the policy prefers, or -1.
func (p *Pool) bestMember(key string, fit func(i int) bool) int {
	best, top := -1, math.Inf(-1)
	for i := range p.members {
		if p.members[i].FailoverOnly || !fit(i) {
			continue
		}
		if score := p.scoreMember(key, i); score > top {
			best, top = i, score
		}
	}
	return best
}

func (p *Pool) scoreMember(key string, i int) float64 {
	m := &p.members[i]
	switch p.policy.Home {
	case HomeFirstHealthy:
		return -float64(i)
	case HomeRoundRobin:
		return -p.served[i] / m.Weight
	default:
		return scoreRendezvous(key, m.ID, m.Weight)
	}
}
