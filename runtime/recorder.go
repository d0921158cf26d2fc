package runtime

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/store"
)

const (
	// deltaDelay is the time between two commits of deltas of a text, which are
	// gathered meanwhile, and frameSize how many bytes one event of them may have.
	// The first deltas behind a pause do not wait for it.
	deltaDelay = 30 * time.Millisecond
	frameSize  = 4 << 10
	// maxDelta is how many bytes an event of one delta may have that is larger than
	// that: surfaces write them up to twice, of up to six bytes of JSON each, in
	// frames of at most 1 MiB.
	maxDelta = 64 << 10
	// stateDelay is how long other events are gathered.
	stateDelay = 5 * time.Millisecond
	// maxBuffer is how many bytes of events may wait for the store; a turn that
	// has more waits itself.
	maxBuffer = 4 << 20
	// commitTime bounds a commit.
	commitTime = 15 * time.Second
)

// recorder keeps what happens in a turn: it gathers the events that the turn
// emits, and commits them, in order and one commit at a time, together with the
// turn's state where a step ends. What is committed is shown to those who follow
// the turn, and nothing else.
type recorder struct {
	ctx     context.Context
	service *Service
	turn    *store.Turn
	// lost is called when the turn does not belong to the worker any more.
	lost func()
	// keep is the session's state, once the turn has one. Used by the turn's
	// goroutine.
	keep *sessionState
	// patience is how long the turn waits for a person; 0 is for ever.
	patience time.Duration
	// ahead, when set, is called when the turn got ahead.
	ahead func()
	// messages is how many messages of the turn are kept, behind its input.
	messages int
	// inDoubt are the keys of the calls that a worker died over, as they are
	// kept.
	inDoubt map[string]bool
	// commit is held by whoever commits, and for good by close.
	commit chan struct{}

	mu sync.Mutex
	// flushing is what becomes of what waits, and timer commits it at due.
	flushing flushing
	timer    *time.Timer
	due      time.Time
	// pending are events that are not committed, seq the latest of the turn.
	pending []event.Record
	size    int
	seq     uint64
	// frame gathers the deltas that the last of pending will consist of.
	frame frame
	// journal are calls that began or ended since the last commit.
	journal []store.JournalRow
	// begun are the calls that have begun and have no outcome, and unsettled tells
	// that the event of an outcome waits whose journal does not yet: the one must
	// not be kept without the other.
	begun     map[string]bool
	unsettled bool
	// held are the events of outcomes that came when the turn was somebody else's
	// to go on with: only the journal makes them count then.
	held map[string]event.Event
	// made are artifacts that are not committed, and asked the interactions.
	made  []*store.Artifact
	asked []*store.Interaction
	// flushed is when something was committed last.
	flushed time.Time
	closed  bool
	err     error
}

// flushing is what becomes of the events that wait. However long a commit takes,
// no goroutine waits behind it to commit what came meanwhile: the one that commits
// sees to that at its end.
//
//	        event            timer              commit ends
//	idle ──────────▶ armed ──────────▶ overdue ─────────────▶ armed, without delay
//
// A commit takes all that waits, so that its beginning leads back to idle from each
// of them. Where nobody commits when the timer fires, that is at once.
type flushing uint8

const (
	// idle: nothing waits, or it comes with a commit that somebody else asks for.
	idle flushing = iota
	// armed: the timer runs.
	armed
	// overdue: the timer fired, and what waits is committed next.
	overdue
)

func newRecorder(ctx context.Context, s *Service, t *store.Turn, lost func()) *recorder {
	return &recorder{ctx: ctx, service: s, turn: t, lost: lost, patience: s.InteractionTimeout, seq: t.Seq, commit: make(chan struct{}, 1)}
}

var (
	_ event.Sink        = (*recorder)(nil)
	_ backend.Journaler = (*recorder)(nil)
)

