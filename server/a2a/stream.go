package a2a

import (
	"context"
	"errors"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/a2awire"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/service"
)

const (
	// flushDelay is how long text is gathered before it is sent.
	flushDelay = 100 * time.Millisecond
	// readPage is the number of past events read at once.
	readPage = 1000
)

// follower shows one client the events of one turn. It reads the log at the client's pace, so it
// blocks nothing else.
type follower struct {
	*call
	// turn is the turn at the end of the log.
	turn *service.Turn
	log  *service.Follower
	info a2a.TaskInfo
	// interrupt ends at a question, as expected by a client that sent a message.
	interrupt bool
	// quiet sends nothing, and only waits.
	quiet bool

	// flush rings when text is to be sent.
	flush alarm
	show  showFunc

	// agent is the agent whose output format the answer has.
	agent string
	// state is the last state shown.
	state  a2a.TaskState
	answer response
	// due are the announced artifacts not yet sent.
	due  []string
	done bool
}

// chooseForm makes the answer data if the agent has an output format.
func (f *follower) chooseForm(ctx context.Context, agent string) {
	if f.agent == agent {
		return
	}
	f.agent, f.answer.data = agent, nil
	if f.hasOutputSchema(ctx, agent) {
		f.answer.data = func(answer string) *a2a.Part { return f.dataPart(ctx, agent, answer) }
	}
}

// waitSettled waits until a turn has ended or asks a question, or the maximum wait has passed,
// and returns its current state.
func (c *call) waitSettled(ctx context.Context, turn *service.Turn) (*service.Turn, error) {
	if turn.Status != service.Pending && turn.Status != service.Running {
		return turn, nil
	}
	wait, cancel := context.WithTimeout(ctx, c.server.settings.MaxWait)
	defer cancel()
	f := &follower{call: c, turn: turn, quiet: true}
	if err := f.followLog(wait); err != nil {
		return nil, err
	}
	return c.service.GetTurn(context.WithoutCancel(ctx), c.caller, turn.ID)
}

// followTask shows the task's current state and then its updates. It continues after a question
// unless told to end there.
func (c *call) followTask(ctx context.Context, turn *service.Turn, history *int, interrupt bool, show showFunc) error {
	info, err := c.infoOf(ctx, turn)
	if err != nil {
		return err
	}
	f := &follower{call: c, turn: turn, info: info, interrupt: interrupt, show: show}
	f.chooseForm(ctx, turn.AgentID)
	task, err := f.takeSnapshot(ctx, history)
	if err != nil {
		return err
	}
	if task == nil {
		return f.replayTask(ctx, history)
	}
	if !show(task) || task.Status.State.Terminal() || interrupt && task.Status.State == a2a.TaskStateInputRequired {
		return nil
	}
	return f.followLog(ctx)
}

// takeSnapshot returns the current task and moves the follower to that point of the log. It returns
// nil for a finished task that does not fit into one event.
func (f *follower) takeSnapshot(ctx context.Context, history *int) (*a2a.Task, error) {
	v := fullView(history)
	if v.artifacts = !f.turn.Status.Live(); v.artifacts {
		if fits, err := f.fitsInOneEvent(ctx); err != nil || !fits {
			return nil, err
		}
	}
	task, err := f.toTask(ctx, f.turn, v)
	if err != nil {
		return nil, err
	}
	size := trimHistory(task)
	if v.artifacts {
		if size > maxChunk {
			return nil, nil //nolint:nilnil // it does not fit
		}
		return task, nil
	}
	for seq := uint64(0); seq < f.turn.Seq; {
		records, err := f.service.ReadEvents(ctx, f.caller, f.turn.ID, seq, readPage)
		if err != nil {
			return nil, err
		}
		if len(records) == 0 { // a transform may drop later events
			break
		}
		for i := range records {
			if seq = records[i].Seq; seq > f.turn.Seq {
				break
			}
			if err := f.applyEvent(ctx, &records[i]); err != nil {
				return nil, err
			}
		}
	}
	f.state = task.Status.State
	if a := f.answer.takeArtifact(maxChunk - size); a != nil {
		task.Artifacts = append(task.Artifacts, a)
	}
	return task, nil
}

