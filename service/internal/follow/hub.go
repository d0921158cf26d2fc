// Package follow passes the events of turns to their followers: from the worker if it is in this
// process, otherwise from the store.
package follow

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/store"
	"go.uber.org/zap"
)

const (
	// lookInterval is the polling interval of followed turns.
	lookInterval = 2 * time.Second
	// looksAtOnce is how many followed turns with new events are read concurrently.
	looksAtOnce = 8
	// positionsAtOnce is how many turns one query checks.
	positionsAtOnce = 1000
	// eventPage is the maximum number of events per read from the store, and firstPage the number
	// while their size is unknown. Later pages aim for pageBytes of data.
	eventPage = 1000
	firstPage = 16
	pageBytes = 256 << 10
)

// pageAfter returns how many events to read next: events with tool results have megabytes, and
// those with words a few bytes.
func pageAfter(records []event.Record) int {
	if len(records) == 0 {
		return firstPage
	}
	return min(max(1, pageBytes*len(records)/max(1, sizeOf(records))), eventPage)
}

// Hub passes the events of turns to their followers: from the worker if it is in this process,
// otherwise from the store, which is read once for all. It is safe for concurrent use.
type Hub struct {
	ctx    context.Context
	store  store.Events
	logger *zap.Logger

	mu     sync.Mutex
	topics map[string]*topic
	closed bool
	tasks  sync.WaitGroup
}

// NewHub returns a hub that works until ctx ends; Close then waits for its
// goroutines.
func NewHub(ctx context.Context, s store.Events, logger *zap.Logger) *Hub {
	h := &Hub{ctx: ctx, store: s, logger: logger, topics: make(map[string]*topic)}
	h.tasks.Go(h.lookPeriodically)
	h.tasks.Go(h.wakeAtEnd)
	return h
}

// joinTopic begins to follow a turn; leave ends it.
func (h *Hub) joinTopic(turnID string) *topic {
	h.mu.Lock()
	defer h.mu.Unlock()
	t, ok := h.topics[turnID]
	if !ok {
		t = &topic{turnID: turnID, news: make(chan struct{}), ended: make(chan struct{})}
		h.topics[turnID] = t
	}
	t.followers++
	return t
}

func (h *Hub) leaveTopic(t *topic) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if t.followers--; t.followers == 0 {
		delete(h.topics, t.turnID)
	}
}

func (h *Hub) topicOf(turnID string) *topic {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.topics[turnID]
}

// Publish passes committed events to the turn's followers.
func (h *Hub) Publish(turnID string, records []event.Record) {
	if t := h.topicOf(turnID); t != nil {
		t.publishRecords(records)
	}
}

// Look reads new events of a turn if it has followers. It does not block.
func (h *Hub) Look(turnID string) {
	t := h.topicOf(turnID)
	if t == nil || !t.mayLook() {
		return
	}
	h.startTask(func() { h.readNew(t) })
}

// startTask begins a task, unless the hub is closed.
func (h *Hub) startTask(task func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.closed {
		h.tasks.Go(task)
	}
}

// LookAll checks all followed turns. It does not block.
func (h *Hub) LookAll() { h.startTask(h.lookAtEach) }

// lookAtEach checks all followed turns, many per query. Turns with new events are then read a few
// at a time.
func (h *Hub) lookAtEach() {
	h.mu.Lock()
	followed := make(map[string]*topic, len(h.topics))
	for id, t := range h.topics {
		if t.mayLook() {
			followed[id] = t
		}
	}
	h.mu.Unlock()
	changed := h.changedTopics(followed)
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(looksAtOnce, len(changed)) {
		all.Go(func() {
			for i := next.Add(1); i <= int64(len(changed)); i = next.Add(1) {
				h.readNew(changed[i-1])
			}
		})
	}
	all.Wait()
}

// changedTopics returns the topics with something to read and drops the tails of idle ones.
func (h *Hub) changedTopics(topics map[string]*topic) (list []*topic) {
	ids := slices.Collect(maps.Keys(topics))
	for part := range slices.Chunk(ids, positionsAtOnce) {
		positions, err := h.store.Positions(h.ctx, part)
		if err != nil && h.ctx.Err() == nil {
			h.logger.Warn("reading positions of followed turns failed", zap.Int("turns", len(part)), zap.Error(err))
		}
		at := make(map[string]store.Position, len(positions))
		for _, p := range positions {
			at[p.TurnID] = p
		}
		for _, id := range part {
			t := topics[id]
			t.dropTail()
			p, known := at[id]
			last, reads := t.lastSeq()
			if quiet := err != nil || known && p.Status.Live() && (!reads || p.Seq <= last); !quiet || t.goOn() {
				list = append(list, t)
			}
		}
	}
	return list
}

func (h *Hub) lookPeriodically() {
	ticker := time.NewTicker(lookInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			h.lookAtEach()
		case <-h.ctx.Done():
			return
		}
	}
}

// wakeAtEnd wakes all followers when the context of the hub ends.
func (h *Hub) wakeAtEnd() {
	<-h.ctx.Done()
	h.mu.Lock()
	followed := slices.Collect(maps.Values(h.topics))
	h.mu.Unlock()
	for _, t := range followed {
		t.wakeAll()
	}
}

// Close waits for the goroutines of the hub, whose context has ended.
func (h *Hub) Close() {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.tasks.Wait()
}

// readNew reads new events from the store until no further read was requested.
func (h *Hub) readNew(t *topic) {
	for {
		turn, err := h.store.Turn(h.ctx, store.Everything, t.turnID)
		if err == nil {
			err = h.readEvents(t, turn.Seq)
		}
		switch {
		case err == nil && turn.Status.Live():
		case err == nil, errors.Is(err, store.ErrNotFound):
			t.wakeAll()
		case h.ctx.Err() == nil:
			h.logger.Warn("reading events failed", zap.String("turn_id", t.turnID), zap.Error(err))
		}
		if !t.goOn() {
			return
		}
	}
}

// readEvents reads the events of a turn up to last, if it is known where to start. Followers read
// earlier events themselves.
func (h *Hub) readEvents(t *topic, last uint64) error {
	for limit := firstPage; ; {
		after, known := t.lastSeq()
		if !known || after >= last {
			return nil
		}
		records, err := h.store.Events(h.ctx, t.turnID, after, limit)
		if err != nil {
			return err
		}
		if len(records) == 0 { // they were deleted
			return nil
		}
		t.publishRecords(records)
		limit = pageAfter(records)
	}
}
