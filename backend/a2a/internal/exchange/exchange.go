package exchange

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/uuid"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/backend/a2a/internal/client"
	"github.com/agentruntime/agentruntime/internal/a2awire"
)

// Exchange is a message to a peer and its result: a reply, or a task that is followed until it
// settles. After a question it continues with another message to the same task. It must be used by
// one goroutine.
//
// If a task's events break off, the task continues, and the exchange fetches it again.
type Exchange struct {
	peer  *client.Peer
	hooks Hooks

	// at is where another process can continue the exchange, and phase its state.
	at    Position
	phase phase
	// hasTask is set once the task's id is known; other goroutines may read it.
	hasTask atomic.Bool
	// parts are the parts of the message to be sent.
	parts []*a2a.Part

	// conn is the last connection to the peer; nil before the first call.
	conn   *client.Connection
	offers offers
	// polled is set if the peer was last polled, not followed.
	polled bool
	// trouble is the last failure to reach or understand the peer.
	trouble error

	output   assembly
	coverage coverage
	// status is the latest, and lastWords the text of the agent's last message.
	status    a2a.TaskStatus
	lastWords string
}

// Hooks are the callbacks of an exchange's owner. Each may be nil.
type Hooks struct {
	// ShowText shows more of the answer. resetText withdraws everything shown since the message
	// was sent.
	ShowText  func(text string)
	ResetText func()
	// ShowState shows the state of the task.
	ShowState func(state, text string)
	// Keep is called when the peer has accepted the message or sent its task's ids, to store the
	// position. An error ends the exchange.
	Keep func(ctx context.Context) error
	// Grant returns the peer's budgets for the task.
	Grant func() *a2awire.Grant
	// Spend counts the peer's usage since the last call.
	Spend func(used *a2awire.Report)
	// Exceeded returns why the task must stop.
	Exceeded func() error
}

// Position is the progress of an exchange: the data for continuing it, even in another process.
type Position struct {
	// MessageID is the id of the last message, or of the next one to send. Accepted is set once the
	// peer has it.
	MessageID string `json:"message_id"`
	Accepted  bool   `json:"accepted,omitempty"`
	// TaskID and ContextID are the peer's ids; empty until it sends them.
	TaskID    a2a.TaskID    `json:"task_id,omitempty"`
	ContextID string        `json:"context_id,omitempty"`
	State     a2a.TaskState `json:"state,omitempty"`
	// Asked distinguishes the last answered question from a new one.
	Asked string `json:"asked,omitempty"`
	// Reported is the task's usage as reported by the peer.
	Reported a2awire.Report `json:"reported,omitzero"`
	// Shown is the part of the answer shown for earlier messages.
	Shown mark `json:"shown,omitzero"`
}

// offers records features that the peer lacks.
type offers struct{ noStream, noSubscribe bool }

// coverage is how much is known of a task's result.
type coverage int

const (
	// coverageGaps may be incomplete.
	coverageGaps coverage = iota
	// coverageFull is complete: all events were seen.
	coverageFull
	// coverageSnapshot is a snapshot of the whole task, with no later events.
	coverageSnapshot
)

// New returns an exchange at a position. waits is set if the task's question has no answer yet.
func New(p *client.Peer, h Hooks, at Position, waits bool) *Exchange {
	x := &Exchange{peer: p, hooks: h, at: at, phase: phaseOf(&at, waits)}
	x.output = assembly{limit: p.Options.MaxOutputBytes, show: h.ShowText, reset: h.ResetText}
	x.output.shown = shownBefore(at.Shown)
	x.output.stale = at.Shown.Bytes > 0
	x.hasTask.Store(at.TaskID != "")
	return x
}

// phaseOf returns the phase of a position. A message that was not accepted may
// have been sent.
func phaseOf(at *Position, waits bool) phase {
	switch {
	case at.MessageID == "":
		return phaseIdle
	case waits:
		return phaseAsking
	case !at.Accepted:
		return phaseSent
	case at.State.Terminal():
		return phaseEnded
	default:
		return phaseWorking
	}
}

// Position returns the current position.
func (x *Exchange) Position() Position {
	at := x.at
	at.Accepted = x.phase.isAccepted()
	return at
}

