package provider

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/backend/provider/internal/pool"
)

// grantLimit is the maximum lifetime of a grant.
const grantLimit = 24 * time.Hour

// openRequest is one call to a provider. The provider may call tools before it answers, so a
// request outlasts the steps of its turn, and even a suspended turn.
type openRequest struct {
	done   chan struct{}
	cancel context.CancelFunc
	reply  any
	err    error
}

// isDone reports whether the provider has answered.
func (e *openRequest) isDone() bool {
	select {
	case <-e.done:
		return true
	default:
		return false
	}
}

// openRequests are the unanswered calls to providers. It is safe for concurrent use.
type openRequests struct {
	mu sync.Mutex
	// open holds the requests by the provider's turn and their keys.
	open map[string]map[string]*openRequest
}

// start makes a call for a turn in a new goroutine, or returns the one with the same key.
func (o *openRequests) start(ctx context.Context, turnID, key string, call func(context.Context) (any, error)) *openRequest {
	o.mu.Lock()
	defer o.mu.Unlock()
	if e := o.open[turnID][key]; e != nil {
		return e
	}
	ctx, cancel := context.WithTimeout(pool.WithoutTimeout(context.WithoutCancel(ctx)), grantLimit)
	e := &openRequest{done: make(chan struct{}), cancel: cancel}
	if o.open == nil {
		o.open = map[string]map[string]*openRequest{}
	}
	if o.open[turnID] == nil {
		o.open[turnID] = map[string]*openRequest{}
	}
	o.open[turnID][key] = e
	go func() {
		defer close(e.done)
		defer cancel()
		e.reply, e.err = call(ctx)
	}()
	return e
}

// find returns a request of a turn, or nil.
func (o *openRequests) find(turnID, key string) *openRequest {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.open[turnID][key]
}

// drop cancels a request of a turn and waits for its goroutine.
func (o *openRequests) drop(turnID, key string) {
	o.mu.Lock()
	e := o.open[turnID][key]
	delete(o.open[turnID], key)
	o.mu.Unlock()
	if e != nil {
		e.cancel()
		<-e.done
	}
}

// endTurn cancels the requests of a turn and waits for their goroutines.
func (o *openRequests) endTurn(turnID string) {
	o.mu.Lock()
	open := o.open[turnID]
	delete(o.open, turnID)
	o.mu.Unlock()
	for _, e := range open {
		e.cancel()
		<-e.done
	}
}

// close ends the requests of all turns.
func (o *openRequests) close() {
	o.mu.Lock()
	turns := slices.Collect(maps.Keys(o.open))
	o.mu.Unlock()
	for _, id := range turns {
		o.endTurn(id)
	}
}
