package work

import (
	"slices"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/store"
)

// maxBuffer is how many bytes of events may be queued for the store; beyond that, the turn waits.
const maxBuffer = 4 << 20

// queue is the data waiting to be committed. It belongs to a recorder, whose mutex guards it.
type queue struct {
	// events are the uncommitted events, of size bytes, and seq is the latest of the turn.
	events []event.Record
	size   int
	seq    uint64
	// frame collects the deltas that will form the last event.
	frame frame
	// delegated are the frames of running delegates. A frame must not be copied.
	delegated []*frame
	// journal are calls that began or ended since the last commit.
	journal []store.JournalRow
	// made are the uncommitted artifacts, and asked the uncommitted interactions.
	made  []*store.Artifact
	asked []*store.Interaction
}

// isFull reports whether so much is queued that the turn must wait.
func (q *queue) isFull() bool {
	size := q.size + q.frame.size()
	for _, f := range q.delegated {
		size += f.size()
	}
	return size > maxBuffer
}

// addDelegatedDelta collects a delta of a delegate, separately for each concurrent delegate;
// false when the event is not a delta. It first adds earlier frames.
func (q *queue) addDelegatedDelta(ev *event.Event, add func(*event.Event)) bool {
	for _, f := range q.delegated {
		if slices.Equal(f.path, ev.Path) && f.appendEvent(ev) {
			return true
		}
	}
	q.flushDelegated(ev.Path, add)
	f := &frame{path: ev.Path}
	if !f.beginWith(ev) {
		return false
	}
	q.delegated = append(q.delegated, f)
	return true
}

// flushDelegated adds the frames of the delegate with the path and its own delegates; a nil path
// selects all.
func (q *queue) flushDelegated(path []string, add func(*event.Event)) {
	q.delegated = slices.DeleteFunc(q.delegated, func(f *frame) bool {
		below := len(f.path) >= len(path) && slices.Equal(f.path[:len(path)], path)
		if below {
			f.flushTo(add)
		}
		return below
	})
}

// pushRecord adds an event and assigns its seq.
func (q *queue) pushRecord(record event.Record) {
	q.seq++
	record.Seq, record.Time = q.seq, record.Time.UTC().Truncate(time.Microsecond)
	q.events = append(q.events, record)
	q.size += len(record.Data)
}

// dropTerminal removes a queued terminal event.
func (q *queue) dropTerminal() {
	if n := len(q.events); n > 0 && q.events[n-1].Terminal() {
		q.events, q.seq = q.events[:n-1], q.seq-1
	}
}

// addTo adds the queued data to a commit.
func (q *queue) addTo(c *store.Commit) {
	c.Events, c.Journal, c.Artifacts, c.Asked = q.events, q.journal, q.made, q.asked
}

// clear removes the committed events. The frame has already ended.
func (q *queue) clear() {
	q.events, q.journal, q.made, q.asked, q.size = nil, nil, nil, nil, 0
}

// openCalls are the calls that have begun and have no outcome in the journal. They
// belong to a recorder, whose mutex guards them.
type openCalls struct {
	begun map[string]bool
	// unsettled is set while the event of an outcome waits for its journal entry: neither must be
	// stored without the other.
	unsettled bool
	// held are outcomes that arrived after the turn was released. They count only if the journal
	// has them.
	held map[string]event.Event
}

// beginCall records that a call is about to begin.
func (o *openCalls) beginCall(id string) {
	if o.begun == nil {
		o.begun = make(map[string]bool)
	}
	o.begun[id] = true
}

// endCall records that the event of a call's outcome is queued.
func (o *openCalls) endCall(id string) { o.unsettled = o.unsettled || o.begun[id] }

// holdOutcome holds the event of a call's outcome until the journal has the outcome.
func (o *openCalls) holdOutcome(id string, ev *event.Event) {
	if o.held == nil {
		o.held = make(map[string]event.Event)
	}
	o.held[id] = *ev
}

// settleCall records that the journal has the outcome of a call, and returns the held event of the
// outcome.
func (o *openCalls) settleCall(id string) (ev event.Event, held bool) {
	delete(o.begun, id)
	o.unsettled = false
	ev, held = o.held[id]
	delete(o.held, id)
	return ev, held
}
