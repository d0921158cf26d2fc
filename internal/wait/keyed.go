package wait

import (
	"context"
	"sync"
)

// Keyed has a lock for each key. The zero value is ready to use.
type Keyed[K comparable] struct {
	mu    sync.Mutex
	locks map[K]*lock
}

// lock is held by the element of its channel.
type lock struct {
	held chan struct{}
	// users counts the holder and the waiters.
	users int
}

// Acquire waits for the lock of a key. The caller must call release once. If ctx ends first, Acquire
// returns its error.
func (k *Keyed[K]) Acquire(ctx context.Context, key K) (release func(), err error) {
	k.mu.Lock()
	l := k.locks[key]
	if l == nil {
		if k.locks == nil {
			k.locks = make(map[K]*lock)
		}
		l = &lock{held: make(chan struct{}, 1)}
		k.locks[key] = l
	}
	l.users++
	k.mu.Unlock()
	select {
	case l.held <- struct{}{}:
		return func() {
			<-l.held
			k.forget(key, l)
		}, nil
	case <-ctx.Done():
		k.forget(key, l)
		return nil, ctx.Err()
	}
}

// forget removes a lock without users.
func (k *Keyed[K]) forget(key K, l *lock) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if l.users--; l.users == 0 {
		delete(k.locks, key)
	}
}
