package work

import (
	"context"
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/store"
)

const (
	// isolationPause is how long a turn with one crash left waits for another such turn.
	isolationPause = time.Second
	// quietTime bounds how long suspect turns wait for turns without crashes to end. It is
	// short because the suspects of a lost process are mostly innocent.
	quietTime = 2 * time.Second
	// apartTime bounds how long suspect turns keep a process from claiming others.
	apartTime = 10 * time.Second
)

// acquireIsolation lets a process run only one turn at a time of those whose next
// crash would be the last, until that turn makes progress. Earlier crashes may have
// been the fault of another turn on the same worker, which must not end both.
func (p *Pool) acquireIsolation() (release func(), ok bool) {
	select {
	case p.isolated <- struct{}{}:
		return sync.OnceFunc(func() { <-p.isolated }), true
	default:
		return nil, false
	}
}

// runApart waits until a suspect turn may run: alone, or beside other suspects only. Until
// release is called, the process claims no other turns. Both waits are bounded, so the turn
// may still run beside others.
func (p *Pool) runApart(ctx context.Context, alone bool) (release func()) {
	q := p.enterQuarantine(alone)
	if q == nil {
		return func() {}
	}
	select {
	case <-q.quiet:
	case <-q.ended:
	case <-ctx.Done():
	}
	return sync.OnceFunc(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if q.suspects--; q.suspects == 0 {
			p.endQuarantine(q)
		}
	})
}

// enterQuarantine adds a turn to the quarantine, or begins one. It returns nil if another
// turn waits to be alone, which waits for this one too.
func (p *Pool) enterQuarantine(alone bool) *quarantine {
	p.mu.Lock()
	defer p.mu.Unlock()
	q := p.quarantine
	if q != nil && q.alone {
		return nil
	}
	if q != nil && alone {
		p.endQuarantine(q)
		q = nil
	}
	if q == nil {
		q = &quarantine{alone: alone, since: time.Now(), quiet: make(chan struct{}), ended: make(chan struct{})}
		wait := quietTime
		if alone {
			wait = apartTime
		}
		q.limit = time.AfterFunc(wait, func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.endQuarantine(q)
		})
		p.quarantine = q
	}
	q.suspects++
	p.noteQuiet()
	return q
}

// endQuarantine lets the process claim other turns again. The caller holds the lock.
func (p *Pool) endQuarantine(q *quarantine) {
	if p.quarantine == q {
		p.quarantine = nil
		q.limit.Stop()
		close(q.ended)
	}
}

// noteQuiet lets suspects run if no other turns do. The caller holds the lock.
func (p *Pool) noteQuiet() {
	q := p.quarantine
	if q == nil || q.begun || p.claiming > 0 {
		return
	}
	if q.alone && len(p.held) > 1 || !q.alone && p.holdsUnsuspected() {
		return
	}
	q.begun = true
	close(q.quiet)
	if !q.alone {
		q.limit.Reset(apartTime - time.Since(q.since))
	}
}

// holdsUnsuspected reports whether turns run that had no crashes when they were claimed. The
// caller holds the lock.
func (p *Pool) holdsUnsuspected() bool {
	for _, h := range p.held {
		if h.turn.Strikes == 0 {
			return true
		}
	}
	return false
}

// tryBeginClaim reports whether this process may claim a turn without crashes. endClaim has to
// be called once the turn is held, or was not claimed.
func (p *Pool) tryBeginClaim() bool {
	begun, _ := p.beginClaimOf(false)
	return begun
}

// beginClaimOf begins a claim unless a quarantine excludes the turn.
func (p *Pool) beginClaimOf(suspect bool) (begun bool, q *quarantine) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if q = p.quarantine; q != nil && (q.alone || !suspect) {
		return false, q
	}
	p.claiming++
	return true, nil
}

// beginClaim waits until this process may claim the turn. It reports false if ctx ends
// before; otherwise endClaim has to be called.
func (p *Pool) beginClaim(ctx context.Context, turnID string) bool {
	suspect := false
	for {
		begun, q := p.beginClaimOf(suspect)
		if begun {
			return true
		}
		if !q.alone && p.isSuspect(ctx, turnID) {
			suspect = true
			continue
		}
		select {
		case <-q.ended:
		case <-ctx.Done():
			return false
		}
	}
}

// isSuspect reports whether a process died during a turn that is not claimed.
func (p *Pool) isSuspect(ctx context.Context, turnID string) bool {
	t, err := p.settings.Store.Turn(ctx, store.Everything, turnID)
	return err == nil && t.Strikes > 0
}

// endClaim ends a claim started by tryBeginClaim or beginClaim.
func (p *Pool) endClaim() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.claiming--
	p.noteQuiet()
}
