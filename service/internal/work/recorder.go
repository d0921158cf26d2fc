package work

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/wait"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/tools"
	"go.uber.org/zap"
)

// recorder persists a turn: it collects the turn's events and commits them in order, one commit
// at a time, together with the state at the end of a step. Followers see only committed events.
type recorder struct {
	ctx  context.Context
	pool *Pool
	turn *store.Turn
	// lost is called when the worker no longer owns the turn.
	lost func()
	// onProgress, when set, is called after each commit that advances the turn.
	onProgress func()
	prepared
	// gate is held during a commit, and forever by close. It is acquired before mu.
	gate commitGate

	// mu guards what follows.
	mu      sync.Mutex
	queue   queue
	flusher flusher
	calls   openCalls
	closed  bool
	err     error
}

// prepared are the recorder's properties of a prepared turn. Only the turn's goroutine uses it.
type prepared struct {
	// artifactSource returns the turn's artifacts.
	artifactSource artifactSource
	// patience is how long the turn waits for a person; 0 means forever.
	patience time.Duration
	// messages is the number of stored messages that follow the turn's input.
	messages int
	// inDoubt are the stored keys of the calls during which a worker died.
	inDoubt map[string]bool
}

// artifactSource returns the artifacts that a turn made since the last call.
type artifactSource interface {
	TakeArtifacts() []*tools.Artifact
}

// unsavedArtifacts returns the artifacts that are not stored yet.
func (r *recorder) unsavedArtifacts() []*store.Artifact {
	if r.artifactSource == nil {
		return nil
	}
	made := r.artifactSource.TakeArtifacts()
	list := make([]*store.Artifact, len(made))
	for i, a := range made {
		list[i] = &store.Artifact{
			ID: a.ID, SessionID: r.turn.SessionID, TurnID: r.turn.ID, Owner: r.turn.Owner, Name: a.Name, MediaType: a.MediaType,
			Size: len(a.Data), Data: a.Data, Metadata: a.Metadata, CreatedAt: r.pool.now(),
		}
	}
	return list
}

func newRecorder(ctx context.Context, p *Pool, t *store.Turn, lost func()) *recorder {
	r := &recorder{ctx: ctx, pool: p, turn: t, lost: lost, queue: queue{seq: t.Seq}, gate: make(commitGate, 1)}
	r.flusher.fire = r.commitDue
	return r
}

var (
	_ event.Sink        = (*recorder)(nil)
	_ backend.Journaler = (*recorder)(nil)
)

// Emit records an event. An artifact is stored with the event that shows it.
func (r *recorder) Emit(ev event.Event) {
	var made []*store.Artifact
	if _, ok := ev.Data.(*event.Artifact); ok {
		made = r.unsavedArtifacts()
	}
	r.mu.Lock()
	if !r.closed && r.err == nil {
		r.queue.made = append(r.queue.made, made...)
	}
	full := r.queueEvent(&ev)
	r.mu.Unlock()
	if full {
		_ = r.flushEvents(r.ctx) // brokenErr has the error
	}
}

// queueEvent queues an event and reports whether the queue is full.
func (r *recorder) queueEvent(ev *event.Event) (full bool) {
	if r.closed || r.err != nil {
		return false
	}
	if len(ev.Path) > 0 {
		return r.queueDelegated(ev)
	}
	if start, ok := ev.Data.(*event.RunStart); ok && r.queue.seq > 0 && !start.Resumed {
		again := *start // the previous worker did not save enough to resume from
		again.Resumed = true
		ev.Data = &again
	}
	if r.queue.frame.appendEvent(ev) {
		r.scheduleCommit(r.flusher.untilDeltas())
		return r.queue.isFull()
	}
	r.endFrame()
	if r.queue.frame.beginWith(ev) {
		r.scheduleCommit(r.flusher.untilDeltas())
		return r.queue.isFull()
	}
	switch d := ev.Data.(type) {
	case *event.InteractionRequest:
		r.addInteraction(d)
	case *event.ToolCallDone:
		if backend.Released(r.ctx) {
			r.calls.holdOutcome(d.ID, ev)
			return false
		}
		r.calls.endCall(d.ID)
	}
	r.addEvent(ev)
	r.scheduleCommit(stateDelay)
	return r.queue.isFull()
}

// queueDelegated adds an event of a delegate, whose calls and questions are recorded only with its
// caller. Events after the turn was released are dropped: the call then has no outcome.
func (r *recorder) queueDelegated(ev *event.Event) (full bool) {
	switch {
	case backend.Released(r.ctx):
		return false
	case r.queue.addDelegatedDelta(ev, r.addEvent):
		r.scheduleCommit(r.flusher.untilDeltas())
	default:
		r.addEvent(ev)
		r.scheduleCommit(stateDelay)
	}
	return r.queue.isFull()
}

// addInteraction stores an interaction, so that it can be answered as soon as its event is visible.
func (r *recorder) addInteraction(q *event.InteractionRequest) {
	request, err := json.Marshal(&q.Request)
	if err != nil {
		r.pool.settings.Logger.Error("encoding interaction failed", zap.String("turn_id", r.turn.ID), zap.Error(err))
		return
	}
	now := r.pool.now()
	i := &store.Interaction{
		ID: q.ID, TurnID: r.turn.ID, SessionID: r.turn.SessionID, Owner: r.turn.Owner, State: store.InteractionPending,
		Action: q.Action, Request: request, CreatedAt: now,
	}
	if r.patience > 0 {
		i.ExpiresAt = now.Add(r.patience)
	}
	r.queue.asked = append(r.queue.asked, i)
}

