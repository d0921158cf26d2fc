package postgres

import (
	"context"
	"slices"
	"sync"
	"time"
)

// maxGathered is how many items one transaction stores, and maxGatherings how many such
// transactions a gatherer runs concurrently.
const (
	maxGathered   = 64
	maxGatherings = 2
)

// gatherer batches concurrent writes into shared transactions. A group takes only unproblematic
// items; callers store special or invalid items alone.
type gatherer[T any] struct {
	// write stores the suitable items of a group, and marks each stored item. If it fails,
	// nothing is stored.
	write func(ctx context.Context, group []T) error

	mu      sync.Mutex
	waiting []*gathered[T]
	// writing is the number of running transactions.
	writing int
}

// patience is how long a group keeps trying to reach the database.
const patience = 10 * time.Second

// gathered is an item whose caller waits.
type gathered[T any] struct {
	item T
	// err is set if it is unknown whether the item is stored.
	err  error
	done chan struct{}
}

// joinGroup returns when the caller may store an item alone, or after a group that may have stored
// the item. The caller calls leave at the end.
func (g *gatherer[T]) joinGroup(ctx context.Context, item T) (leave func(), err error) {
	g.mu.Lock()
	if g.writing < maxGatherings {
		g.writing++
		g.mu.Unlock()
		return g.writeNext, nil
	}
	own := &gathered[T]{item: item, done: make(chan struct{})}
	g.waiting = append(g.waiting, own)
	g.mu.Unlock()
	leave = func() {}
	select {
	case <-own.done:
	case <-ctx.Done():
		if g.takeBack(own) {
			return leave, ctx.Err()
		}
		<-own.done
	}
	return leave, own.err
}

// takeBack removes an item unless a group has it.
func (g *gatherer[T]) takeBack(own *gathered[T]) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.Index(g.waiting, own)
	if i >= 0 {
		g.waiting = slices.Delete(g.waiting, i, i+1)
	}
	return i >= 0
}

// writeNext ends a transaction and starts the next one for the waiting callers.
func (g *gatherer[T]) writeNext() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.waiting) == 0 {
		g.writing--
		return
	}
	n := min(len(g.waiting), maxGathered)
	group := slices.Clone(g.waiting[:n])
	g.waiting = slices.Delete(g.waiting, 0, n)
	go func() {
		defer g.writeNext()
		if err := g.writeGroup(group); err != nil && errorCode(err) == "" {
			for _, own := range group {
				own.err = err // the connection was lost
			}
		}
		for _, own := range group {
			close(own.done)
		}
	}()
}

// writeGroup stores a group. One item alone is left to its caller.
func (g *gatherer[T]) writeGroup(group []*gathered[T]) error {
	if len(group) == 1 {
		return nil
	}
	items := make([]T, len(group))
	for i, own := range group {
		items[i] = own.item
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return g.write(ctx, items)
}
