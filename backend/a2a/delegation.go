package a2abackend

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/uuid"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/a2awire"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/telemetry"
)

// delegation is one turn at a peer. It belongs to the goroutine that runs
// Execute.
//
// What the turn goes on from is kept before a message is sent, and when the peer
// has told the ids of the task. The events of the peer are followed until the
// task has settled: it has ended, or waits for somebody. However they end before
// that, the task goes on, and is looked for.
type delegation struct {
	peer *peer
	job  *backend.Job
	host backend.Host

	course course
	stats  plugins.Stats
	// outcome, tickets and resolutions are those of the turn's state.
	outcome     event.CallOutcome
	tickets     []*plugins.Ticket
	resolutions []plugins.Resolution
	// known tells that the task's id is known.
	known atomic.Bool
	// parts are those of the message that is to be sent.
	parts []*a2a.Part
	// grants tells that the peer takes, and gives, the metadata of the extension.
	grants bool
	// noStream and noSubscribe tell what the peer turned out not to offer.
	noStream, noSubscribe bool

	assembly assembly
	// status is the latest, and closing the text of the agent's last message.
	status  a2a.TaskStatus
	closing string
	// replied tells that the peer answered with a message, without a task, and
	// interrupted that the task waits for somebody.
	replied, interrupted bool
	// whole tells that nothing is missing in the assembly, told that the task was
	// told as it is by what came last, and polled that it was looked at, and not
	// followed.
	whole, told, polled bool
	// sent tells that the message may have been sent before.
	sent bool
	// inPath tells that the ids of tasks are parts of URLs.
	inPath bool
	// trouble is why the peer was not understood or reached last.
	trouble error

	response string
	span     telemetry.StepSpan
}

// newDelegation returns the turn of a job, as it begins or as its state says.
func newDelegation(p *peer, job *backend.Job, host backend.Host) (*delegation, error) {
	d := &delegation{peer: p, job: job, host: host}
	d.assembly = assembly{
		limit: p.options.maxOutputBytes,
		show:  func(text string) { host.Emit(&event.TextDelta{Delta: text}) },
		reset: func() { host.Emit(&event.StreamReset{Reason: "the peer's answer is another than it had begun with"}) },
	}
	if job.State != nil {
		if err := d.restore(job.State); err != nil {
			return nil, err
		}
	} else {
		contextID, err := recall(job.Session, job.Agent.ID, p.where())
		if err != nil {
			return nil, err
		}
		d.course = course{Version: courseVersion, Peer: p.where(), ContextID: contextID, Left: p.endpoint.Limit()}
	}
	d.stats.Started = time.Now()
	return d, nil
}

// restore takes a turn up where a state left it.
func (d *delegation) restore(s *backend.State) error {
	if err := s.Check(); err != nil {
		return err
	}
	if s.Remote == nil || s.Agent != d.job.Agent.ID {
		return fmt.Errorf("the state of the turn is not one of agent %s at a peer", d.job.Agent.ID)
	}
	c, err := decodeCourse(s.Remote.Resume)
	if err != nil {
		return err
	}
	if c.Peer != d.peer.where() {
		return fmt.Errorf("go on with the task at peer %s: %w", c.Peer, errOtherPeer)
	}
	d.course, d.stats, d.response = *c, s.Stats, s.Response
	d.outcome, d.tickets, d.resolutions = s.Remote.Outcome, s.Remote.Tickets, slices.Clone(s.Remote.Resolutions)
	d.known.Store(c.TaskID != "")
	d.sent = d.outcome != event.CallSuspended
	d.assembly.shown = shownBefore(c.Shown)
	d.assembly.stale = c.Shown.Bytes > 0
	return nil
}

// limited returns a context that ends when the turn's time is up.
func (d *delegation) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	if d.course.Deadline.IsZero() {
		d.course.Deadline, d.course.Left = time.Now().Add(d.course.Left), 0
	}
	ctx, end := context.WithCancelCause(ctx)
	stop := func() bool { return true }
	if left, ok := d.job.Meter.Remaining(); ok {
		stop = time.AfterFunc(left, func() { end(d.job.Meter.DurationError()) }).Stop
	}
	ctx, cancel := context.WithDeadlineCause(ctx, d.course.Deadline, errTimeUp)
	return ctx, func() { cancel(); stop(); end(nil) }
}

// errTimeUp ends the context of a turn that took longer than its endpoint allows.
var errTimeUp = errors.New("the time that the endpoint allows is over")

// ended returns why the turn's context ended.
func (d *delegation) ended(ctx context.Context) error {
	if !errors.Is(context.Cause(ctx), errTimeUp) {
		return backend.Ended(ctx)
	}
	detail := fmt.Sprintf("it has not ended within %s", d.peer.endpoint.Limit())
	if d.trouble != nil {
		detail += "; the last trouble was: " + d.trouble.Error()
	}
	return d.fail(codeTimeout, detail, d.trouble)
}

func (d *delegation) fail(code, detail string, err error) error {
	return d.peer.fail(code, d.course.TaskID, detail, err)
}