// Emit takes in an event.
func (r *recorder) Emit(ev event.Event) {
	r.mu.Lock()
	full := r.take(&ev)
	r.mu.Unlock()
	if full {
		_ = r.flush(r.ctx) // broken says what went wrong
	}
}

// take adds an event to those that wait, and reports whether there are too many.
func (r *recorder) take(ev *event.Event) (full bool) {
	if r.closed || r.err != nil {
		return false
	}
	if start, ok := ev.Data.(*event.RunStart); ok && r.seq > 0 && !start.Resumed {
		again := *start // what the worker before had done was not enough to go on from
		again.Resumed = true
		ev.Data = &again
	}
	if r.frame.add(ev) {
		r.arm(r.untilDeltas())
		return r.full()
	}
	r.endFrame()
	if r.frame.begin(ev) {
		r.arm(r.untilDeltas())
		return r.full()
	}
	switch d := ev.Data.(type) {
	case *event.InteractionRequest:
		r.ask(d)
	case *event.ToolCallDone:
		if backend.Released(r.ctx) {
			if r.held == nil {
				r.held = make(map[string]event.Event)
			}
			r.held[d.ID] = *ev
			return false
		}
		r.unsettled = r.unsettled || r.begun[d.ID]
	}
	r.add(ev)
	r.arm(stateDelay)
	return r.full()
}

// full reports whether so much waits that the turn has to wait, too.
func (r *recorder) full() bool { return r.size+r.frame.size() > maxBuffer }

// ask keeps an interaction, so that whoever sees the event can answer it at once.
func (r *recorder) ask(q *event.InteractionRequest) {
	request, err := json.Marshal(&plugins.Ticket{
		ID: q.ID, CallID: q.CallID, Tool: q.Tool, Arguments: q.Arguments, Action: q.Action, Message: q.Message,
		Parameters: q.Parameters, ResponseSchema: q.ResponseSchema, Mode: plugins.ResumeMode(q.Mode),
	})
	if err != nil {
		r.service.Logger.Error("an interaction cannot be kept: " + err.Error())
		return
	}
	now := r.service.now()
	i := &store.Interaction{
		ID: q.ID, TurnID: r.turn.ID, SessionID: r.turn.SessionID, Owner: r.turn.Owner, State: store.InteractionPending,
		Action: q.Action, Request: request, CreatedAt: now,
	}
	if r.patience > 0 {
		i.ExpiresAt = now.Add(r.patience)
	}
	r.asked = append(r.asked, i)
}

// add encodes an event and gives it its seq.
func (r *recorder) add(ev *event.Event) {
	record, err := event.NewRecord(*ev)
	if err != nil {
		r.service.Logger.Error("an event cannot be kept: " + err.Error())
		return
	}
	r.seq++
	record.Seq, record.Time = r.seq, record.Time.UTC().Truncate(time.Microsecond)
	record.TurnID, record.SessionID = r.turn.ID, r.turn.SessionID
	r.pending = append(r.pending, record)
	r.size += len(record.Data)
}

func (r *recorder) endFrame() {
	r.frame.end(r.add)
}

// replaceLast makes data the terminal event, whatever was to be it.
func (r *recorder) replaceLast(data *event.RunFinish) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.endFrame()
	if n := len(r.pending); n > 0 && r.pending[n-1].Terminal() {
		r.pending, r.seq = r.pending[:n-1], r.seq-1
	}
	r.add(&event.Event{Time: r.service.now(), Data: data})
}

// untilDeltas returns how long deltas are gathered from now on.
func (r *recorder) untilDeltas() time.Duration {
	return max(stateDelay, deltaDelay-time.Since(r.flushed))
}

// arm sees to it that what waits is committed within a delay.
func (r *recorder) arm(delay time.Duration) {
	if r.closed || r.err != nil || r.flushing == overdue {
		return
	}
	due := time.Now().Add(delay)
	if r.flushing == armed && !r.due.After(due) {
		return
	}
	r.flushing, r.due = armed, due
	if r.timer == nil {
		r.timer = time.AfterFunc(delay, r.fire)
	} else {
		r.timer.Reset(delay)
	}
}

