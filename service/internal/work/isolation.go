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
	others := len(p.held) > 1
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

// isAlone reports whether a turn has the process for itself.
func (p *Pool) isAlone() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.alone != nil
}

// waitForAlone waits while a turn has the process for itself.
func (p *Pool) waitForAlone(ctx context.Context) {
	for ctx.Err() == nil {
		p.mu.Lock()
		ended := p.alone
		p.mu.Unlock()
		if ended == nil {
			return
		}
		select {
		case <-ended:
		case <-ctx.Done():
		}
	}
}