// addEvent encodes an event and assigns its seq.
func (r *recorder) addEvent(ev *event.Event) {
	record, err := event.NewRecord(*ev)
	if err != nil {
		r.pool.settings.Logger.Error("encoding event failed", zap.String("turn_id", r.turn.ID), zap.Error(err))
		return
	}
	record.TurnID, record.SessionID = r.turn.ID, r.turn.SessionID
	r.queue.pushRecord(record)
}

func (r *recorder) endFrame() {
	r.queue.flushDelegated(nil, r.addEvent)
	r.queue.frame.flushTo(r.addEvent)
}

// replaceLast makes data the terminal event, replacing any queued one.
func (r *recorder) replaceLast(data *event.RunFinish) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.endFrame()
	r.queue.dropTerminal()
	r.addEvent(&event.Event{Time: r.pool.now(), Data: data})
}

// scheduleCommit commits the queue within a delay.
func (r *recorder) scheduleCommit(delay time.Duration) {
	if !r.closed && r.err == nil {
		r.flusher.armTimer(delay)
	}
}

// commitDue commits the queue, unless another goroutine is committing and will include it.
func (r *recorder) commitDue() {
	r.mu.Lock()
	overdue := r.flusher.noteExpiry()
	r.mu.Unlock()
	if !overdue || !r.gate.tryEnter() { // releaseGate then finds it overdue
		return
	}
	defer r.releaseGate()
	_ = r.writePending(r.ctx, r.canFlush) // brokenErr has the error
}

// releaseGate lets others commit. It commits immediately if the timer fired in between.
func (r *recorder) releaseGate() {
	r.gate.leave()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.flusher.takeOverdue() {
		r.scheduleCommit(0)
	}
}

// flushEvents commits the queued events, except an event that is committed with the turn's end or
// suspension.
func (r *recorder) flushEvents(ctx context.Context) error { return r.commitWith(ctx, r.canFlush) }

// canFlush reports whether a commit has something that may be stored by itself.
func (r *recorder) canFlush(c *store.Commit) bool {
	if n := len(c.Events); r.calls.unsettled || n > 0 && concludesWork(&c.Events[n-1]) {
		return false
	}
	return len(c.Events) > 0 || len(c.Journal) > 0
}

// concludesWork reports whether an event may only be committed together with the turn's new
// status: ended or waiting.
func concludesWork(r *event.Record) bool {
	return r.Terminal() || r.Type == event.TypeRunWaiting && len(r.Path) == 0
}

// commitWith commits the queue with the additions of fill. If fill returns false, it changes
// nothing.
func (r *recorder) commitWith(ctx context.Context, fill func(*store.Commit) bool) error {
	if err := r.gate.enter(ctx); err != nil {
		return err
	}
	defer r.releaseGate()
	return r.writePending(ctx, fill)
}

// writePending is commitWith for a caller that holds the gate.
func (r *recorder) writePending(ctx context.Context, fill func(*store.Commit) bool) error {
	c := &store.Commit{TurnID: r.turn.ID, Fence: r.turn.Fence, Now: r.pool.now()}
	r.mu.Lock()
	if err := r.err; err != nil {
		r.mu.Unlock()
		return err
	}
	r.endFrame()
	r.queue.addTo(c)
	if !fill(c) {
		r.flusher.takeOverdue() // the missing part arms the timer or commits itself
		r.mu.Unlock()
		return nil
	}
	r.queue.clear()
	r.flusher.flushed = time.Now()
	r.flusher.disarmTimer()
	r.mu.Unlock()
	if err := r.keepTrying(ctx, c); err != nil {
		return r.setBroken(err)
	}
	if c.State != nil && r.onProgress != nil {
		r.onProgress()
	}
	if len(c.Events) > 0 {
		r.pool.settings.Feed.Publish(r.turn.ID, c.Events)
		r.pool.settings.Feed.Notify(r.turn.ID)
	}
	return nil
}

// setBroken records that the turn can no longer be stored, which ends the work on it.
func (r *recorder) setBroken(err error) error {
	r.mu.Lock()
	if r.err == nil {
		r.err = err
	}
	r.mu.Unlock()
	r.lost()
	return err
}

// brokenErr returns why the turn can no longer be stored.
func (r *recorder) brokenErr() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// close waits for running commits. Uncommitted events are lost; the next worker of the turn
// repeats them.
func (r *recorder) close() {
	r.mu.Lock()
	r.closed = true
	r.flusher.disarmTimer()
	r.mu.Unlock()
	r.gate <- struct{}{} // and never left
}

// commitTime bounds a commit.
const commitTime = 15 * time.Second

// firstWait and longestWait limit the wait between two attempts to commit to a store that accepts
// no writes.
const (
	firstWait   = 50 * time.Millisecond
	longestWait = time.Second
)

// keepTrying commits, and retries while the store accepts no writes and the worker is not stopped.
// The worker keeps the turn, because taking it over would also need a write.
func (r *recorder) keepTrying(ctx context.Context, c *store.Commit) error {
	for pause := firstWait; ; pause = min(2*pause, longestWait) {
		err := r.tryCommit(ctx, c)
		if !errors.Is(err, store.ErrNotWritable) {
			return err
		}
		if pause == firstWait {
			r.pool.settings.Logger.Warn("turn waits for the store to take writes", zap.String("turn_id", r.turn.ID), zap.Error(err))
		}
		if wait.For(r.ctx, pause) != nil {
			return err
		}
	}
}

// tryCommit commits once. A commit that has begun is not canceled with the turn, because its
// outcome would be unknown.
func (r *recorder) tryCommit(ctx context.Context, c *store.Commit) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitTime)
	defer cancel()
	return r.pool.settings.Store.Commit(ctx, c)
}