// lasting returns the error of a turn that ends by the error of a call, or nil
// when it goes on.
func (d *delegation) lasting(cut error) error {
	if cut == nil || d.settled() || judge(cut).trouble != final {
		return nil
	}
	return d.failed(cut)
}

// failed returns the error of a turn that a call ended with.
func (d *delegation) failed(err error) error {
	if _, ok := errors.AsType[*PeerError](err); ok {
		return err
	}
	return d.fail(judge(err).code, err.Error(), err)
}

// run goes through the turn.
func (d *delegation) run(ctx context.Context) (event.Termination, error) {
	if err := backend.Ended(ctx); err != nil {
		return event.Termination{}, d.ended(ctx)
	}
	said, err := d.takeUp()
	if err != nil {
		return event.Termination{}, err
	}
	if said.refused {
		d.abandon(ctx)
		return event.Termination{Type: event.Cancelled, Detail: said.reason}, nil
	}
	leave, err := d.peer.enter(ctx)
	if err != nil {
		return event.Termination{}, d.ended(ctx)
	}
	defer leave()
	defer func() { d.span.End(err) }()
	if ctx, err = d.begin(ctx, said); err != nil {
		return event.Termination{}, err
	}
	if !d.course.Accepted {
		if err = d.deliver(ctx); err != nil {
			return event.Termination{}, err
		}
	}
	if err = d.follow(ctx); err != nil {
		return event.Termination{}, err
	}
	var termination event.Termination
	termination, err = d.conclude()
	return termination, err
}

// begin prepares the message that is to be sent, and opens a step unless the
// turn is in the middle of one.
func (d *delegation) begin(ctx context.Context, said *given) (context.Context, error) {
	c := &d.course
	switch {
	case d.job.State == nil:
		if err := d.permitted(); err != nil {
			return ctx, err
		}
		d.nextStep()
	case d.outcome == event.CallSuspended:
		d.outcome, d.response = "", ""
		d.nextStep()
		if said.parts == nil { // the peer is told nothing, but looked at again
			c.Accepted, d.tickets, d.resolutions = true, nil, nil
		}
	case c.TaskID != "":
		// What was shown since the state was kept is not known.
		d.host.Emit(&event.StreamReset{Reason: "the answer of the peer is read again"})
	}
	ctx, d.span = telemetry.TurnFromContext(ctx).StartStep(ctx, c.Step, d.job.Agent.ID)
	if c.Accepted {
		return ctx, d.checkpoint(ctx)
	}
	if d.parts = said.parts; d.parts == nil {
		d.parts = userParts(d.job.Input)
	}
	if len(d.parts) == 0 {
		return ctx, fmt.Errorf("call agent %s: the input has nothing for a peer", d.job.Agent.ID)
	}
	return ctx, d.checkpoint(ctx)
}

// nextStep opens the step of another message.
func (d *delegation) nextStep() {
	c := &d.course
	c.Step++
	d.stats.Steps++
	c.MessageID, c.Accepted, c.Open = messageID(d.job.TurnID, c.Step), false, true
	d.host.Emit(&event.StepStart{Step: c.Step, MessageID: d.messageID()})
}

// endStep closes the step, if one is open.
func (d *delegation) endStep() {
	if d.course.Open {
		d.course.Open = false
		d.course.Shown = d.assembly.shown.mark()
		d.host.Emit(&event.StepEnd{Step: d.course.Step})
	}
}

// messageID is the id that the answer of the step has in the conversation.
func (d *delegation) messageID() string { return d.job.TurnID + "/m" + strconv.Itoa(d.course.Step) }

// messageID returns the id of a message that a turn sends: the same one each
// time, so that a peer knows a message that it has already.
func messageID(turnID string, step int) string {
	return uuid.NewSHA1(messageSpace, []byte(turnID+"/"+strconv.Itoa(step))).String()
}

var messageSpace = uuid.MustParse("5be3b1c8-3c1c-4f0e-9d3c-0d2a6f6f7c51")

// userParts returns what the peer is told of a turn's input: the parts of the
// user's messages, in order.
func userParts(input []model.Message) []*a2a.Part {
	var parts []*a2a.Part
	for i := range input {
		if input[i].Role == model.RoleUser {
			parts = append(parts, a2awire.Parts(input[i].Parts)...)
		}
	}
	return parts
}

// checkpointError says that a turn's state could not be kept. The task goes on:
// so does the turn, from the state that was kept last.
type checkpointError struct{ err error }

func (e *checkpointError) Error() string { return "keep the state of the turn: " + e.err.Error() }

func (e *checkpointError) Unwrap() error { return e.err }

// checkpoint has the turn's state kept, if somebody keeps it.
func (d *delegation) checkpoint(ctx context.Context) error {
	if d.job.Checkpoint == nil || ctx.Err() != nil {
		return nil
	}
	if err := d.job.Checkpoint(ctx, d.state()); err != nil {
		return &checkpointError{err}
	}
	return nil
}
