package runtime

import (
	"context"
	"errors"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
)

// WaitTurn returns a turn once it has ended, or when ctx ends why.
func (s *Service) WaitTurn(ctx context.Context, caller Caller, id string) (*StoredTurn, error) {
	follow := s.hub.join(id)
	defer s.hub.leave(follow)
	for {
		changed := follow.changed()
		t, err := s.GetTurn(ctx, caller, id)
		if err != nil || !t.Status.Live() {
			return t, err
		}
		if err := wait(ctx, s.ctx, changed); err != nil {
			return nil, err
		}
	}
}

// RunTurn makes a turn and returns it once it has ended, or waits for a person.
// Its events go to the sink, which may be nil. When ctx ends first, the turn is
// cancelled, unless it was made, or has become, one in the background.
func (s *Service) RunTurn(ctx context.Context, caller Caller, req CreateTurn, sink event.Sink) (*StoredTurn, error) {
	made, err := s.CreateTurn(ctx, caller, req)
	if err != nil {
		return nil, err
	}
	for record, err := range s.Events(ctx, caller, made.ID, 0) {
		if err != nil && ctx.Err() != nil {
			return s.abandoned(ctx, caller, made.ID)
		}
		if err != nil {
			return nil, err
		}
		if sink == nil {
			continue
		}
		ev, err := record.Event()
		if err != nil {
			return nil, err
		}
		sink.Emit(ev)
	}
	return s.GetTurn(ctx, caller, made.ID)
}

// abandoned cancels a turn whose caller is gone.
func (s *Service) abandoned(ctx context.Context, caller Caller, id string) (*StoredTurn, error) {
	why := backend.Ended(ctx)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	t, err := s.GetTurn(ctx, caller, id)
	if err == nil && !t.Background {
		t, err = s.CancelTurn(ctx, caller, id, "its caller is gone")
	}
	return t, errors.Join(why, err)
}
