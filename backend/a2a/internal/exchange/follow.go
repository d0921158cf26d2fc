package exchange

import (
	"context"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/agentruntime/agentruntime/backend/a2a/internal/client"
)

// Run sends the message, unless the peer has it, and follows the task until it
// has settled.
func (x *Exchange) Run(ctx context.Context) error {
	if !x.phase.isAccepted() {
		if err := x.deliverMessage(ctx); err != nil {
			return err
		}
	}
	return x.followTask(ctx)
}

const (
	// Fruitless is the number of consecutive streams without news after which the task is polled.
	Fruitless = 3
	// Missing is how often a task may be unknown before it is lost.
	Missing = 5
)

// followTask follows the task until it has settled. Failures are retried until the time is up,
// unless a retry is pointless.
func (x *Exchange) followTask(ctx context.Context) error {
	pause := x.peer.Pace()
	idle, unknown := 0, 0
	x.trouble = nil
	for at := x.currentProgress(); !x.phase.isSettled(); {
		if (x.polled || idle > 0) && pause.Wait(ctx, client.RetryAfter(x.trouble)) != nil {
			return x.Ended(ctx)
		}
		got := x.readTask(ctx)
		if got.wrong != nil {
			return got.wrong
		}
		if ctx.Err() != nil && !x.phase.isSettled() {
			return x.Ended(ctx)
		}
		if x.trouble = got.cut; got.cut != nil {
			x.peer.NoteError(got.cut)
			if err := x.lastingError(got.cut); err != nil {
				return err
			}
			if client.Judge(got.cut).Trouble != client.Passing {
				unknown++
			}
			if unknown == Missing {
				return x.callFailure(got.cut)
			}
		}
		if now := x.currentProgress(); now != at {
			at, pause, idle, unknown = now, x.peer.Pace(), 0, 0
		} else if idle++; idle == Fruitless {
			x.offers.noSubscribe = true
		}
	}
	return x.confirmTask(ctx)
}

// readTask continues with the events of the task, by a stream if the peer supports
// it, or else reads the task once.
func (x *Exchange) readTask(ctx context.Context) reading {
	conn, cut := x.Connect(ctx)
	if cut != nil {
		return reading{cut: cut}
	}
	if conn.Streaming && !x.offers.noSubscribe {
		x.coverage, x.polled = coverageGaps, false
		got := x.readEvents(ctx, conn.Client.SubscribeToTask(ctx, &a2a.SubscribeToTaskRequest{ID: x.at.TaskID}))
		if got.wrong != nil || got.cut == nil || ctx.Err() != nil {
			return got
		}
		if j := client.Judge(got.cut); j.Trouble == client.Passing || j.Trouble == client.Final {
			return got
		}
		x.offers.noSubscribe = true // an ended task has no stream either
	}
	x.polled = true
	task, cut := x.getTask(ctx)
	if cut != nil {
		return reading{cut: cut}
	}
	return reading{wrong: x.Take(ctx, task)}
}

// confirmTask fetches a completed or asking task if parts of its result may be missing, because
// text shown for a message cannot be withdrawn after the next message.
func (x *Exchange) confirmTask(ctx context.Context) error {
	asks := x.phase == phaseAsking
	full := x.coverage == coverageFull
	switch {
	case x.coverage == coverageSnapshot, full && (asks || !x.hasNoArtifact()):
		return nil
	case !asks && x.at.State != a2a.TaskStateCompleted:
		return nil
	}
	pause, unknown := x.peer.Pace(), 0
	for {
		task, cut := x.getTask(ctx)
		switch {
		case cut == nil && asks && (task.Status.State != x.at.State || x.wasAnswered(&task.Status)):
			return nil // the answer has what is missing
		case cut == nil && (asks || task.Status.State.Terminal()):
			return x.Take(ctx, task)
		case full: // it may have had nothing to say
			return nil
		case ctx.Err() != nil:
			return x.Ended(ctx)
		case cut != nil && client.Judge(cut).Trouble != client.Passing:
			if unknown++; unknown < Missing && client.Judge(cut).Trouble != client.Final {
				break
			}
			if asks {
				return nil
			}
			return x.callFailure(cut)
		}
		x.trouble = cut
		if pause.Wait(ctx, client.RetryAfter(cut)) != nil {
			return x.Ended(ctx)
		}
	}
}

// hasNoArtifact reports whether the task has no known artifact. A peer may return artifacts only
// with the task itself.
func (x *Exchange) hasNoArtifact() bool {
	return x.output.joinedText() == "" && len(x.output.fileParts()) == 0
}

// progress is the progress of a task, to distinguish news from repetition.
type progress struct {
	state       a2a.TaskState
	said        string
	size, spent int
	steps       int
}

func (x *Exchange) currentProgress() progress {
	return progress{x.at.State, questionFingerprint(&x.status), x.output.size, x.output.spent, x.at.Reported.Steps}
}
