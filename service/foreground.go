package service

import (
	"context"
	"errors"
	"time"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/store"
)

// WaitTurn waits for a turn to end and returns it. If ctx ends first, it returns the cause.
func (l *EventLog) WaitTurn(ctx context.Context, caller Caller, id string) (*Turn, error) {
	var t *Turn
	err := l.hub.WaitForEnd(ctx, id, func() (_ bool, err error) {
		t, err = l.followedTurn(ctx, caller, id)
		return err == nil && !t.Status.Live(), err
	})
	if err != nil {
		return nil, err
	}
	return t, nil
}

// RunTurn creates a turn and returns it once it has ended or waits for a person. Its events go to
// the sink, which may be nil. If ctx ends first, the turn is canceled, unless it was created as, or
// has become, a background turn.
func (s *Turns) RunTurn(ctx context.Context, caller Caller, req CreateTurn, sink event.Sink) (*Turn, error) {
	made, err := s.CreateTurn(ctx, caller, req)
	if err != nil {
		return nil, err
	}
	for record, err := range s.log.Events(ctx, caller, made.ID, 0) {
		if err != nil && ctx.Err() != nil {
			return s.cancelAbandoned(ctx, caller, made.ID)
		}
		if err != nil {
			return nil, err
		}
		if sink != nil {
			ev, err := record.Event()
			if err != nil {
				return nil, err
			}
			sink.Emit(ev)
		}
		if record.Type != event.TypeRunWaiting {
			continue
		}
		if t, err := s.GetTurn(ctx, caller, made.ID); err == nil && t.Status == store.Waiting {
			return t, nil
		}
	}
	return s.GetTurn(ctx, caller, made.ID)
}

// cancelTime is the timeout for canceling a turn whose caller is gone.
const cancelTime = 10 * time.Second

// cancelAbandoned cancels a turn whose caller is gone.
func (s *Turns) cancelAbandoned(ctx context.Context, caller Caller, id string) (*Turn, error) {
	why := backend.Ended(ctx)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelTime)
	defer cancel()
	t, err := s.GetTurn(ctx, caller, id)
	if err == nil && !t.Background {
		t, err = s.CancelTurn(ctx, caller, id, "its caller is gone")
	}
	return t, errors.Join(why, err)
}
