package runtime

import (
	"context"
	"fmt"
	"iter"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/store"
)

// Events returns the events of a turn with a seq greater than after: those there
// are, and then those that come, without a gap, up to the terminal one. It makes
// no difference which process works on the turn. The reader decides how fast it
// goes; one that is slow harms nobody, and holds nothing in memory.
//
// An error ends the sequence: a *NotFoundError, the end of ctx or of the
// service, or what an EventTransform returned.
func (s *Service) Events(ctx context.Context, caller Caller, turnID string, after uint64) iter.Seq2[event.Record, error] {
	return func(yield func(event.Record, error) bool) {
		if _, err := s.GetTurn(ctx, caller, turnID); err != nil {
			yield(event.Record{}, err)
			return
		}
		r := &reader{service: s, caller: caller, turnID: turnID, seq: after, looks: -1, limit: firstPage, topic: s.hub.join(turnID)}
		defer s.hub.leave(r.topic)
		for {
			changed := r.topic.changed()
			records, err := r.next(ctx)
			if err == nil && !r.hand(ctx, records, yield) {
				return
			}
			if err == nil && len(records) == 0 {
				if r.over {
					return
				}
				err = wait(ctx, s.ctx, changed)
			}
			if err != nil {
				yield(event.Record{}, err)
				return
			}
		}
	}
}

// reader reads the events of one turn for one caller.
type reader struct {
	service *Service
	caller  Caller
	turnID  string
	topic   *topic
	// seq is that of the latest event that was read.
	seq uint64
	// limit is how many are read at a time.
	limit int
	// looks is how often the store had been read for all when the reader looked at
	// the turn itself.
	looks int
	// over tells that the turn has ended and there is nothing more to come.
	over bool
}

// next returns the events that come next, if there are any.
func (r *reader) next(ctx context.Context) ([]event.Record, error) {
	records, looks, ok := r.topic.after(r.seq)
	if len(records) > 0 || ok && looks == r.looks {
		return records, nil
	}
	r.looks = looks
	// Whether the turn has ended is asked first: then nothing comes behind what
	// is read.
	t, err := r.service.GetTurn(ctx, r.caller, r.turnID)
	if err != nil {
		return nil, err
	}
	if t.Seq <= r.seq {
		r.over = !t.Status.Live()
		return nil, nil
	}
	records, err = r.service.Store.Events(ctx, r.turnID, r.seq, r.limit)
	if err != nil {
		return nil, fmt.Errorf("read the events of turn %s: %w", r.turnID, err)
	}
	if len(records) == 0 { // they were there, and are not kept any more
		r.over = !t.Status.Live()
		return nil, nil
	}
	if len(records) < r.limit {
		r.topic.publish(records) // for those who follow on
	}
	r.limit = pageAfter(records)
	return records, nil
}

// hand gives events to the caller. It is false when the sequence has ended.
func (r *reader) hand(ctx context.Context, records []event.Record, yield func(event.Record, error) bool) bool {
	for i := range records {
		r.seq = records[i].Seq
		shown, err := r.service.shown(ctx, &records[i])
		if err != nil {
			yield(event.Record{}, err)
			return false
		}
		if shown != nil && !yield(*shown, nil) {
			return false
		}
		if records[i].Terminal() {
			return false
		}
	}
	return true
}

// shown returns an event as callers see it; nil for one that they do not.
func (s *Service) shown(ctx context.Context, record *event.Record) (_ *event.Record, err error) {
	if s.EventTransform == nil {
		return record, nil
	}
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("show event %d of turn %s: %w", record.Seq, record.TurnID, backend.Panicked(v))
		}
	}()
	ev, err := record.Event()
	if err != nil {
		return nil, err
	}
	changed, err := s.EventTransform(ctx, &ev)
	if err != nil {
		return nil, fmt.Errorf("show event %d of turn %s: %w", record.Seq, record.TurnID, err)
	}
	if changed == nil || changed.Data == nil {
		return nil, nil //nolint:nilnil // it is left out
	}
	// The place in the log is not for a transform to change.
	changed.Seq, changed.Time, changed.TurnID, changed.SessionID = record.Seq, record.Time, record.TurnID, record.SessionID
	out, err := event.NewRecord(*changed)
	return &out, err
}

// ReadEvents returns up to limit events of a turn with a seq greater than after,
// without waiting for more.
func (s *Service) ReadEvents(ctx context.Context, caller Caller, turnID string, after uint64, limit int) ([]event.Record, error) {
	if _, err := s.GetTurn(ctx, caller, turnID); err != nil {
		return nil, err
	}
	limit = store.Page{Limit: limit}.Size()
	records, err := s.Store.Events(ctx, turnID, after, limit)
	if err != nil || s.EventTransform == nil {
		return records, err
	}
	shown := make([]event.Record, 0, len(records))
	for i := range records {
		r, err := s.shown(ctx, &records[i])
		if err != nil {
			return nil, err
		}
		if r != nil {
			shown = append(shown, *r)
		}
	}
	return shown, nil
}