// followLog shows the events after the turn's position, until the turn has ended, show returns
// false, or ctx ends. It drops other data about the turn: it may be large, and there may be many
// idle followers.
func (f *follower) followLog(ctx context.Context) error {
	turn, err := f.service.GetTurn(ctx, f.caller, f.turn.ID)
	if err != nil {
		return ignoreDisconnect(ctx, err)
	}
	f.log = f.service.Follower(f.caller, turn, f.turn.Seq, 0)
	f.turn, f.contexts = nil, nil
	f.setFlushAlarm()
	f.log.Idle = f.flush.remaining
	for records, err := range f.log.Batches(ctx) {
		more := false
		if err == nil {
			more, err = f.showAll(ctx, records)
		}
		if err != nil || !more {
			return ignoreDisconnect(ctx, err)
		}
	}
	events, err := f.eventsForEndedTurn(ctx) // the log lacks the end
	if err == nil && ctx.Err() == nil {
		f.showEach(events)
	}
	return ignoreDisconnect(ctx, err)
}

// ignoreDisconnect returns err, or nil once the client has disconnected or the server ends.
func ignoreDisconnect(ctx context.Context, err error) error {
	if ctx.Err() != nil || errors.Is(err, server.ErrClientGone) {
		return nil
	}
	return err
}

// showAll shows the updates for log events, and those due by the clock. It returns false at the
// end.
func (f *follower) showAll(ctx context.Context, records []event.Record) (more bool, err error) {
	for i := range records {
		events, err := f.eventsFor(ctx, &records[i])
		if err != nil || ctx.Err() != nil || !f.showEach(events) {
			return false, err
		}
	}
	if f.flush.tryFire() && !f.showEach(f.answer.flushText(f.info)) {
		return false, nil
	}
	f.setFlushAlarm()
	return true, nil
}

// setFlushAlarm sets the time to send text if there is some.
func (f *follower) setFlushAlarm() {
	if f.answer.unsentBytes() > 0 && !f.quiet {
		f.flush.setOnce(flushDelay)
	}
}

// showEach shows events. It returns false at the end.
func (f *follower) showEach(events []a2a.Event) bool {
	for _, ev := range events {
		if !f.quiet && !f.show(ev) {
			return false
		}
	}
	return !f.done
}

// eventsFor applies a log event and returns the resulting events of the task.
func (f *follower) eventsFor(ctx context.Context, r *event.Record) ([]a2a.Event, error) {
	before := f.state
	if err := f.applyEvent(ctx, r); err != nil || f.quiet && r.Type != event.TypeRunWaiting && r.Type != event.TypeRunFinish {
		return nil, err
	}
	switch r.Type {
	case event.TypeTextDelta:
		if f.answer.unsentBytes() >= flushSize {
			return f.answer.flushText(f.info), nil
		}
	case event.TypeRunStart, event.TypeToolCallResumed:
		if f.state != before {
			return f.statusEvent(&a2a.TaskStatus{State: f.state, Timestamp: &r.Time}, nil), nil
		}
	case event.TypeStepEnd: // if the turn ends next, the rest of the answer goes with its end
		return f.artifactEvents(ctx)
	case event.TypeStepStart, event.TypeToolCallDone, event.TypeArtifact:
		made, err := f.artifactEvents(ctx)
		return append(f.answer.flushText(f.info), made...), err
	case event.TypeRunWaiting:
		return f.waitingEvent(ctx)
	case event.TypeRunFinish:
		return f.eventsForTurnEnd(ctx, r)
	}
	return nil, nil
}

// applyEvent updates the answer and the state of the turn from an event.
func (f *follower) applyEvent(ctx context.Context, r *event.Record) error {
	switch r.Type {
	case event.TypeStepStart, event.TypeTextDelta, event.TypeInferenceComplete, event.TypeStreamReset,
		event.TypeArtifact, event.TypeRunStart, event.TypeToolCallResumed:
	default:
		return nil
	}
	ev, err := r.Event()
	if err != nil {
		return err
	}
	switch d := ev.Data.(type) {
	case *event.StepStart:
		f.answer.beginAnswer()
	case *event.TextDelta:
		f.answer.appendText(d.Delta)
	case *event.InferenceComplete:
		f.answer.keepText()
	case *event.StreamReset:
		f.answer.dropUnsettled()
	case *event.Artifact:
		f.due = append(f.due, d.ID)
	case *event.RunStart:
		f.state = a2a.TaskStateWorking
		if !d.Resumed {
			f.chooseForm(ctx, d.AgentID) // the agent that has the conversation
		}
	case *event.ToolCallResumed:
		f.state = a2a.TaskStateWorking
	}
	return nil
}

