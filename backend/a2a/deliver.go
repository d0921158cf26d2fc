package a2abackend

import (
	"context"
	"iter"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// sendAttempts is how often a message is sent whose fate is not known.
const sendAttempts = 4

// deliver sends the message, and takes in what the peer answers as long as it
// answers. While nothing is known of what became of the message it is sent
// again, with the same id, as long as that is safe.
func (d *delegation) deliver(ctx context.Context) error {
	pause, renewed := d.pace(), false
	var cut error
	for attempt := 1; ; attempt++ {
		if d.sent {
			if arrived, err := d.arrived(ctx); arrived || err != nil {
				return err
			}
		}
		var err error
		if cut, err = d.send(ctx); err != nil {
			return err
		}
		if d.course.Accepted {
			return d.lasting(cut)
		}
		if d.trouble = cut; ctx.Err() != nil {
			return d.ended(ctx)
		}
		d.peer.refuse(cut)
		again := safe(cut) || d.course.Asked != "" && failedInside(cut)
		if judge(cut).trouble == outdated && !renewed { // the card or the credential may be another one now
			again, renewed = true, true
		}
		if !again || attempt == sendAttempts || beyond(ctx, retryAfter(cut)) {
			break
		}
		if err := pause.wait(ctx, retryAfter(cut)); err != nil {
			return d.ended(ctx)
		}
	}
	if cut == nil {
		return d.fail(CodeUnreachable, "the answer ended before it said anything", nil)
	}
	return d.failed(cut)
}

// beyond reports whether a wait would last longer than the context.
func beyond(ctx context.Context, wait time.Duration) bool {
	deadline, ok := ctx.Deadline()
	return ok && wait > time.Until(deadline)
}

// arrived reports whether a message to a task, that may have been sent before,
// has arrived: the task does not show the question any more that it answers.
func (d *delegation) arrived(ctx context.Context) (bool, error) {
	if d.course.TaskID == "" || d.course.Asked == "" {
		return false, nil
	}
	task, cut := d.get(ctx)
	if cut != nil || d.answered(&task.Status) {
		return false, nil //nolint:nilerr // the message is sent, and its error tells
	}
	return true, d.take(ctx, task)
}

// send sends the message once. It returns why the answer broke off, which is nil
// when it ended, and what is wrong with what came.
func (d *delegation) send(ctx context.Context) (cut, err error) {
	conn, cut := d.connect(ctx)
	if cut != nil {
		return cut, nil
	}
	reading, stop := d.outlive(ctx)
	defer stop()
	if conn.streaming && !d.noStream {
		d.whole = !d.sent && d.course.TaskID == "" // it is told from the beginning
		d.sent = true
		cut, err = d.read(ctx, conn.client.SendStreamingMessage(reading, d.request(ctx, conn, false)))
		if err != nil || d.course.Accepted || cut == nil || judge(cut).trouble != unsupported {
			return cut, err
		}
		d.noStream = true
	}
	d.polled, d.sent = true, true
	return d.read(ctx, once(func() (a2a.Event, error) {
		return conn.client.SendMessage(reading, d.request(ctx, conn, true))
	}))
}

// once returns the one event that a call returns.
func once(call func() (a2a.Event, error)) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) { yield(call()) }
}

// request returns what is sent.
func (d *delegation) request(ctx context.Context, conn *connection, immediately bool) *a2a.SendMessageRequest {
	m := &a2a.Message{
		ID: d.course.MessageID, Role: a2a.MessageRoleUser, Parts: d.parts,
		TaskID: d.course.TaskID, ContextID: d.course.ContextID,
	}
	if conn.extension {
		d.grant(ctx, m)
	}
	return &a2a.SendMessageRequest{
		Message: m,
		Config:  &a2a.SendMessageConfig{ReturnImmediately: immediately, HistoryLength: d.peer.options.historyLength},
	}
}

// connect returns how the peer is spoken to.
func (d *delegation) connect(ctx context.Context) (*connection, error) {
	conn, err := d.peer.connect(ctx)
	if err == nil {
		d.grants, d.inPath = conn.extension, conn.iface.ProtocolBinding == a2a.TransportProtocolHTTPJSON
	}
	return conn, err
}
