package work

import (
	"context"
	"sync"
	"time"
)

const (
	// isolationPause is how long a turn that has one crash left waits for another
	// one like it.
	isolationPause = time.Second
	// aloneTime bounds how long a suspect turn keeps a process from claiming others.
	aloneTime = 10 * time.Second
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

// runAlone keeps the process from claiming other turns until release is called, or for
// aloneTime. It does nothing if another turn runs alone. If the turn has one crash left,
// it waits for the other turns to end, for aloneTime at most; otherwise it does nothing if
// there are any.
func (p *Pool) runAlone(ctx context.Context, last bool) (release func()) {
	p.mu.Lock()
	others := len(p.held)+p.claiming > 1
	if p.alone != nil || others && !last {
		p.mu.Unlock()
		return func() {}
	}
	ended, quiet := make(chan struct{}), make(chan struct{})
	p.alone = ended
	if others {
		p.quiet = quiet
	} else {
		close(quiet)
	}
	p.mu.Unlock()
	end := sync.OnceFunc(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.alone, p.quiet = nil, nil
		close(ended)
	})
	limit := time.AfterFunc(aloneTime, end)
	select {
	case <-quiet:
	case <-ended:
	case <-ctx.Done():
	}
	return func() { limit.Stop(); end() }
}

// tryBeginClaim reports whether this process may claim a turn, which it may not while a
// turn has the process for itself. endClaim has to be called once the turn is held, or was
// not claimed.
func (p *Pool) tryBeginClaim() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.alone != nil {
		return false
	}
	p.claiming++
	return true
}

// beginClaim waits until this process may claim a turn. It reports false if ctx ends
// before; otherwise endClaim has to be called.
func (p *Pool) beginClaim(ctx context.Context) bool {
	for !p.tryBeginClaim() {
		p.mu.Lock()
		ended := p.alone
		p.mu.Unlock()
		if ended == nil {
			continue
		}
		select {
		case <-ended:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// endClaim ends what tryBeginClaim or beginClaim began.
func (p *Pool) endClaim() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.claiming--
	p.noteQuiet()
}

// noteQuiet tells the turn that waits for others to end that there are none. The caller
// holds the lock.
func (p *Pool) noteQuiet() {
	if p.quiet != nil && len(p.held)+p.claiming <= 1 {
		close(p.quiet)
		p.quiet = nil
	}
}