// disarm notes that nothing is to be flushed.
func (r *recorder) disarm() {
	r.flushing = idle
	if r.timer != nil {
		r.timer.Stop()
	}
}

// fire commits what waits, or leaves that to whoever commits just now.
func (r *recorder) fire() {
	r.mu.Lock()
	if r.flushing != armed { // it was committed just now
		r.mu.Unlock()
		return
	}
	r.flushing = overdue
	r.mu.Unlock()
	select {
	case r.commit <- struct{}{}:
		defer r.release()
		_ = r.writePending(r.ctx, r.flushable) // broken says what went wrong
	default: // release finds that something is overdue
	}
}

// acquire waits for the right to commit, which release gives up.
func (r *recorder) acquire(ctx context.Context) error {
	select {
	case r.commit <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// release lets others commit, at once if the timer fired meanwhile.
func (r *recorder) release() {
	<-r.commit
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.flushing == overdue {
		r.flushing = idle
		r.arm(0)
	}
}

// flush commits the events that wait, but for the terminal one, which comes with
// the end of the turn.
func (r *recorder) flush(ctx context.Context) error { return r.write(ctx, r.flushable) }

// flushable reports whether a commit has something that may be kept by itself.
func (r *recorder) flushable(c *store.Commit) bool {
	if n := len(c.Events); r.unsettled || n > 0 && c.Events[n-1].Terminal() {
		return false
	}
	return len(c.Events) > 0 || len(c.Journal) > 0
}

// write commits what waits, with what fill adds to it; when fill is false it
// leaves everything as it is.
func (r *recorder) write(ctx context.Context, fill func(*store.Commit) bool) error {
	if err := r.acquire(ctx); err != nil {
		return err
	}
	defer r.release()
	return r.writePending(ctx, fill)
}

// writePending is write for whoever may commit.
func (r *recorder) writePending(ctx context.Context, fill func(*store.Commit) bool) error {
	c := &store.Commit{TurnID: r.turn.ID, Fence: r.turn.Fence, Now: r.service.now()}
	r.mu.Lock()
	if err := r.err; err != nil {
		r.mu.Unlock()
		return err
	}
	r.endFrame()
	c.Events, c.Journal, c.Artifacts, c.Asked = r.pending, r.journal, r.made, r.asked
	if !fill(c) {
		if r.flushing == overdue {
			r.flushing = idle // what it waits for arms the timer, or commits itself
		}
		r.mu.Unlock()
		return nil
	}
	r.pending, r.journal, r.made, r.asked, r.size, r.flushed = nil, nil, nil, nil, 0, time.Now()
	r.disarm()
	r.mu.Unlock()
	if err := r.keepTrying(ctx, c); err != nil {
		return r.fault(err)
	}
	if c.State != nil && r.ahead != nil {
		r.ahead()
	}
	if len(c.Events) > 0 {
		r.service.hub.publish(r.turn.ID, c.Events)
	} else if c.Suspend != nil {
		r.service.hub.look(r.turn.ID)
	}
	if len(c.Events) > 0 || c.Suspend != nil {
		r.service.ring(r.turn.ID)
	}
	return nil
}

// fault notes that the turn cannot be kept any more, which ends the work on it.
func (r *recorder) fault(err error) error {
	r.mu.Lock()
	if r.err == nil {
		r.err = err
	}
	r.mu.Unlock()
	r.lost()
	return err
}

// broken returns why the turn cannot be kept any more.
func (r *recorder) broken() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// close waits until nothing commits any more. What was not committed is lost,
// and whoever takes the turn up does it again.
func (r *recorder) close() {
	r.mu.Lock()
	r.closed = true
	r.disarm()
	r.mu.Unlock()
	r.commit <- struct{}{} // and never released
}
