package runtime

import (
	"context"
	"fmt"
	"iter"
	"time"

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
		turn, err := s.GetTurn(ctx, caller, turnID)
		if err != nil {
			yield(event.Record{}, err)
			return
		}
		for batch, err := range s.Follow(ctx, caller, turn, after, 0) {
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

// Follow is Events for those who pass the events on: they come in the batches in
// which they become known, which belong to everybody who follows the turn and must
// not be changed. When nothing comes for as long as idle the batch is empty, so
// that whoever passes them on can show that it is there; an idle of 0 is for ever.
// The turn is as GetTurn has just returned it to the caller.
func (s *Service) Follow(ctx context.Context, caller Caller, turn *StoredTurn, after uint64, idle time.Duration) iter.Seq2[[]event.Record, error] {
	return s.Follower(caller, turn, after, idle).Batches(ctx, nil)
}

// Waiter waits for news of a turn in place of a Follower, for callers that wait for
// something else at the same time and have one goroutine for both.
type Waiter interface {
	// Wait returns after a Wake since the last Wait, at once if there was one already;
	// or with quiet set when idle has passed, where 0 is for ever. It may return
	// early. An error ends the sequence. One goroutine calls it.
	Wait(idle time.Duration) (quiet bool, err error)
	// Wake ends a Wait. Any goroutine may call it, also after the sequence has ended.
	// It must not block.
	Wake()
}

// Follower is what Follow follows, for callers that begin later and keep nothing else
// of the turn until then.
type Follower struct{ start reader }

// Follower returns what follows a turn as Follow does. The turn is as GetTurn has just
// returned it to the caller.
func (s *Service) Follower(caller Caller, turn *StoredTurn, after uint64, idle time.Duration) *Follower {
	return &Follower{start: reader{
		service: s, caller: caller, turnID: turn.ID, live: turn.Status.Live(), seq: after, written: turn.Seq, looks: -1, limit: firstPage, idle: idle,
	}}
}

// Batches returns the sequence of Follow. A Waiter, unless it is nil, waits for news.
func (f *Follower) Batches(ctx context.Context, w Waiter) iter.Seq2[[]event.Record, error] {
	return func(yield func([]event.Record, error) bool) {
		r := f.start
		r.waiter, r.topic = w, r.service.hub.join(r.turnID)
		defer r.watch(ctx)()
		for {
			changed := r.topic.changed()
			records, err := r.next(ctx)
			switch {
			case err != nil:
				yield(nil, err)
				return
			case len(records) > 0:
				if !r.hand(ctx, records, yield) {
					return
				}
			case r.over:
				return
			default:
				var quiet bool
				if w != nil { // with as little stack as can be, which an idle stream keeps
					quiet, err = r.waitElsewhere(ctx)
				} else {
					quiet, err = r.wait(ctx, changed)
				}
				if err != nil {
					yield(nil, err)
					return
				}
				if quiet && !yield(nil, nil) {
					return
				}
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
	// live tells that the turn was when it was read last.
	live bool
	// seq is that of the latest event that was read, and written how far the log is
	// known to reach at least.
	seq, written uint64
	// limit is how many are read at a time.
	limit int
	// looks is how often the turn was found changed when the reader read the store.
	looks int
	// over tells that the turn has ended and there is nothing more to come.
	over bool
	// idle is how long the reader waits, and patience measures it.
	idle     time.Duration
	patience *time.Timer
	// waiter waits in place of the reader, if it is set.
	waiter Waiter
}

// watch wakes the waiter, if there is one, when there are news or ctx or the service
// ends. end frees what the reader holds.
func (r *reader) watch(ctx context.Context) (end func()) {
	if r.waiter == nil {
		return r.close
	}
	r.topic.watch(r.waiter)
	unlink := context.AfterFunc(ctx, r.waiter.Wake)
	unlinkService := context.AfterFunc(r.service.ctx, r.waiter.Wake)
	return func() {
		unlink()
		unlinkService()
		r.topic.unwatch(r.waiter)
		r.close()
	}
}

func (r *reader) close() {
	r.service.hub.leave(r.topic)
	if r.patience != nil {
		r.patience.Stop()
	}
}

// next returns the events that come next, if there are any.
func (r *reader) next(ctx context.Context) ([]event.Record, error) {
	records, looks, ok := r.topic.after(r.seq)
	if len(records) > 0 || ok && looks == r.looks {
		return records, nil
	}
	first := r.looks < 0
	r.looks = looks
	if !first {
		t, err := r.service.GetTurn(ctx, r.caller, r.turnID)
		if err != nil {
			return nil, err
		}
		r.live = t.Status.Live()
	}
	// That the turn has ended was known before the store is read: then nothing
	// comes behind what is.
	records, err := r.service.Store.Events(ctx, r.turnID, r.seq, r.limit)
	if err != nil {
		return nil, fmt.Errorf("read the events of turn %s: %w", r.turnID, err)
	}
	if len(records) == 0 { // or they were there, and are not kept any more
		r.over = !r.live
		r.topic.from(min(r.seq, r.written))
		return nil, nil
	}
	if len(records) == r.limit {
		r.looks = -1 // there are more
	} else {
		r.topic.publish(records) // for those who follow on
	}
	r.limit = pageAfter(records)
	return records, nil
}

// wait waits for news. It is quiet when none came for as long as the reader
// waits.
func (r *reader) wait(ctx context.Context, news <-chan struct{}) (quiet bool, err error) {
	if r.idle <= 0 {
		return false, wait(ctx, r.service.ctx, news)
	}
	if r.patience == nil {
		r.patience = time.NewTimer(r.idle)
	} else {
		r.patience.Reset(r.idle)
	}
	select {
	case <-news:
		return false, nil
	case <-r.patience.C:
		return true, nil
	case <-ctx.Done():
		return false, context.Cause(ctx)
	case <-r.service.ctx.Done():
		return false, context.Cause(r.service.ctx)
	}
}

// waitElsewhere has the waiter wait, which was woken when either context ended.
func (r *reader) waitElsewhere(ctx context.Context) (quiet bool, err error) {
	quiet, err = r.waiter.Wait(r.idle)
	switch {
	case err != nil:
		return false, err
	case ctx.Err() != nil:
		return false, context.Cause(ctx)
	case r.service.ctx.Err() != nil:
		return false, context.Cause(r.service.ctx)
	}
	return quiet, nil
}

// hand gives events to the caller. It is false when the sequence has ended.
func (r *reader) hand(ctx context.Context, records []event.Record, yield func([]event.Record, error) bool) bool {
	last := false
	for i := range records {
		if records[i].Terminal() {
			records, last = records[:i+1], true
			break
		}
	}
	r.seq = records[len(records)-1].Seq
	r.written = max(r.written, r.seq)
	shown, err := r.service.allShown(ctx, records)
	if len(shown) > 0 && !yield(shown, nil) {
		return false
	}
	if err != nil {
		yield(nil, err)
		return false
	}
	return !last
}

// allShown returns events as callers see them, up to the one that cannot be shown.
func (s *Service) allShown(ctx context.Context, records []event.Record) ([]event.Record, error) {
	if s.EventTransform == nil {
		return records, nil
	}
	list := make([]event.Record, 0, len(records))
	for i := range records {
		one, err := s.shown(ctx, &records[i])
		if err != nil {
			return list, err
		}
		if one != nil {
			list = append(list, *one)
		}
	}
	return list, nil
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
// without waiting for more. None are left when it returns none.
func (s *Service) ReadEvents(ctx context.Context, caller Caller, turnID string, after uint64, limit int) ([]event.Record, error) {
	if _, err := s.GetTurn(ctx, caller, turnID); err != nil {
		return nil, err
	}
	limit = store.Page{Limit: limit}.Size()
	for {
		records, err := s.Store.Events(ctx, turnID, after, limit)
		if err != nil || len(records) == 0 {
			return nil, err
		}
		shown, err := s.allShown(ctx, records)
		if err != nil {
			return nil, err
		}
		if len(shown) > 0 {
			return shown, nil
		}
		after = records[len(records)-1].Seq
	}
}
