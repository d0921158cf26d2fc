package hostservice

import (
	"bytes"
	"context"
	"crypto/subtle"
	"encoding/json"
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/tools"
)

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

// Outcome is what a call came to: a status as in HTTP, and a text.
type Outcome struct {
	Status int32
	Body   string
}

// Connection is what a provider needs to reach something that was configured for it.
type Connection struct {
	Headers, Params map[string]string
}

// Turn is a turn whose provider may call back.
type Turn struct {
	SessionID, TurnID string
	// Tools are those that the turn may use, sorted by name.
	Tools []Tool
	// Connections are those of the provider, by name.
	Connections map[string]Connection
	// Until is when the grant of the turn expires.
	Until time.Time
	// Earlier is the hash of the grant that the provider got from an earlier process, if
	// it did: it goes on being valid. See HashGrant.
	Earlier string
}

// accepts reports whether a grant is the one that an earlier process gave out.
func (t *Turn) accepts(grant string) bool {
	return t.Earlier != "" && subtle.ConstantTimeCompare([]byte(HashGrant(grant)), []byte(t.Earlier)) == 1
}

// Desk takes the calls of one turn, and hands them to the worker of the turn.
type Desk struct {
	Turn
	// Grant proves that a call belongs to the turn.
	Grant string

	wake chan struct{}
	mu   sync.Mutex
	// calls are all that were made, by id, and queue those that nobody took yet.
	calls map[string]*pending
	queue []*pending
	// over is closed when the turn has ended.
	over   chan struct{}
	closed bool
}

// pending is a call, and what it came to once done is closed.
type pending struct {
	Call
	done    chan struct{}
	outcome Outcome
}

func newDesk(t *Turn) *Desk {
	return &Desk{Turn: *t, wake: make(chan struct{}, 1), calls: map[string]*pending{}, over: make(chan struct{})}
}

// Wake receives something when there may be calls to take.
func (d *Desk) Wake() <-chan struct{} { return d.wake }

// TakeCalls returns up to a number of calls that nobody took yet, in the order in
// which they came.
func (d *Desk) TakeCalls(most int) []Call {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := min(most, len(d.queue))
	taken := make([]Call, n)
	for i := range taken {
		taken[i] = d.queue[i].Call
	}
	d.queue = append(d.queue[:0:0], d.queue[n:]...)
	return taken
}

// HasCalls reports whether there are calls to take.
func (d *Desk) HasCalls() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.queue) > 0
}

// SettleCall answers a call, be it one that is still to come: a provider repeats a call
// whose answer it did not get.
func (d *Desk) SettleCall(id string, outcome Outcome) {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.calls[id]
	if p == nil {
		p = &pending{Call: Call{ID: id}, done: make(chan struct{})}
		d.calls[id] = p
	}
	select {
	case <-p.done: // it keeps the answer that it has
	default:
		p.outcome = outcome
		close(p.done)
	}
}

// makeCall queues a call, unless it is known, and waits for its outcome. ok is false if
// the turn ended before.
func (d *Desk) makeCall(ctx context.Context, c Call) (outcome Outcome, ok bool, err error) {
	p, known := d.enterCall(c)
	if p == nil {
		return Outcome{}, false, nil
	}
	if known && !p.sameAs(&c) {
		return Outcome{}, true, errReused
	}
	select {
	case <-p.done:
		return p.outcome, true, nil
	case <-d.over:
		return Outcome{}, false, nil
	case <-ctx.Done():
		return Outcome{}, true, ctx.Err()
	}
}

// enterCall returns the call with an id, which it queues if it is new; nil when the
// turn has ended.
func (d *Desk) enterCall(c Call) (p *pending, known bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, false
	}
	if p = d.calls[c.ID]; p != nil {
		return p, true
	}
	p = &pending{Call: c, done: make(chan struct{})}
	d.calls[c.ID] = p
	d.queue = append(d.queue, p)
	select {
	case d.wake <- struct{}{}:
	default:
	}
	return p, false
}

// sameAs reports whether another call is a repetition. What was made before a restart
// is known by its id alone.
func (p *pending) sameAs(c *Call) bool {
	return p.Tool == "" || p.Tool == c.Tool && bytes.Equal(p.Arguments, c.Arguments)
}

// close refuses all calls from now on, also those that wait.
func (d *Desk) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.closed {
		d.closed, d.queue = true, nil
		close(d.over)
	}
}

// toolNamed returns the tool with a name, or nil.
func (d *Desk) toolNamed(name string) *Tool {
	for i := range d.Tools {
		if d.Tools[i].Name == name {
			return &d.Tools[i]
		}
	}
	return nil
}
