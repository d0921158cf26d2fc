package follow

import (
	"context"
	"slices"
	"sync"

	"github.com/agentruntime/agentruntime/event"
)

// tailLength is how many of a turn's latest events are buffered for its followers, and tailBytes
// the limit of their data; slower followers read the store.
const (
	tailLength = 512
	tailBytes  = 1 << 20
)

// topic is a followed turn.
type topic struct {
	turnID string

	mu sync.Mutex
	// followers is the number of followers; guarded by the hub.
	followers int
	// tail has the latest events in order, without gaps, and size is the size of their data. seq is
	// the latest event, buffered or not. known is set once there is one.
	tail  []event.Record
	size  int
	seq   uint64
	known bool
	// stale is set if nothing arrived since the turn was last checked.
	stale bool
	// news is closed on a change, and replaced.
	news chan struct{}
	// ended is closed when the turn may have ended, and replaced.
	ended chan struct{}
	look  lookPhase
	// looks counts how often the turn itself was found to have changed.
	looks int
}

// lookPhase is whether the store is being read for a topic.
//
//	        mayLook            mayLook
//	idle ◀──────────▶ reading ──────────▶ again
//	        goOn              ◀──────────
//	                             goOn
type lookPhase uint8

const (
	// lookIdle: nobody reads it.
	lookIdle lookPhase = iota
	// lookReading: the turn is being read.
	lookReading
	// lookAgain: the turn is being read, and must be read once more.
	lookAgain
)

// mayLook reports whether the caller may read the store for the topic. If another goroutine is
// reading, that one reads once more.
func (t *topic) mayLook() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.look != lookIdle {
		t.look = lookAgain
		return false
	}
	t.look = lookReading
	return true
}

// goOn reports whether the store must be read once more.
func (t *topic) goOn() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	again := t.look == lookAgain
	t.look = lookIdle
	if again {
		t.look = lookReading
	}
	return again
}

// dropTail drops the tail of a turn without new events.
func (t *topic) dropTail() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stale {
		t.tail, t.size = nil, 0
	}
	t.stale = true
}

// noteKnown records that followers know the log up to a seq, unless more is known.
func (t *topic) noteKnown(seq uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.known {
		t.seq, t.known = seq, true
	}
}

// changeSignal returns a channel that is closed on the next change. Get it before looking at the
// current state.
func (t *topic) changeSignal() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.news
}

// lastSeq returns the seq of the latest event, if it is known.
func (t *topic) lastSeq() (uint64, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.seq, t.known
}

// publishRecords adds events to the tail. Known events are skipped; a gap restarts the tail.
func (t *topic) publishRecords(records []event.Record) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.known && len(records) > 0 && records[0].Seq <= t.seq {
		records = records[1:]
	}
	if len(records) == 0 {
		return
	}
	if records[0].Seq != t.seq+1 {
		t.tail, t.size = nil, 0
	}
	t.seq, t.known, t.stale = records[len(records)-1].Seq, true, false
	if records[len(records)-1].Terminal() {
		t.signalEnd()
	}
	t.tail = append(t.tail, records...)
	t.size += sizeOf(records)
	if len(t.tail) > 2*tailLength || t.size > 2*tailBytes {
		t.trimTail()
	}
	t.signalChange()
}

// endSignal returns a channel that is closed when the turn may have ended. Get it before looking
// at the turn.
func (t *topic) endSignal() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ended
}

// signalEnd notifies those waiting for the end that the turn may have ended. The caller holds the
// lock.
func (t *topic) signalEnd() {
	close(t.ended)
	t.ended = make(chan struct{})
}

// signalChange notifies those waiting on the channel of a change. The caller holds the lock.
func (t *topic) signalChange() {
	close(t.news)
	t.news = make(chan struct{})
}

// trimTail keeps the latest events in the tail, at least one. It copies them: readers hold parts of
// the array, whose elements are never overwritten.
func (t *topic) trimTail() {
	first := len(t.tail) - 1
	t.size = len(t.tail[first].Data)
	for first > 0 && len(t.tail)-first < tailLength && t.size+len(t.tail[first-1].Data) <= tailBytes {
		first--
		t.size += len(t.tail[first].Data)
	}
	t.tail = slices.Clone(t.tail[first:])
}

// wakeAll makes the followers check the turn, even if there may be nothing new.
func (t *topic) wakeAll() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.looks++
	t.signalEnd()
	t.signalChange()
}

// recordsAfter returns the events of the tail after a seq, and the change count. It returns false
// if the tail does not reach back that far.
func (t *topic) recordsAfter(seq uint64) (records []event.Record, looks int, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.tail) == 0 || t.tail[0].Seq > seq+1 {
		return nil, t.looks, t.seq <= seq
	}
	skip := min(seq+1-t.tail[0].Seq, uint64(len(t.tail)))
	return t.tail[skip:len(t.tail):len(t.tail)], t.looks, true
}

// waitFor waits for a change or the end of either context.
func waitFor(ctx, service context.Context, news <-chan struct{}) error {
	select {
	case <-news:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-service.Done():
		return context.Cause(service)
	}
}

// sizeOf returns the size of the events' data, in bytes.
func sizeOf(records []event.Record) int {
	size := 0
	for i := range records {
		size += len(records[i].Data)
	}
	return size
}