// artifactEvents returns the events that send due artifacts. An artifact that does not exist yet
// comes with a later step.
func (f *follower) artifactEvents(ctx context.Context) ([]a2a.Event, error) {
	var events []a2a.Event
	var later []string
	for _, id := range f.due {
		a, err := f.service.GetArtifact(ctx, f.caller, id)
		switch {
		case errors.Is(err, service.ErrNotFound):
			later = append(later, id)
		case err != nil:
			return nil, err
		default:
			events = append(events, chunkEvents(f.info, a)...)
		}
	}
	f.due = later
	return events, nil
}

// waitingEvent returns the event with the turn's open interaction, unless it has been answered
// since.
func (f *follower) waitingEvent(ctx context.Context) ([]a2a.Event, error) {
	turn, err := f.service.GetTurn(ctx, f.caller, f.log.TurnID)
	if err != nil || turn.Status != service.Waiting {
		return nil, err
	}
	asked, err := f.service.ListInteractions(ctx, f.caller, service.InteractionQuery{TurnID: turn.ID, State: service.InteractionPending})
	if err != nil || len(asked) == 0 {
		return nil, err
	}
	status := statusOf(turn, f.info, asked)
	f.done = f.quiet || f.interrupt && status.State == a2a.TaskStateInputRequired
	if status.State == f.state {
		return nil, nil
	}
	f.state = status.State
	return append(f.answer.flushText(f.info), f.statusEvent(&status, nil)...), nil
}

// eventsForTurnEnd returns the events that end the task.
func (f *follower) eventsForTurnEnd(ctx context.Context, r *event.Record) ([]a2a.Event, error) {
	f.done = true
	ev, err := r.Event()
	finish, ok := ev.Data.(*event.RunFinish)
	if err != nil || !ok || f.quiet {
		return nil, err
	}
	return f.endEvents(ctx, finish, r.Time)
}

// eventsForEndedTurn returns the events that end the task if the log has no terminal event,
// because a transform removed it or retention deleted it.
func (f *follower) eventsForEndedTurn(ctx context.Context) ([]a2a.Event, error) {
	f.done = true
	turn, err := f.service.GetTurn(ctx, f.caller, f.log.TurnID)
	if err != nil || turn.Outcome == nil || f.quiet {
		return nil, err
	}
	return f.endEvents(ctx, turn.Outcome.RunFinish(), turn.FinishedAt)
}

func (f *follower) endEvents(ctx context.Context, finish *event.RunFinish, at time.Time) ([]a2a.Event, error) {
	events, err := f.artifactEvents(ctx)
	if err != nil {
		return nil, err
	}
	answer, why := "", &finish.Termination
	if finish.Result != nil {
		answer = finish.Result.Response
	}
	events = append(events, f.answer.finishAnswer(f.info, answer)...)
	f.state = endState(why)
	report := &a2awire.Report{Usage: finish.Usage, Cost: finish.Cost, Steps: finish.Steps}
	return append(events, f.statusEvent(&a2a.TaskStatus{State: f.state, Message: endMessage(f.info, why), Timestamp: &at}, report)...), nil
}

// statusEvent returns the event that shows a status.
func (f *follower) statusEvent(s *a2a.TaskStatus, report *a2awire.Report) []a2a.Event {
	ev := &a2a.TaskStatusUpdateEvent{TaskID: f.info.TaskID, ContextID: f.info.ContextID, Status: *s}
	if report != nil && f.extended {
		a2awire.SetReport(ev, report)
	}
	return []a2a.Event{ev}
}

// fitsInOneEvent reports whether the artifacts of a finished task may fit into one event.
func (f *follower) fitsInOneEvent(ctx context.Context) (bool, error) {
	size := 0
	if o := f.turn.Outcome; o != nil {
		size = len(o.Response)
	}
	kept, err := f.service.ListArtifacts(ctx, f.caller, f.turn.ID)
	for _, k := range kept {
		size += k.Size
	}
	return size <= maxChunk, err
}

// replayTask shows a finished task as running, then its artifacts in pieces, and its end.
func (f *follower) replayTask(ctx context.Context, history *int) error {
	began, v := *f.turn, fullView(history)
	began.Outcome, began.Status, v.artifacts = nil, service.Running, false
	task, err := f.toTask(ctx, &began, v)
	if err != nil {
		return err
	}
	trimHistory(task)
	kept, err := f.service.ListArtifacts(ctx, f.caller, f.turn.ID)
	if err != nil {
		return err
	}
	for _, k := range kept {
		f.due = append(f.due, k.ID)
	}
	events := []a2a.Event{task}
	if o := f.turn.Outcome; o != nil {
		end, err := f.endEvents(ctx, o.RunFinish(), f.turn.FinishedAt)
		if err != nil {
			return err
		}
		events = append(events, end...)
	}
	f.showEach(events)
	return nil
}