// makeMove makes a move of this side.
func (x *Exchange) makeMove(m move) error {
	next, err := x.phase.afterMove(m)
	if err != nil {
		return fmt.Errorf("continue the exchange: %w", err)
	}
	x.phase = next
	return nil
}

// takeMove applies a move of the peer.
func (x *Exchange) takeMove(m move) error {
	next, err := x.phase.afterMove(m)
	if err != nil {
		return x.Fail(client.CodeProtocol, "an event does not fit: "+err.Error(), err)
	}
	x.phase = next
	return nil
}

// Draft begins a message.
func (x *Exchange) Draft(messageID string) error {
	if err := x.makeMove(moveDraft); err != nil {
		return err
	}
	x.at.MessageID = messageID
	return nil
}

// Resume continues with an asking task without sending anything.
func (x *Exchange) Resume(messageID string) error {
	if err := x.makeMove(moveLook); err != nil {
		return err
	}
	x.at.MessageID = messageID
	return nil
}

// Say sets the content of the message.
func (x *Exchange) Say(parts []*a2a.Part) { x.parts = parts }

// Asks reports whether the task waits for an answer.
func (x *Exchange) Asks() bool { return x.phase == phaseAsking }

// Accepted reports whether the peer has the message.
func (x *Exchange) Accepted() bool { return x.phase.isAccepted() }

// CloseMessage ends the text shown for the message.
func (x *Exchange) CloseMessage() { x.at.Shown = x.output.shown.mark() }

// ErrTimeUp is the cause when an exchange exceeds its time limit.
var ErrTimeUp = errors.New("the endpoint's timeout has passed")

// Ended returns why the exchange's context ended.
func (x *Exchange) Ended(ctx context.Context) error {
	if !errors.Is(context.Cause(ctx), ErrTimeUp) {
		return backend.Ended(ctx)
	}
	detail := fmt.Sprintf("it has not ended within %s", x.peer.Endpoint.Limit())
	if x.trouble != nil {
		detail += "; the last trouble was: " + x.trouble.Error()
	}
	return x.Fail(client.CodeTimeout, detail, x.trouble)
}

// Fail returns the error of an exchange that fails.
func (x *Exchange) Fail(code, detail string, err error) error {
	return x.peer.Fail(code, x.at.TaskID, detail, err)
}

// lastingError returns the error with which a failed call ends the exchange, or nil if the
// exchange continues.
func (x *Exchange) lastingError(cut error) error {
	if cut == nil || x.phase.isSettled() || client.Judge(cut).Trouble != client.Final {
		return nil
	}
	return x.callFailure(cut)
}

// callFailure returns the error of an exchange that a failed call ended.
func (x *Exchange) callFailure(err error) error {
	if _, ok := errors.AsType[*client.PeerError](err); ok {
		return err
	}
	return x.Fail(client.Judge(err).Code, err.Error(), err)
}

// Abandon ends the task of an abandoned exchange, if possible.
func (x *Exchange) Abandon(ctx context.Context) {
	if x.at.TaskID == "" || x.phase == phaseEnded {
		return
	}
	state := "canceled"
	if err := x.peer.CancelTask(context.WithoutCancel(ctx), x.at.TaskID); err != nil {
		state = "left running"
	}
	x.showState(state, "")
}

func (x *Exchange) showState(state, text string) {
	if x.hooks.ShowState != nil {
		x.hooks.ShowState(state, text)
	}
}

// MessageID returns the id of a turn's message: always the same, so that a peer recognizes a
// repeated message.
func MessageID(turnID string, step int) string {
	return uuid.NewSHA1(messageSpace, []byte(turnID+"/"+strconv.Itoa(step))).String()
}

var messageSpace = uuid.MustParse("5be3b1c8-3c1c-4f0e-9d3c-0d2a6f6f7c51")

// LearnLimit is how long an abandoned exchange keeps reading to learn the id of the task to end.
// Its owner has ten seconds to return.
const LearnLimit = 4 * time.Second

// withGrace returns a context for a call that may return the task's id. It outlives the
// exchange's context for a while, unless the id is known or the task is left running.
func (x *Exchange) withGrace(ctx context.Context) (context.Context, func()) {
	call, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		defer cancel()
		if x.hasTask.Load() || backend.Released(ctx) {
			return
		}
		timer := time.NewTimer(LearnLimit)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-call.Done():
		}
	})
	return call, func() {
		stop()
		cancel()
	}
}
