package hostservice

import (
	"bytes"
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/tools"
)

// maxUnsettled is the maximum number of a turn's calls without an outcome.
const maxUnsettled = 1024

// errReused reports that an id names another call already.
var errReused = errors.New("the id of the call belongs to another call")

// errEnded reports a call of a turn that has ended.
var errEnded = errors.New("the turn has ended")

// errTooMany reports too many concurrent calls of a turn.
var errTooMany = fmt.Errorf("%d tool calls of the turn already wait for their result", maxUnsettled)

// Tool is a tool as the provider of a turn may list and call it.
type Tool struct {
	model.Tool
	Effect tools.Effect
}

// Call is a tool call of a provider.
type Call struct {
	ID, Tool  string
	Arguments json.RawMessage
}

// Outcome is the outcome of a call: a status as in HTTP, and a text.
type Outcome struct {
	Status int32
	Body   string
}

// Connection lets a provider reach a service that was configured for it.
type Connection struct {
	Headers map[string]string `json:"headers,omitempty" secret:"true" doc:"Headers of requests."`
	Params  map[string]string `json:"params,omitempty" doc:"Parameters, such as a base URL."`
}

// Turn is a turn whose provider may call back.
type Turn struct {
	SessionID, TurnID string
	// RuntimeTurnID is the turn of the runtime.
	RuntimeTurnID string
	// Tools are the turn's tools, sorted by name.
	Tools []Tool
	// Connections are the provider's connections, by name.
	Connections map[string]Connection
	// Until is when the grant of the turn expires.
	Until time.Time
	// Earlier is the hash of the grant that the provider got from an earlier process, if any;
	// that grant stays valid. See HashGrant.
	Earlier string
}

// accepts reports whether an earlier process issued the grant.
func (t *Turn) accepts(grant string) bool {
	return t.Earlier != "" && subtle.ConstantTimeCompare([]byte(HashGrant(grant)), []byte(t.Earlier)) == 1
}

// CallQueue accepts the calls of one turn and passes them to the turn's worker.
type CallQueue struct {
	Turn
	// Grant proves that a call belongs to the turn.
	Grant string

	mu sync.Mutex
	// waiting is closed while calls are queued.
	waiting chan struct{}
	// calls holds all calls by id, and queue those not taken yet.
	calls map[string]*pending
	queue []*pending
	// unsettled counts the calls without an outcome.
	unsettled int
	// over is closed when the turn has ended.
	over   chan struct{}
	closed bool
}

// pending is a call, with its outcome once done is closed.
type pending struct {
	Call
	done    chan struct{}
	outcome Outcome
	// entered is set if the provider made the call, and not only a process before a restart.
	entered bool
}

// Waiting returns a channel that is closed once calls are queued.
func (d *CallQueue) Waiting() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.waiting
}

// TakeCalls takes queued calls in order of arrival, at most the given number.
func (d *CallQueue) TakeCalls(most int) []Call {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := min(most, len(d.queue))
	taken := make([]Call, n)
	for i := range taken {
		taken[i] = d.queue[i].Call
	}
	d.queue = append(d.queue[:0:0], d.queue[n:]...)
	if n > 0 && len(d.queue) == 0 {
		d.waiting = make(chan struct{})
	}
	return taken
}

// HasCalls reports whether calls are queued.
func (d *CallQueue) HasCalls() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.queue) > 0
}

// SettleCall answers a call, even a future one: a provider repeats a call whose answer it did not
// receive.
func (d *CallQueue) SettleCall(id string, outcome Outcome) {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.calls[id]
	if p == nil {
		p = &pending{Call: Call{ID: id}, done: make(chan struct{})}
		d.calls[id] = p
	}
	select {
	case <-p.done: // it keeps its answer
	default:
		if p.entered {
			d.unsettled--
		}
		p.outcome = outcome
		close(p.done)
	}
}

// makeCall queues a call, unless it is known, and waits for its outcome.
func (d *CallQueue) makeCall(ctx context.Context, c Call) (Outcome, error) {
	p, err := d.enterCall(c)
	if err != nil {
		return Outcome{}, err
	}
	select {
	case <-p.done:
		return p.outcome, nil
	case <-d.over:
		return Outcome{}, errEnded
	case <-ctx.Done():
		return Outcome{}, ctx.Err()
	}
}

// enterCall returns the call with an id and queues it if it is new.
func (d *CallQueue) enterCall(c Call) (*pending, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.calls[c.ID]
	switch {
	case d.closed:
		return nil, errEnded
	case p != nil && !p.sameAs(&c):
		return nil, errReused
	case p != nil:
		return p, nil
	case d.unsettled >= maxUnsettled:
		return nil, errTooMany
	}
	p = &pending{Call: c, done: make(chan struct{}), entered: true}
	d.calls[c.ID] = p
	d.unsettled++
	if d.queue = append(d.queue, p); len(d.queue) == 1 {
		close(d.waiting)
	}
	return p, nil
}

// sameAs reports whether another call is a repetition. Calls made before a restart are identified
// by id alone.
func (p *pending) sameAs(c *Call) bool {
	return p.Tool == "" || p.Tool == c.Tool && bytes.Equal(p.Arguments, c.Arguments)
}

// close rejects all waiting and future calls.
func (d *CallQueue) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.closed {
		if len(d.queue) > 0 {
			d.waiting = make(chan struct{})
		}
		d.closed, d.queue = true, nil
		close(d.over)
	}
}

// toolNamed returns the tool with a name, or nil.
func (d *CallQueue) toolNamed(name string) *Tool {
	if i := slices.IndexFunc(d.Tools, func(t Tool) bool { return t.Name == name }); i >= 0 {
		return &d.Tools[i]
	}
	return nil
}
