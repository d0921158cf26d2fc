package mcp

import (
	"context"
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/tools"
)

// placeIdle is how long a program stays in a workspace after its latest call.
const placeIdle = time.Minute

// places are the connections to programs that run in the workspaces of sessions, one for
// each workspace. The zero value has none.
type places struct {
	// idle is how long a connection is kept after its latest call; 0 is placeIdle.
	idle time.Duration

	mu     sync.Mutex
	open   map[string]*placed
	closed bool
	// waiting are the goroutines that end idle connections.
	waiting sync.WaitGroup
}

// placed is the connection of one workspace.
type placed struct {
	link *link
	// calls is how many calls use it, and last when the latest one ended.
	calls int
	last  time.Time
}

// enterPlace returns the connection for a call: that of the workspace of its session where
// the server is a program without a directory of its own. leave is called after the call.
func (s *server) enterPlace(w *tools.Workspace) (l *link, leave func(), err error) {
	if w == nil || s.config.URL != "" || s.config.Dir != "" {
		return s.link, func() {}, nil
	}
	dir, err := w.Directory()
	if err != nil {
		return nil, nil, err
	}
	p := &s.places
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, nil, ErrClosed
	}
	one := p.open[dir]
	if one == nil {
		one = &placed{link: newLink(func(ctx context.Context, running *sync.WaitGroup) (*session, error) {
			return s.openPlaced(ctx, running, dir)
		})}
		if p.open == nil {
			p.open = make(map[string]*placed)
		}
		p.open[dir] = one
		p.waiting.Go(func() { p.endIdle(dir, one) })
	}
	one.calls++
	return one.link, func() { p.leave(one) }, nil
}

// openPlaced connects to a program in a workspace. It has the tools of the catalogue; what
// it lists itself does not count.
func (s *server) openPlaced(ctx context.Context, running *sync.WaitGroup, dir string) (*session, error) {
	began := time.Now()
	c, err := s.connectSession(ctx, dir)
	if err != nil {
		return nil, err
	}
	running.Go(func() { c.waitForEnd(s, began) })
	return c, nil
}

func (p *places) leave(one *placed) {
	p.mu.Lock()
	defer p.mu.Unlock()
	one.calls--
	one.last = time.Now()
}

// endIdle ends a connection once it was not used for some time.
func (p *places) endIdle(dir string, one *placed) {
	idle := p.idle
	if idle == 0 {
		idle = placeIdle
	}
	timer := time.NewTimer(idle)
	defer timer.Stop()
	for {
		select {
		case <-one.link.ctx.Done():
			return
		case <-timer.C:
		}
		left := p.remove(dir, one, idle)
		if left == 0 {
			one.link.close()
			return
		}
		timer.Reset(left)
	}
}

// remove forgets a connection that is idle; otherwise it returns when to look again.
func (p *places) remove(dir string, one *placed, idle time.Duration) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if one.calls > 0 {
		return idle
	}
	if left := idle - time.Since(one.last); left > 0 {
		return left
	}
	delete(p.open, dir)
	return 0
}

// close ends all connections.
func (p *places) close() {
	p.mu.Lock()
	p.closed = true
	open := p.open
	p.open = nil
	p.mu.Unlock()
	for _, one := range open {
		one.link.close()
	}
	p.waiting.Wait()
}
