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

// EventFilter selects the events of a turn that a reader gets. The default is OwnEvents.
type EventFilter uint8

// The filters.
const (
	// OwnEvents selects only the turn's own events, for protocols without delegates.
	OwnEvents EventFilter = iota
	// WithDelegates also selects the events of delegates, which have a path.
	WithDelegates
)

// EventLog reads and follows the events of turns. It is safe for concurrent use.
type EventLog struct{ *core }

// followedTurn is GetTurn for callers that only need to know whether the turn is live. It saves
// the database read if this process created the turn and waits for it.
func (l *EventLog) followedTurn(ctx context.Context, caller Caller, id string) (*Turn, error) {
	if t := l.findRunningTurn(caller, id); t != nil {
		return &Turn{Turn: *t}, nil
	}
	return l.viewTurn(ctx, caller, id)
}

// Events returns the events of a turn with a seq greater than after, past and future, without gaps,
// through the terminal event. The turn may run in any process. The reader sets the pace; a slow
// reader holds no memory and delays no one.
//
// The sequence ends with an error on a *NotFoundError, the end of ctx or the service, or an error
// of an EventTransform.
func (l *EventLog) Events(ctx context.Context, caller Caller, turnID string, after uint64, filter ...EventFilter) iter.Seq2[event.Record, error] {
	return func(yield func(event.Record, error) bool) {
		turn, err := l.followedTurn(ctx, caller, turnID)
		if err != nil {
			yield(event.Record{}, err)
			return
		}
		for batch, err := range l.Follow(ctx, caller, turn, after, 0, filter...) {
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

// Follow is Events for callers that pass the events on: events come in batches as they become
// known. Batches are shared by all followers of the turn and must not be changed. If nothing comes
// for the duration idle, the batch is empty, so that the caller can send a keep-alive; an idle of 0
// means forever. The turn must be as GetTurn has just returned it to the caller.
func (l *EventLog) Follow(ctx context.Context, caller Caller, turn *Turn, after uint64, idle time.Duration, filter ...EventFilter) iter.Seq2[[]event.Record, error] {
	return l.Follower(caller, turn, after, idle, filter...).Batches(ctx)
}

// Follower follows a turn like Follow, for callers that begin later and retain nothing else of the
// turn until then. Its Batches are the sequence of Follow.
type Follower = follow.Follower

// Follower returns a follower of a turn. The turn must be as GetTurn has just returned it to the
// caller.
func (l *EventLog) Follower(caller Caller, turn *Turn, after uint64, idle time.Duration, filter ...EventFilter) *Follower {
	id, show := turn.ID, l.showOwnEvents
	if slices.Contains(filter, WithDelegates) {
		show = l.showEvents
	}
	return &Follower{
		Hub: l.hub, TurnID: id, Live: turn.Status.Live(), Written: turn.Seq, After: after, Show: show,
		Idle: func() time.Duration { return idle },
		StillLive: func(ctx context.Context) (bool, error) {
			t, err := l.readTurn(ctx, caller, id)
			if err != nil {
				return false, err
			}
			return t.Status.Live(), nil
		},
	}
}

// showOwnEvents is showEvents without the events of delegates.
func (l *EventLog) showOwnEvents(ctx context.Context, records []event.Record) ([]event.Record, error) {
	isDelegated := func(r event.Record) bool { return len(r.Path) > 0 }
	if slices.ContainsFunc(records, isDelegated) { // others share the records
		records = slices.DeleteFunc(slices.Clone(records), isDelegated)
	}
	return l.showEvents(ctx, records)
}

// showEvents returns events in the callers' form. It stops at the first event that fails.
func (l *EventLog) showEvents(ctx context.Context, records []event.Record) ([]event.Record, error) {
	if l.settings.EventTransform == nil {
		return records, nil
	}
	list := make([]event.Record, 0, len(records))
	for i := range records {
		one, shown, err := l.showEvent(ctx, &records[i])
		if err != nil {
			return list, err
		}
		if shown {
			list = append(list, one)
		}
	}
	return list, nil
}

// showEvent returns an event in the callers' form; false if it is hidden.
func (l *EventLog) showEvent(ctx context.Context, record *event.Record) (out event.Record, shown bool, err error) {
	if l.settings.EventTransform == nil {
		return *record, true, nil
	}
	defer panics.Handle(func(p *panics.Error) {
		err = fmt.Errorf("show event %d of turn %s: %w", record.Seq, record.TurnID, p)
	})
	ev, err := record.Event()
	if err != nil {
		return out, false, err
	}
	changed, err := l.settings.EventTransform(ctx, &ev)
	if err != nil {
		return out, false, fmt.Errorf("show event %d of turn %s: %w", record.Seq, record.TurnID, err)
	}
	if changed == nil || changed.Data == nil {
		return out, false, nil
	}
	// Transforms cannot change the place in the log.
	changed.Seq, changed.Time, changed.TurnID, changed.SessionID, changed.Path = record.Seq, record.Time, record.TurnID, record.SessionID, record.Path
	out, err = event.NewRecord(*changed)
	return out, err == nil, err
}

// ReadEvents returns up to limit events of a turn with a seq greater than after, without waiting
// for more. It returns none if there are no more.
func (l *EventLog) ReadEvents(ctx context.Context, caller Caller, turnID string, after uint64, limit int, filter ...EventFilter) ([]event.Record, error) {
	if _, err := l.readTurn(ctx, caller, turnID); err != nil {
		return nil, err
	}
	show := l.showOwnEvents
	if slices.Contains(filter, WithDelegates) {
		show = l.showEvents
	}
	limit = store.Page{Limit: limit}.Size()
	for page := limit; ; page = store.MaxPage { // hidden events may be numerous
		records, err := l.settings.Store.Events(ctx, turnID, after, page)
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
