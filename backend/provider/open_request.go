package provider

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/backend/provider/internal/pool"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

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

// errBusy reports that the provider called tools and waits for their results before it answers.
var errBusy = errors.New("the provider waits for the results of its tool calls")

const (
	// answerLimit is the default time limit for answers.
	answerLimit = 30 * time.Second
	// busyPatience is how long to wait for an answer while calls wait for the turn.
	busyPatience = 200 * time.Millisecond
)

// ask calls the provider for a turn. It returns errBusy if the provider calls tools first; the next
// ask with the same key then returns the answer.
func ask[In, Out any](ctx context.Context, d *drive, key string, call func(context.Context, In, ...grpc.CallOption) (Out, error), in In) (out Out, err error) {
	if ctx.Err() != nil {
		return out, status.FromContextError(ctx.Err()).Err()
	}
	open, turnID := &d.hosted.provider.host.requests, d.at.TurnID
	e := open.start(ctx, turnID, key, func(ctx context.Context) (any, error) { return call(ctx, in) })
	if err := d.awaitAnswer(ctx, e); err != nil {
		if status.Code(err) == codes.DeadlineExceeded {
			open.drop(turnID, key)
		}
		return out, err
	}
	open.drop(turnID, key)
	out, _ = e.reply.(Out)
	return out, e.err
}

// awaitAnswer waits for a request's answer, or returns why it stopped waiting.
func (d *drive) awaitAnswer(ctx context.Context, e *openRequest) error {
	most := d.hosted.provider.host.answers
	limit := time.NewTimer(most)
	defer limit.Stop()
	waiting := d.waitingCalls()
	var patience <-chan time.Time
	for {
		select {
		case <-e.done:
			return nil
		case <-waiting:
			waiting, patience = nil, time.After(busyPatience)
		case <-patience:
			return errBusy
		case <-limit.C:
			return status.Errorf(codes.DeadlineExceeded, "no answer within %s", most)
		case <-ctx.Done():
			return status.FromContextError(ctx.Err()).Err()
		}
	}
}

// waitingCalls returns a channel that is closed while calls wait for the turn.
func (d *drive) waitingCalls() <-chan struct{} {
	if d.calls == nil {
		return nil
	}
	return d.calls.Waiting()
}
