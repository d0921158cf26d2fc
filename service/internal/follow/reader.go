package follow

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/agentruntime/agentruntime/event"
)

// Follower follows a turn from a given event on. It retains nothing else of the turn until Batches
// begins.
type Follower struct {
	// Hub is the source of the events. It is required.
	Hub *Hub
	// TurnID is the turn. Live and Written are its current status and the seq of its latest event,
	// both just read.
	TurnID  string
	Live    bool
	Written uint64
	// After is the seq after which events are returned.
	After uint64
	// Idle returns the time without events after which an empty batch is returned; 0 means forever.
	// It is called before each wait. It is required.
	Idle func() time.Duration
	// StillLive reports whether the turn is live now. An error means that the turn may no longer be
	// read.
	StillLive func(ctx context.Context) (bool, error)
	// Show returns events in the reader's form, up to the first that fails.
	Show func(ctx context.Context, records []event.Record) ([]event.Record, error)
}

// Batches returns the events in batches as they become known, through the terminal one.
func (f *Follower) Batches(ctx context.Context) iter.Seq2[[]event.Record, error] {
	return func(yield func([]event.Record, error) bool) {
		r := f.newReader()
		defer r.close()
		for r.yieldNews(ctx, yield) {
			quiet, err := r.waitForNews(ctx)
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

// reader reads the events of one turn for one caller.
type reader struct {
	*Follower
	hub   *Hub
	topic *topic
	// live is set if the turn was live when it was last read.
	live bool
	// seq is the latest event read, and written a lower bound of the log's end.
	seq, written uint64
	// limit is how many events are read at a time.
	limit int
	// shownAt is when the caller last got events or a keep-alive.
	shownAt time.Time
	// looks is the topic's change count when the reader last read the store.
	looks int
	// over is set once the turn has ended and all its events have been read.
	over bool
	// news is closed by the first change after the records were last read.
	news <-chan struct{}
	// patience is the timer for the reader's wait.
	patience *time.Timer
}

func (f *Follower) newReader() *reader {
	return &reader{
		Follower: f, hub: f.Hub, live: f.Live, seq: f.After, written: f.Written, looks: -1, limit: firstPage,
		topic: f.Hub.joinTopic(f.TurnID), shownAt: time.Now(),
	}
}

// close releases the reader's resources.
func (r *reader) close() {
	r.hub.leaveTopic(r.topic)
	if r.patience != nil {
		r.patience.Stop()
	}
}

// yieldNews yields all available events to the caller. It reports whether more may follow.
func (r *reader) yieldNews(ctx context.Context, yield func([]event.Record, error) bool) (more bool) {
	for {
		r.news = r.topic.changeSignal()
		records, err := r.nextRecords(ctx)
		switch {
		case err != nil:
			yield(nil, err)
			return false
		case len(records) == 0:
			return !r.over
		case !r.yieldRecords(ctx, records, yield):
			return false
		}
	}
}

// nextRecords returns the next available events, if any.
func (r *reader) nextRecords(ctx context.Context) ([]event.Record, error) {
	records, looks, ok := r.topic.recordsAfter(r.seq)
	if len(records) > 0 || ok && looks == r.looks {
		return records, nil
	}
	first := r.looks < 0
	r.looks = looks
	if !first {
		var err error
		if r.live, err = r.StillLive(ctx); err != nil {
			return nil, err
		}
	}
	// The end of the turn is known before the store is read, so no events can follow.
	records, err := r.hub.store.Events(ctx, r.TurnID, r.seq, r.limit)
	if err != nil {
		return nil, fmt.Errorf("read the events of turn %s: %w", r.TurnID, err)
	}
	if len(records) == 0 { // or they have been deleted
		r.over = !r.live
		r.topic.noteKnown(min(r.seq, r.written))
		return nil, nil
	}
	if len(records) == r.limit {
		r.looks = -1 // there are more
	} else {
		r.topic.publishRecords(records) // for the other followers
	}
	r.limit = pageAfter(records)
	return records, nil
}

// waitForNews waits for changes. quiet is true if none arrived within the reader's idle time.
func (r *reader) waitForNews(ctx context.Context) (quiet bool, err error) {
	var patience <-chan time.Time
	if idle := r.Idle(); idle > 0 {
		if r.patience == nil {
			r.patience = time.NewTimer(idle)
		} else {
			r.patience.Reset(idle)
		}
		patience = r.patience.C
	}
	select {
	case <-r.news:
	case <-patience:
		quiet = true
	case <-ctx.Done():
	case <-r.hub.ctx.Done():
	}
	switch {
	case ctx.Err() != nil:
		return false, context.Cause(ctx)
	case r.hub.ctx.Err() != nil:
		return false, context.Cause(r.hub.ctx)
	}
	return quiet, nil
}

// yieldRecords yields events to the caller. It returns false when the sequence has ended.
func (r *reader) yieldRecords(ctx context.Context, records []event.Record, yield func([]event.Record, error) bool) bool {
	last := false
	for i := range records {
		if records[i].Terminal() {
			records, last = records[:i+1], true
			break
		}
	}
	r.seq = records[len(records)-1].Seq
	r.written = max(r.written, r.seq)
	shown, err := r.Show(ctx, records)
	if silent := len(shown) == 0; !silent || r.isOverdue() {
		r.shownAt = time.Now()
		if silent {
			shown = nil // a keep-alive: many hidden events may come in between
		}
		if !yield(shown, nil) {
			return false
		}
	}
	if err != nil {
		yield(nil, err)
		return false
	}
	return !last
}

// isOverdue reports whether the caller got nothing for the idle time.
func (r *reader) isOverdue() bool {
	idle := r.Idle()
	return idle > 0 && time.Since(r.shownAt) >= idle
}

// WaitForEnd waits until done returns true, calling it whenever the turn may have ended. It
// returns the error of done, ctx or the hub.
func (h *Hub) WaitForEnd(ctx context.Context, turnID string, done func() (bool, error)) error {
	t := h.joinTopic(turnID)
	defer h.leaveTopic(t)
	for {
		ended := t.endSignal()
		if over, err := done(); over || err != nil {
			return err
		}
		if err := waitFor(ctx, h.ctx, ended); err != nil {
			return err
		}
	}
}
