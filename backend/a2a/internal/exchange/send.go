package exchange

import (
	"context"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/agentruntime/agentruntime/backend/a2a/internal/client"
	"github.com/agentruntime/agentruntime/internal/a2awire"
)

// SendAttempts is how often a message of unknown fate is sent.
const SendAttempts = 4

// deliverMessage sends the message and reads the response to its end. While the fate of the message
// is unknown it is sent again with the same id, if that is safe.
func (x *Exchange) deliverMessage(ctx context.Context) error {
	pause, renewed := x.peer.Pace(), false
	var cut error
	for attempt := 1; ; attempt++ {
		if x.phase == phaseSent {
			if arrived, err := x.hasArrived(ctx); arrived || err != nil {
				return err
			}
		}
		got := x.sendOnce(ctx)
		if got.wrong != nil {
			return got.wrong
		}
		if cut = got.cut; x.phase.isAccepted() {
			return x.lastingError(cut)
		}
		if x.trouble = cut; ctx.Err() != nil {
			return x.Ended(ctx)
		}
		x.peer.NoteError(cut)
		again := client.MayResend(cut) || x.at.Asked != "" && client.FailedInside(cut)
		if client.Judge(cut).Trouble == client.Outdated && !renewed { // the card or credential may have changed
			again, renewed = true, true
		}
		if !again || attempt == SendAttempts || client.OutlastsContext(ctx, client.RetryAfter(cut)) {
			break
		}
		if err := pause.Wait(ctx, client.RetryAfter(cut)); err != nil {
			return x.Ended(ctx)
		}
	}
	if cut == nil {
		return x.Fail(client.CodeUnreachable, "the answer ended before it said anything", nil)
	}
	return x.callFailure(cut)
}

// hasArrived reports whether a message to a task that may have been sent has arrived: the task no
// longer shows the question it answers.
func (x *Exchange) hasArrived(ctx context.Context) (bool, error) {
	if x.at.TaskID == "" || x.at.Asked == "" {
		return false, nil
	}
	task, cut := x.getTask(ctx)
	if cut != nil || x.wasAnswered(&task.Status) {
		return false, nil //nolint:nilerr // the message is sent, and its error tells
	}
	return true, x.Take(ctx, task)
}

// sendOnce sends the message once.
func (x *Exchange) sendOnce(ctx context.Context) reading {
	conn, cut := x.Connect(ctx)
	if cut != nil {
		return reading{cut: cut}
	}
	first := x.phase == phaseDrafted && x.at.TaskID == "" // the peer does not know it yet
	if err := x.makeMove(moveSend); err != nil {
		return reading{wrong: err}
	}
	call, stop := x.withGrace(ctx)
	defer stop()
	if conn.Streaming && !x.offers.noStream {
		x.coverage = coverageGaps
		if first {
			x.coverage = coverageFull
		}
		got := x.readEvents(ctx, conn.Client.SendStreamingMessage(call, x.newSendRequest(ctx, conn, false)))
		if got.wrong != nil || x.phase.isAccepted() || got.cut == nil || client.Judge(got.cut).Trouble != client.Unsupported {
			return got
		}
		x.offers.noStream = true
	}
	x.polled = true
	answer, cut := conn.Client.SendMessage(call, x.newSendRequest(ctx, conn, true))
	if cut != nil {
		return reading{cut: cut}
	}
	return reading{wrong: x.Take(ctx, answer)}
}

// newSendRequest returns the request that sends the message.
func (x *Exchange) newSendRequest(ctx context.Context, conn *client.Connection, immediately bool) *a2a.SendMessageRequest {
	m := &a2a.Message{
		ID: x.at.MessageID, Role: a2a.MessageRoleUser, Parts: x.parts,
		TaskID: x.at.TaskID, ContextID: x.at.ContextID,
	}
	if conn.Extension && x.hooks.Grant != nil {
		g := x.hooks.Grant()
		if deadline, ok := ctx.Deadline(); ok && (g.Deadline.IsZero() || deadline.Before(g.Deadline)) {
			g.Deadline = deadline
		}
		a2awire.SetGrant(m, g)
		m.Extensions = append(m.Extensions, a2awire.Extension)
	}
	return &a2a.SendMessageRequest{
		Message: m,
		Config:  &a2a.SendMessageConfig{ReturnImmediately: immediately, HistoryLength: x.peer.Options.HistoryLength},
	}
}
