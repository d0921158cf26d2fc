package mcp

import (
	"context"
	"sync"
	"time"
)

// link keeps the one session that all calls share. It is opened when somebody
// asks for it, and opened anew when it has ended and somebody asks again.
type link struct {
	// open connects; it is called by one goroutine at a time. The session's
	// goroutines belong to running, and end with ctx.
	open func(ctx context.Context, running *sync.WaitGroup) (*session, error)

	// ctx ends when the link is closed. running are all goroutines that serve
	// it.
	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu      sync.Mutex
	current *session
	opening *opening
	backoff backoff
	closed  bool
}

// opening is an attempt to open a session.
type opening struct {
	// done is closed when session or err is set.
	done    chan struct{}
	session *session
	err     error
}

func newLink(open func(context.Context, *sync.WaitGroup) (*session, error)) *link {
	l := &link{open: open}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return l
}

// openSession returns the session; fresh reports whether it was opened for this call. The attempt
// continues for the next caller when ctx ends.
func (l *link) openSession(ctx context.Context) (s *session, fresh bool, err error) {
	attempt, s, err := l.currentAttempt()
	if s != nil || err != nil {
		return s, false, err
	}
	select {
	case <-attempt.done:
		return attempt.session, true, attempt.err
	case <-ctx.Done():
		return nil, false, ctx.Err()
	}
}

// currentAttempt returns the session there is, or else the attempt under way.
func (l *link) currentAttempt() (*opening, *session, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.closed:
		return nil, nil, ErrClosed
	case l.current != nil && !l.current.hasEnded():
		return nil, l.current, nil
	case l.opening != nil:
		return l.opening, nil, nil
	}
	if l.current != nil {
		l.backoff.noteFailure(time.Now(), l.current.lived)
		l.current = nil
	}
	if pause := l.backoff.remainingPause(time.Now()); pause > 0 {
		return nil, nil, &pausedError{pause}
	}
	o := &opening{done: make(chan struct{})}
	l.opening = o
	l.running.Go(func() { l.runAttempt(o) })
	return o, nil, nil
}

// runAttempt makes an attempt.
func (l *link) runAttempt(o *opening) {
	s, err := l.open(l.ctx, &l.running)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.opening, l.current = nil, s
	o.session, o.err = s, err
	if err != nil && !isLoginError(err) { // a login must count at once
		l.backoff.noteFailure(time.Now(), 0)
	}
	close(o.done)
}

// state returns whether a session is open, and how many failures there were in a row.
func (l *link) state() (open bool, failures int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	open = l.current != nil && !l.current.hasEnded()
	if l.current != nil && !open { // the next attempt counts it
		after := l.backoff
		after.noteFailure(time.Now(), l.current.lived)
		return false, after.failures
	}
	return open, l.backoff.failures
}

// close ends the session and waits for all goroutines. It may be called more
// than once.
func (l *link) close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.cancel()
	l.running.Wait()
}
