package a2abackend

import (
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/agentruntime/agentruntime/backend"
)

const (
	// fruitless is how many streams in a row may bring nothing new before the task
	// is looked at instead, and missing how often a task may not be known before
	// it is lost.
	fruitless = 3
	missing   = 5
)

// read takes in events until the task has settled, they end, or the turn's
// context has. It returns why they broke off, which is nil when they ended, and
// what is wrong with what came.
func (d *delegation) read(ctx context.Context, events iter.Seq2[a2a.Event, error]) (cut, err error) {
	for ev, cut := range events {
		if cut != nil {
			return cut, nil
		}
		if err := d.take(ctx, ev); err != nil {
			return nil, err
		}
		if d.settled() || ctx.Err() != nil {
			return nil, nil
		}
	}
	return nil, nil
}

// follow looks for the task until it has settled. What fails is tried again until
// the turn's time is up, unless that is of no use.
func (d *delegation) follow(ctx context.Context) error {
	pause := d.pace()
	idle, unknown := 0, 0
	d.trouble = nil
	for at := d.progress(); !d.settled(); {
		if (d.polled || idle > 0) && pause.wait(ctx, retryAfter(d.trouble)) != nil {
			return d.ended(ctx)
		}
		cut, err := d.look(ctx)
		if err != nil {
			return err
		}
		if ctx.Err() != nil && !d.settled() {
			return d.ended(ctx)
		}
		if d.trouble = cut; cut != nil {
			d.peer.refuse(cut)
			if err := d.lasting(cut); err != nil {
				return err
			}
			if judge(cut).trouble != passing {
				unknown++
			}
			if unknown == missing {
				return d.failed(cut)
			}
		}
		if now := d.progress(); now != at {
			at, pause, idle, unknown = now, d.pace(), 0, 0
		} else if idle++; idle == fruitless {
			d.noSubscribe = true
		}
	}
	return d.confirm(ctx)
}

// look goes on with the events of the task, by a stream where the peer has one,
// or else looks at the task once.
func (d *delegation) look(ctx context.Context) (cut, err error) {
	conn, cut := d.connect(ctx)
	if cut != nil {
		return cut, nil
	}
	if conn.streaming && !d.noSubscribe {
		d.whole, d.polled = false, false
		cut, err = d.read(ctx, conn.client.SubscribeToTask(ctx, &a2a.SubscribeToTaskRequest{ID: d.course.TaskID}))
		if err != nil || cut == nil || ctx.Err() != nil {
			return cut, err
		}
		if j := judge(cut); j.trouble == passing || j.trouble == final {
			return cut, nil
		}
		d.noSubscribe = true // of a task that has ended there is no stream either
	}
	d.polled = true
	task, cut := d.get(ctx)
	if cut != nil {
		return cut, nil
	}
	return nil, d.take(ctx, task)
}

// get looks at the task.
func (d *delegation) get(ctx context.Context) (*a2a.Task, error) {
	conn, err := d.connect(ctx)
	if err != nil {
		return nil, err
	}
	return conn.client.GetTask(ctx, &a2a.GetTaskRequest{ID: d.course.TaskID, HistoryLength: d.peer.options.historyLength})
}

// confirm looks at a task that has been completed, or asks something, when
// something of what it came to may be missing: what is shown of a step cannot be
// taken back once the next one has begun.
func (d *delegation) confirm(ctx context.Context) error {
	asks := d.interrupted && !d.told && !d.whole
	if !asks && (d.course.State != a2a.TaskStateCompleted || d.told || d.whole && !d.silent()) {
		return nil
	}
	pause, unknown := d.pace(), 0
	for {
		task, cut := d.get(ctx)
		switch {
		case cut == nil && asks && task.Status.State != d.course.State:
			return nil // what is missing comes with the answer
		case cut == nil && (asks || task.Status.State.Terminal()):
			return d.take(ctx, task)
		case d.whole: // it may have had nothing to say
			return nil
		case ctx.Err() != nil:
			return d.ended(ctx)
		case cut != nil && judge(cut).trouble != passing:
			if unknown++; unknown < missing && judge(cut).trouble != final {
				break
			}
			if asks {
				return nil
			}
			return d.failed(cut)
		}
		d.trouble = cut
		if pause.wait(ctx, retryAfter(cut)) != nil {
			return d.ended(ctx)
		}
	}
}

// position is how far a task has come: what tells something new from the same
// again.
type position struct {
	state       a2a.TaskState
	said        string
	size, spent int
	steps       int
}

func (d *delegation) progress() position {
	return position{d.course.State, fingerprint(&d.status), d.assembly.size, d.assembly.spent, d.course.Reported.Steps}
}

// pace spaces attempts: each wait is longer than the one before, and those of two
// turns are not the same.
type pace struct{ next, most time.Duration }

func (d *delegation) pace() *pace {
	return &pace{d.peer.options.pollInterval, d.peer.options.maxPollInterval}
}

// wait waits until the next attempt, and for as long as the peer asks at least.
// The error is that of ctx.
func (p *pace) wait(ctx context.Context, least time.Duration) error {
	const spread = 5 // a fifth more or less
	pause := p.next - p.next/spread + rand.N(2*p.next/spread+1)
	p.next = min(p.next+p.next/2, max(p.most, p.next))
	timer := time.NewTimer(max(pause, least))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// The limits of a turn that is given up. It has ten seconds to return.
const (
	// learnLimit is how long it reads on to learn what task it has to end.
	learnLimit = 4 * time.Second
	// cancelLimit is how long ending the task may take.
	cancelLimit = 4 * time.Second
)

// outlive returns a context for a call that may tell the task's id. When the
// turn's context ends it goes on for a while, unless the id is known or the task
// is to be left running.
func (d *delegation) outlive(ctx context.Context) (context.Context, func()) {
	call, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		defer cancel()
		if d.known.Load() || backend.Released(ctx) {
			return
		}
		timer := time.NewTimer(learnLimit)
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

// abandon ends the task of a turn that is given up, as well as it can.
func (d *delegation) abandon(ctx context.Context) {
	if d.course.TaskID == "" || d.course.State.Terminal() {
		return
	}
	state := "canceled"
	if err := d.peer.cancelTask(context.WithoutCancel(ctx), d.course.TaskID); err != nil {
		state = "left running"
	}
	d.activity(state, "")
}

// cancelTask ends a task. One that has ended already, or is not known any more,
// is no error.
func (p *peer) cancelTask(ctx context.Context, id a2a.TaskID) error {
	ctx, cancel := context.WithTimeout(ctx, cancelLimit)
	defer cancel()
	pause := &pace{p.options.pollInterval, p.options.maxPollInterval}
	for {
		err := p.cancelOnce(ctx, id)
		if err == nil {
			return nil
		}
		if j := judge(err); j.trouble != passing || beyond(ctx, max(retryAfter(err), pause.next)) || pause.wait(ctx, retryAfter(err)) != nil {
			return p.fail(j.code, id, "the task could not be ended: "+err.Error(), err)
		}
	}
}

func (p *peer) cancelOnce(ctx context.Context, id a2a.TaskID) error {
	conn, err := p.connect(ctx)
	if err != nil {
		return err
	}
	_, err = conn.client.CancelTask(ctx, &a2a.CancelTaskRequest{ID: id})
	if errors.Is(err, a2a.ErrTaskNotCancelable) || errors.Is(err, a2a.ErrTaskNotFound) {
		return nil
	}
	return err
}
