package a2aserver

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/a2awire"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/store"
)

const (
	// flushDelay is how long text is gathered before it is sent.
	flushDelay = 100 * time.Millisecond
	// minLook and maxLook are how often a turn is looked at that may have begun to
	// wait: its log does not say when it did.
	minLook = 20 * time.Millisecond
	maxLook = time.Second
	// maxSnapshot bounds the content of the artifacts of a task that had ended when
	// its stream began, in bytes: clients do not take events of any size.
	maxSnapshot = 2 << 20
	// readAhead is how many events are read before they are wanted, and readPage
	// how many at once.
	readAhead = 64
	readPage  = 1000
)

// follower shows one client what happens to one turn. It reads the log at the
// client's pace: nobody waits for it.
type follower struct {
	*call
	turn *runtime.StoredTurn
	info a2a.TaskInfo
	// interrupt ends at a question, as a client expects that sent a message.
	interrupt bool
	// quiet shows nothing, and only waits.
	quiet bool

	// state is the one that was shown last.
	state  a2a.TaskState
	answer response
	// due are the artifacts that were announced and not sent yet.
	due []string
	// asking tells that the turn may have begun to wait, or do so again.
	asking bool
	done   bool
}

func (c *call) follower(ctx context.Context, turn *runtime.StoredTurn) (*follower, error) {
	info, err := c.infoOf(ctx, turn)
	f := &follower{call: c, turn: turn, info: info}
	if c.structured(turn.AgentID) {
		f.answer.data = func(answer string) *a2a.Part { return c.dataPart(turn.AgentID, answer) }
	}
	return f, err
}

// settle waits until a turn has ended or asks for something, or the time to wait
// is over, and returns it as it then is.
func (c *call) settle(ctx context.Context, turn *runtime.StoredTurn) (*runtime.StoredTurn, error) {
	if turn.Status != store.Pending && turn.Status != store.Running {
		return turn, nil
	}
	wait, cancel := context.WithTimeout(ctx, c.server.MaxWait)
	defer cancel()
	f := &follower{call: c, turn: turn, quiet: true, asking: turn.Seq > 0}
	if err := f.run(wait, func(a2a.Event) bool { return true }); err != nil {
		return nil, err
	}
	return c.service.GetTurn(context.WithoutCancel(ctx), c.caller, turn.ID)
}

// follow shows the task as it is, and then what happens to it. It goes on after a
// question unless it is to end there.
func (c *call) follow(ctx context.Context, turn *runtime.StoredTurn, history *int, interrupt bool) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		f, err := c.follower(ctx, turn)
		if err != nil {
			yield(nil, err)
			return
		}
		f.interrupt = interrupt
		task, err := f.snapshot(ctx, history)
		if err != nil {
			yield(nil, err)
			return
		}
		if !yield(task, nil) || task.Status.State.Terminal() || interrupt && task.Status.State == a2a.TaskStateInputRequired {
			return
		}
		if err := f.run(ctx, func(ev a2a.Event) bool { return yield(ev, nil) }); err != nil {
			yield(nil, err)
		}
	}
}

// snapshot returns the task as it is, and takes in the log up to there.
func (f *follower) snapshot(ctx context.Context, history *int) (*a2a.Task, error) {
	v := whole(history)
	v.artifacts, *v.room = !f.turn.Status.Live(), maxSnapshot
	task, err := f.task(ctx, f.turn, v)
	if err != nil {
		return nil, err
	}
	if v.artifacts {
		return task, nil
	}
	for seq := uint64(0); seq < f.turn.Seq; {
		records, err := f.service.ReadEvents(ctx, f.caller, f.turn.ID, seq, readPage)
		if err != nil {
			return nil, err
		}
		if len(records) == 0 { // a transform leaves out what comes behind
			break
		}
		for i := range records {
			if seq = records[i].Seq; seq > f.turn.Seq {
				break
			}
			if err := f.hear(&records[i]); err != nil {
				return nil, err
			}
		}
	}
	f.state, f.asking = task.Status.State, f.asking && f.turn.Status != store.Waiting
	if a := f.answer.artifact(); a != nil {
		task.Artifacts = append(task.Artifacts, a)
	}
	return task, nil
}

