package vendorhttp

import (
	"context"
	"sync"
)

// Once computes the value of each key once and keeps it. The zero value is ready to use.
type Once[T any] struct{ known sync.Map }

type onceValue[T any] struct {
	done  chan struct{}
	value T
	err   error
}

// Get returns the value of a key. Concurrent calls share one call of ask. Errors are not kept.
func (o *Once[T]) Get(ctx context.Context, key string, ask func() (T, error)) (T, error) {
	own := &onceValue[T]{done: make(chan struct{})}
	if other, loaded := o.known.LoadOrStore(key, own); loaded {
		own = other.(*onceValue[T]) //nolint:forcetypeassert // the map has values of one type
		select {
		case <-own.done:
			return own.value, own.err
		case <-ctx.Done():
			return own.value, ctx.Err()
		}
	}
	defer close(own.done)
	defer func() {
		if own.err != nil {
			o.known.Delete(key)
		}
	}()
	own.err = context.Canceled // if ask panics
	own.value, own.err = ask()
	return own.value, own.err
}
