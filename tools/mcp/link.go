package mcp

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/tools/mcp/internal/oauth"
)

// link keeps the one session that all calls share. It opens the session on demand, and reopens it
// on the next request after it has ended.
type link struct {
	// open connects; it is called by one goroutine at a time. The session's
	// goroutines belong to running, and end with ctx.
	open func(ctx context.Context, running *sync.WaitGroup) (*session, error)

	// ctx is canceled when the link is closed. running waits for all its goroutines.
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

// openSession returns the session; fresh reports whether it was opened for this call. If ctx ends,
// the attempt continues for the next caller.
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

// currentAttempt returns the current session, or else the current attempt.
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
	if err != nil && !isLoginError(err) { // a login takes effect now
		l.backoff.noteFailure(time.Now(), 0)
	}
	close(o.done)
}

func isLoginError(err error) bool {
	_, ok := errors.AsType[*oauth.LoginError](err)
	return ok
}

// state returns whether a session is open, and the number of consecutive failures.
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