// reading is an event of the log, or why there is none.
type reading struct {
	record event.Record
	err    error
}

// run shows what happens from where the turn was, until it has ended, show is
// false, or ctx ends.
func (f *follower) run(ctx context.Context, show func(a2a.Event) bool) error {
	reads, cancel := context.WithCancel(ctx)
	log := make(chan reading, readAhead)
	defer func() {
		cancel()
		for range log { // until the reader has ended
		}
	}()
	go f.read(reads, log)
	flush, look := newAlarm(), newAlarm()
	defer flush.stop()
	defer look.stop()
	pause := minLook
	for !f.done {
		if f.asking {
			look.in(pause)
		}
		if f.answer.waiting() > 0 && !f.quiet {
			flush.in(flushDelay)
		}
		var events []a2a.Event
		var err error
		select {
		case r, ok := <-log:
			if r.record.Type == event.TypeInteractionRequest {
				pause = minLook
			}
			events, err = f.next(ctx, r, ok)
		case <-flush.rings():
			flush.set = false
			events = f.answer.flush(f.info)
		case <-look.rings():
			look.set = false
			pause = min(2*pause, maxLook)
			events, err = f.look(ctx)
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			return nil //nolint:nilerr // the client, or the server, has had enough
		}
		if err != nil {
			return err
		}
		for _, ev := range events {
			if !f.quiet && !show(ev) {
				return nil
			}
		}
	}
	return nil
}

// read reads the log into a channel until the turn has ended, or ctx ends.
func (f *follower) read(ctx context.Context, log chan<- reading) {
	defer close(log)
	for record, err := range f.service.Events(ctx, f.caller, f.turn.ID, f.turn.Seq) {
		select {
		case log <- reading{record, err}:
		case <-ctx.Done():
			return
		}
	}
}

// next takes in an event of the log, or its end, and returns what is shown of it.
func (f *follower) next(ctx context.Context, r reading, ok bool) ([]a2a.Event, error) {
	if !ok {
		return f.over(ctx)
	}
	if r.err != nil {
		return nil, r.err
	}
	before := f.state
	if err := f.hear(&r.record); err != nil || f.quiet && r.record.Type != event.TypeRunFinish {
		return nil, err
	}
	switch r.record.Type {
	case event.TypeTextDelta:
		if f.answer.waiting() >= flushSize {
			return f.answer.flush(f.info), nil
		}
	case event.TypeRunStart, event.TypeToolCallResumed:
		if f.state != before {
			return f.status(&a2a.TaskStatus{State: f.state, Timestamp: &r.record.Time}, nil), nil
		}
	case event.TypeStepEnd: // what is left of the answer goes with the end of the turn, if that is next
		return f.made(ctx)
	case event.TypeStepStart, event.TypeToolCallDone, event.TypeArtifact:
		made, err := f.made(ctx)
		return append(f.answer.flush(f.info), made...), err
	case event.TypeRunFinish:
		return f.finish(ctx, &r.record)
	}
	return nil, nil
}

// hear takes in what an event says of the answer and of the state of the turn.
func (f *follower) hear(r *event.Record) error {
	switch r.Type {
	case event.TypeStepStart, event.TypeTextDelta, event.TypeInferenceComplete, event.TypeStreamReset,
		event.TypeArtifact, event.TypeRunStart, event.TypeToolCallResumed, event.TypeInteractionRequest:
	default:
		return nil
	}
	ev, err := r.Event()
	if err != nil {
		return err
	}
	switch d := ev.Data.(type) {
	case *event.StepStart:
		f.answer.begin()
	case *event.TextDelta:
		f.answer.add(d.Delta)
	case *event.InferenceComplete:
		f.answer.settle()
	case *event.StreamReset:
		f.answer.takeBack()
	case *event.Artifact:
		f.due = append(f.due, d.ID)
	case *event.RunStart:
		f.state, f.asking = a2a.TaskStateWorking, f.asking || d.Resumed
	case *event.ToolCallResumed:
		f.state, f.asking = a2a.TaskStateWorking, true
	case *event.InteractionRequest:
		f.asking = true
	}
	return nil
}

