package client

import (
	"context"
	"errors"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// cancelLimit is how long canceling a task may take: an abandoned turn has ten seconds to return.
const cancelLimit = 4 * time.Second

// CancelTask cancels a task. It succeeds if the task has ended or is unknown.
func (p *Peer) CancelTask(ctx context.Context, id a2a.TaskID) error {
	ctx, cancel := context.WithTimeout(ctx, cancelLimit)
	defer cancel()
	pause := p.Pace()
	for {
		err := p.cancelOnce(ctx, id)
		if err == nil {
			return nil
		}
		if j := Judge(err); j.Trouble != Passing || OutlastsContext(ctx, max(RetryAfter(err), pause.Next)) || pause.Wait(ctx, RetryAfter(err)) != nil {
			return p.Fail(j.Code, id, "the task could not be ended: "+err.Error(), err)
		}
	}
}

func (p *Peer) cancelOnce(ctx context.Context, id a2a.TaskID) error {
	conn, err := p.Connect(ctx)
	if err != nil {
		return err
	}
	_, err = conn.Client.CancelTask(ctx, &a2a.CancelTaskRequest{ID: id})
	if errors.Is(err, a2a.ErrTaskNotCancelable) || errors.Is(err, a2a.ErrTaskNotFound) {
		return nil
	}
	return err
}
