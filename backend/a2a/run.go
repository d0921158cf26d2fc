package a2a

import (
	"context"
	"fmt"
	"time"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/backend/a2a/internal/client"
	"github.com/agentruntime/agentruntime/backend/a2a/internal/exchange"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/runtime/telemetry"
)

// newTurn returns the turn of a job, from its start or its saved state.
func newTurn(p *client.Peer, job *backend.Job, host backend.Host) (*turn, error) {
	t := &turn{peer: p, job: job, host: host}
	if job.State != nil {
		if err := t.restoreState(job.State); err != nil {
			return nil, err
		}
	} else {
		contextID, err := recallContext(job.Session, job.Agent.ID, p.Target())
		if err != nil {
			return nil, err
		}
		t.course = course{Version: courseVersion, Peer: p.Target(), Position: exchange.Position{ContextID: contextID}, Left: p.Endpoint.Limit()}
	}
	t.exchange = exchange.New(p, t.exchangeHooks(), t.course.Position, t.waits.isSuspended())
	t.stats.Started = time.Now()
	return t, nil
}

// exchangeHooks returns the turn's callbacks for the exchange.
func (t *turn) exchangeHooks() exchange.Hooks {
	return exchange.Hooks{
		ShowText:  func(text string) { t.host.Emit(&event.TextDelta{Delta: text}) },
		ResetText: func() { t.host.Emit(&event.StreamReset{Reason: "the peer's answer is another than it had begun with"}) },
		ShowState: t.showTask,
		Keep: func(ctx context.Context) error {
			t.waits.interactions, t.waits.answers = nil, nil
			return t.saveCheckpoint(ctx)
		},
		Grant:    t.newGrant,
		Spend:    t.countSpent,
		Exceeded: t.job.Meter.Exceeded,
	}
}

// withTimeLimit returns a context that ends when the turn's time is up.
func (t *turn) withTimeLimit(ctx context.Context) (context.Context, context.CancelFunc) {
	if t.course.Deadline.IsZero() {
		t.course.Deadline, t.course.Left = time.Now().Add(t.course.Left), 0
	}
	ctx, end := context.WithCancelCause(ctx)
	stop := func() bool { return true }
	if left, ok := t.job.Meter.Remaining(); ok {
		stop = time.AfterFunc(left, func() { end(t.job.Meter.DurationError()) }).Stop
	}
	ctx, cancel := context.WithDeadlineCause(ctx, t.course.Deadline, exchange.ErrTimeUp)
	return ctx, func() { cancel(); stop(); end(nil) }
}

// runExchange runs the turn.
func (t *turn) runExchange(ctx context.Context) (termination event.Termination, err error) {
	if ctx.Err() != nil {
		return event.Termination{}, t.exchange.Ended(ctx)
	}
	said, err := t.takeAnswers()
	if err != nil {
		return event.Termination{}, err
	}
	if said.refused {
		t.exchange.Abandon(ctx)
		return event.Termination{Type: event.Canceled, Detail: said.reason}, nil
	}
	leave, err := t.peer.Enter(ctx)
	if err != nil {
		return event.Termination{}, t.exchange.Ended(ctx)
	}
	defer leave()
	defer func() { t.span.End(err) }()
	if ctx, err = t.beginTurn(ctx, said); err != nil {
		return event.Termination{}, err
	}
	if err := t.exchange.Run(ctx); err != nil {
		return event.Termination{}, err
	}
	return t.finishStep()
}

// beginTurn prepares the next message, and opens a step unless one is already open.
func (t *turn) beginTurn(ctx context.Context, said *given) (context.Context, error) {
	x := t.exchange
	switch {
	case t.job.State == nil:
		if err := t.checkLimits(); err != nil {
			return ctx, err
		}
		if err := t.beginStep(x.Draft); err != nil {
			return ctx, err
		}
	case t.waits.isSuspended():
		begin := x.Draft
		t.waits.outcome, t.response = "", ""
		if said.parts == nil { // nothing is sent, the task is only read again
			begin, t.waits = x.Resume, wait{}
		}
		if err := t.beginStep(begin); err != nil {
			return ctx, err
		}
	case x.Position().TaskID != "":
		// Text shown after the state was saved is unknown.
		t.host.Emit(&event.StreamReset{Reason: "the answer of the peer is read again"})
	}
	ctx, t.span = telemetry.TurnFromContext(ctx).StartStep(ctx, t.course.Step, t.job.Agent.ID)
	if x.Accepted() {
		return ctx, t.saveCheckpoint(ctx)
	}
	parts := said.parts
	if parts == nil {
		parts = userParts(t.job.Input)
	}
	if x.Say(parts); len(parts) == 0 {
		return ctx, fmt.Errorf("call agent %s: the input has nothing for a peer", t.job.Agent.ID)
	}
	return ctx, t.saveCheckpoint(ctx)
}
