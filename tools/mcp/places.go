package mcp

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"
)

const (
	// placeIdle is how long a connection not shared by all calls is kept after its latest call.
	placeIdle = time.Minute
	// maxTenants bounds the connections of tenants to one server.
	maxTenants = 256
)

// places are connections that serve only some calls, by key: programs in session workspaces by
// directory, and servers reached with tenant variables by tenant. The zero value is empty.
type places struct {
	// idle is how long a connection is kept after its latest call; 0 means placeIdle. most limits
	// the connections; 0 means no limit.
	idle time.Duration
	most int

	mu   sync.Mutex
	open map[string]*placed
	// replaced are the connections that have calls but have lost their place.
	replaced map[*placed]bool
	closed   bool
	// waiting waits for the goroutines that close idle connections.
	waiting sync.WaitGroup
}

// placed is a connection with a place.
type placed struct {
	link *link
	// state identifies the settings of the connection; other settings need another connection.
	state string
	// calls is how many calls use the connection, and last when the latest call ended.
	calls int
	last  time.Time
	// ended is closed after the latest call if the connection has lost its place.
	ended chan struct{}
}

// errTooManyTenants reports that the maximum number of tenants is calling a server.
var errTooManyTenants = errors.New("too many tenants use it at the same time; try again later")

// enter returns the connection at a place, and uses open if none has that state. The caller calls
// leave after the call.
func (p *places) enter(at, state string, open func(context.Context, *sync.WaitGroup) (*session, error)) (l *link, leave func(), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, nil, ErrClosed
	}
	one := p.open[at]
	if one != nil && one.state != state {
		p.replace(at, one)
		one = nil
	}
	if one == nil {
		if !p.makeRoom() {
			return nil, nil, errTooManyTenants
		}
		one = &placed{link: newLink(open), state: state, ended: make(chan struct{})}
		if p.open == nil {
			p.open = make(map[string]*placed)
		}
		p.open[at] = one
		p.waiting.Go(func() { p.endIdle(at, one) })
	}
	one.calls++
	return one.link, func() { p.leave(one) }, nil
}

// replace takes its place from a connection, which ends with its calls. The lock is held.
func (p *places) replace(at string, one *placed) {
	delete(p.open, at)
	if one.calls == 0 {
		close(one.ended)
		return
	}
	if p.replaced == nil {
		p.replaced = make(map[*placed]bool)
	}
	p.replaced[one] = true
}

// makeRoom reports whether there is room for one more connection, after closing the least
// recently used one if necessary. The caller holds the lock.
func (p *places) makeRoom() bool {
	if p.most == 0 || len(p.open)+len(p.replaced) < p.most {
		return true
	}
	var at string
	var oldest *placed
	for key, one := range p.open {
		if one.calls == 0 && (oldest == nil || one.last.Before(oldest.last)) {
			at, oldest = key, one
		}
	}
	if oldest == nil {
		return false
	}
	p.replace(at, oldest)
	return true
}

// countOpen returns how many connections are open.
func (p *places) countOpen() (n int) {
	p.mu.Lock()
	all := slices.AppendSeq(slices.Collect(maps.Values(p.open)), maps.Keys(p.replaced))
	p.mu.Unlock()
	for _, one := range all {
		if open, _ := one.link.state(); open {
			n++
		}
	}
	return n
}

func (p *places) leave(one *placed) {
	p.mu.Lock()
	defer p.mu.Unlock()
	one.calls--
	one.last = time.Now()
	if p.replaced[one] && one.calls == 0 {
		delete(p.replaced, one)
		close(one.ended)
	}
}

// endIdle ends a connection that has been idle for some time or has lost its place.
func (p *places) endIdle(at string, one *placed) {
	idle := cmp.Or(p.idle, placeIdle)
	timer := time.NewTimer(idle)
	defer timer.Stop()
	for {
		select {
		case <-one.link.ctx.Done():
			return
		case <-one.ended:
			one.link.close()
			return
		case <-timer.C:
		}
		left := p.remove(at, one, idle)
		if left == 0 {
			one.link.close()
			return
		}
		timer.Reset(left)
	}
}

// remove removes an idle connection; otherwise it returns when to check again.
func (p *places) remove(at string, one *placed, idle time.Duration) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if one.calls > 0 {
		return idle
	}
	if left := idle - time.Since(one.last); left > 0 {
		return left
	}
	if p.open[at] == one {
		delete(p.open, at)
	}
	return 0
}

// close ends all connections.
func (p *places) close() {
	p.mu.Lock()
	p.closed = true
	all := slices.AppendSeq(slices.Collect(maps.Values(p.open)), maps.Keys(p.replaced))
	p.open = nil
	p.mu.Unlock()
	for _, one := range all {
		one.link.close()
	}
	p.waiting.Wait()
}