// made returns the events that send the artifacts that are due. One that is not
// there yet comes with a later step.
func (f *follower) made(ctx context.Context) ([]a2a.Event, error) {
	var events []a2a.Event
	var later []string
	for _, id := range f.due {
		a, err := f.service.GetArtifact(ctx, f.caller, id)
		switch {
		case errors.Is(err, store.ErrNotFound):
			later = append(later, id)
		case err != nil:
			return nil, err
		default:
			events = append(events, chunks(f.info, a)...)
		}
	}
	f.due = later
	return events, nil
}

// look asks whether the turn waits, and returns the event that says for what.
func (f *follower) look(ctx context.Context) ([]a2a.Event, error) {
	turn, err := f.service.GetTurn(ctx, f.caller, f.turn.ID)
	if err != nil || turn.Status != store.Waiting {
		return nil, err
	}
	asked, err := f.service.ListInteractions(ctx, f.caller, store.InteractionQuery{TurnID: turn.ID, State: store.InteractionPending})
	if err != nil || len(asked) == 0 {
		return nil, err
	}
	f.asking = false // until it goes on
	status := statusOf(turn, f.info, asked)
	f.done = f.quiet || f.interrupt && status.State == a2a.TaskStateInputRequired
	if status.State == f.state {
		return nil, nil
	}
	f.state = status.State
	return append(f.answer.flush(f.info), f.status(&status, nil)...), nil
}

// finish returns the events that end the task.
func (f *follower) finish(ctx context.Context, r *event.Record) ([]a2a.Event, error) {
	f.done = true
	ev, err := r.Event()
	finish, ok := ev.Data.(*event.RunFinish)
	if err != nil || !ok || f.quiet {
		return nil, err
	}
	answer := ""
	if finish.Result != nil {
		answer = finish.Result.Response
	}
	report := &a2awire.Report{Usage: finish.Usage, Cost: finish.Cost, Steps: finish.Steps}
	return f.ended(ctx, answer, &finish.Termination, report, r.Time)
}

// over returns the events that end the task when the log did not say that it
// ended: what a transform leaves out, or is not kept any more, does not change
// that it did.
func (f *follower) over(ctx context.Context) ([]a2a.Event, error) {
	f.done = true
	turn, err := f.service.GetTurn(ctx, f.caller, f.turn.ID)
	if err != nil || turn.Outcome == nil || f.quiet {
		return nil, err
	}
	o := turn.Outcome
	return f.ended(ctx, o.Response, &o.Termination, &a2awire.Report{Usage: o.Usage, Cost: o.Cost, Steps: o.Steps}, turn.FinishedAt)
}

func (f *follower) ended(ctx context.Context, answer string, why *event.Termination, report *a2awire.Report, at time.Time) ([]a2a.Event, error) {
	events, err := f.made(ctx)
	if err != nil {
		return nil, err
	}
	events = append(events, f.answer.finish(f.info, answer)...)
	f.state = endState(why)
	return append(events, f.status(&a2a.TaskStatus{State: f.state, Message: endMessage(f.info, why), Timestamp: &at}, report)...), nil
}

// status returns the event that shows a status.
func (f *follower) status(s *a2a.TaskStatus, report *a2awire.Report) []a2a.Event {
	ev := &a2a.TaskStatusUpdateEvent{TaskID: f.info.TaskID, ContextID: f.info.ContextID, Status: *s}
	if report != nil && f.extended {
		a2awire.SetReport(ev, report)
	}
	return []a2a.Event{ev}
}

// alarm is a timer that rings once for each time that it is set.
type alarm struct {
	timer *time.Timer
	set   bool
}

func newAlarm() *alarm { return &alarm{timer: time.NewTimer(time.Hour)} }

// in sets the alarm, unless it is set.
func (a *alarm) in(d time.Duration) {
	if !a.set {
		a.set = true
		a.timer.Reset(d)
	}
}

// rings returns the channel that is ready when the alarm rings; nil, which never
// is, while it is not set.
func (a *alarm) rings() <-chan time.Time {
	if !a.set {
		return nil
	}
	return a.timer.C
}

func (a *alarm) stop() { a.timer.Stop() }
