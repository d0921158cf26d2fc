package local

import (
	"context"
	"sync"

	"github.com/agentruntime/agentruntime/dispatch"
)

// Bell is the bell of one process. Rings for one turn that come while a
// listener hears others are heard once. The zero Bell is ready for use.
type Bell struct {
	mu        sync.RWMutex
	listeners map[*listener]struct{}
}

var _ dispatch.Bell = (*Bell)(nil)

// listener is one call of Listen.
type listener struct {
	mu    sync.Mutex
	ids   []string // in the order of their first rings
	known map[string]struct{}
	rung  chan struct{} // holds a token when ids are to be heard
}

// NewBell returns a Bell.
func NewBell() *Bell { return &Bell{} }

// Ring implements dispatch.Bell. Nobody hears it where nobody listens.
func (b *Bell) Ring(turnID string) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	for l := range b.listeners {
		l.ring(turnID)
	}
}

// Listen implements dispatch.Bell. The error is the cause of the end of ctx.
func (b *Bell) Listen(ctx context.Context, heard func(turnIDs []string)) error {
	l := &listener{known: make(map[string]struct{}), rung: make(chan struct{}, 1)}
	b.mu.Lock()
	if b.listeners == nil {
		b.listeners = make(map[*listener]struct{})
	}
	b.listeners[l] = struct{}{}
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.listeners, l)
	}()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-l.rung:
			heard(l.take())
		}
	}
}

func (l *listener) ring(turnID string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.known[turnID]; known {
		return
	}
	l.known[turnID] = struct{}{}
	l.ids = append(l.ids, turnID)
	select {
	case l.rung <- struct{}{}:
	default:
	}
}

// take returns the ids that are to be heard. It returns some whenever there was
// a token: who puts one in has added an id, and only take removes ids.
func (l *listener) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	ids := l.ids
	l.ids = nil
	clear(l.known)
	return ids
}
