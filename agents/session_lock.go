package agents

import (
	"context"
	"sync"

	"github.com/agentruntime/agentruntime/backend"
)

// sessionLocks serialize the turns of each session of agents with custom snapshot stores, within
// this process. The zero value is ready to use.
type sessionLocks struct {
	mu   sync.Mutex
	held map[sessionKey]*sessionLock
}

// sessionKey identifies a session of an agent.
type sessionKey struct{ tenant, agent, session string }

// sessionLock is the lock of one session: a channel with capacity for its holder.
type sessionLock struct {
	turn chan struct{}
	// users counts the holder of the lock and its waiters.
	users int
}

// acquire waits for a session and returns a function that releases it, to be called once. The error
// says why ctx ended.
func (l *sessionLocks) acquire(ctx context.Context, key sessionKey) (release func(), err error) {
	l.mu.Lock()
	lock := l.held[key]
	if lock == nil {
		if l.held == nil {
			l.held = make(map[sessionKey]*sessionLock)
		}
		lock = &sessionLock{turn: make(chan struct{}, 1)}
		l.held[key] = lock
	}
	lock.users++
	l.mu.Unlock()
	select {
	case lock.turn <- struct{}{}:
		return func() {
			<-lock.turn
			l.forget(key, lock)
		}, nil
	case <-ctx.Done():
		l.forget(key, lock)
		return nil, backend.Ended(ctx)
	}
}

// forget removes the lock of a session without users.
func (l *sessionLocks) forget(key sessionKey, lock *sessionLock) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if lock.users--; lock.users == 0 {
		delete(l.held, key)
	}
}
