package service

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/panics"
	"github.com/agentruntime/agentruntime/service/internal/follow"
	"github.com/agentruntime/agentruntime/store"
)

// EventFilter chooses the events of a turn that a reader gets. Without one it gets
// OwnEvents.
type EventFilter uint8

// The filters.
const (
	// OwnEvents are those of the turn itself. Protocols that know no delegates read these.
	OwnEvents EventFilter = iota
	// WithDelegates adds those of its delegates, which have a path.
	WithDelegates
)

// Events returns the events of a turn with a seq greater than after: those there
// are, and then those that come, without a gap, up to the terminal one. It makes
// no difference which process works on the turn. The reader decides how fast it
// goes; one that is slow harms nobody, and holds nothing in memory.
//
// An error ends the sequence: a *NotFoundError, the end of ctx or of the
// service, or what an EventTransform returned.
func (s *Service) Events(ctx context.Context, caller Caller, turnID string, after uint64, filter ...EventFilter) iter.Seq2[event.Record, error] {
	return func(yield func(event.Record, error) bool) {
		turn, err := s.followedTurn(ctx, caller, turnID)
		if err != nil {
			yield(event.Record{}, err)
			return
		}
		for batch, err := range s.Follow(ctx, caller, turn, after, 0, filter...) {
			if err != nil {
				yield(event.Record{}, err)
				return
			}
			for i := range batch {
				if !yield(batch[i], nil) {
					return
				}
			}
		}
	}
}

// Follow is Events for callers that pass the events on: events come in the batches
// in which they become known. Batches are shared by all followers of the turn and
// must not be changed. If nothing comes for the duration idle, the batch is empty,
// so that the caller can send a keep-alive; an idle of 0 is forever. The turn is as
// GetTurn has just returned it to the caller.
func (s *Service) Follow(ctx context.Context, caller Caller, turn *Turn, after uint64, idle time.Duration, filter ...EventFilter) iter.Seq2[[]event.Record, error] {
	return s.Follower(caller, turn, after, idle, filter...).Batches(ctx, nil)
}

// Waiter waits for news of a turn in place of a Follower, for callers that wait for
// something else at the same time and have one goroutine for both.
type Waiter = follow.Waiter

// Follower is what Follow follows, for callers that begin later and keep nothing else
// of the turn until then. Its Batches are the sequence of Follow.
type Follower = follow.Follower

// Follower returns what follows a turn as Follow does. The turn is as GetTurn has just
// returned it to the caller.
func (s *Service) Follower(caller Caller, turn *Turn, after uint64, idle time.Duration, filter ...EventFilter) *Follower {
	id, show := turn.ID, s.showOwnEvents
	if slices.Contains(filter, WithDelegates) {
		show = s.showEvents
	}
	return &Follower{
		Hub: s.hub, TurnID: id, Live: turn.Status.Live(), Written: turn.Seq, After: after, Idle: idle, Show: show,
		StillLive: func(ctx context.Context) (bool, error) {
			t, err := s.readTurn(ctx, caller, id)
			if err != nil {
				return false, err
			}
			return t.Status.Live(), nil
		},
	}
}

// showOwnEvents is showEvents without the events of delegates.
func (s *Service) showOwnEvents(ctx context.Context, records []event.Record) ([]event.Record, error) {
	isDelegated := func(r event.Record) bool { return len(r.Path) > 0 }
	if slices.ContainsFunc(records, isDelegated) { // others share the records
		records = slices.DeleteFunc(slices.Clone(records), isDelegated)
	}
	return s.showEvents(ctx, records)
}

// showEvents returns events as callers see them, up to the one that cannot be shown.
func (s *Service) showEvents(ctx context.Context, records []event.Record) ([]event.Record, error) {
	if s.settings.EventTransform == nil {
		return records, nil
	}
	list := make([]event.Record, 0, len(records))
	for i := range records {
		one, shown, err := s.showEvent(ctx, &records[i])
		if err != nil {
			return list, err
		}
		if shown {
			list = append(list, one)
		}
	}
	return list, nil
}

// showEvent returns an event as callers see it; false for one that they do not.
func (s *Service) showEvent(ctx context.Context, record *event.Record) (out event.Record, shown bool, err error) {
	if s.settings.EventTransform == nil {
		return *record, true, nil
	}
	defer panics.Handle(func(p *panics.Error) {
		err = fmt.Errorf("show event %d of turn %s: %w", record.Seq, record.TurnID, p)
	})
	ev, err := record.Event()
	if err != nil {
		return out, false, err
	}
	changed, err := s.settings.EventTransform(ctx, &ev)
	if err != nil {
		return out, false, fmt.Errorf("show event %d of turn %s: %w", record.Seq, record.TurnID, err)
	}
	if changed == nil || changed.Data == nil {
		return out, false, nil
	}
	// The place in the log is not for a transform to change.
	changed.Seq, changed.Time, changed.TurnID, changed.SessionID, changed.Path = record.Seq, record.Time, record.TurnID, record.SessionID, record.Path
	out, err = event.NewRecord(*changed)
	return out, err == nil, err
}

// ReadEvents returns up to limit events of a turn with a seq greater than after,
// without waiting for more. None are left when it returns none.
func (s *Service) ReadEvents(ctx context.Context, caller Caller, turnID string, after uint64, limit int, filter ...EventFilter) ([]event.Record, error) {
	if _, err := s.GetTurn(ctx, caller, turnID); err != nil {
		return nil, err
	}
	show := s.showOwnEvents
	if slices.Contains(filter, WithDelegates) {
		show = s.showEvents
	}
	limit = store.Page{Limit: limit}.Size()
	for page := limit; ; page = store.MaxPage { // what is not shown may be long
		records, err := s.settings.Store.Events(ctx, turnID, after, page)
		if err != nil || len(records) == 0 {
			return nil, err
		}
		shown, err := show(ctx, records)
		if err != nil {
			return nil, err
		}
		if len(shown) > 0 {
			return shown[:min(limit, len(shown))], nil
		}
		after = records[len(records)-1].Seq
	}
}
