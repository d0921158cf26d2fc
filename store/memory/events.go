package memory

import (
	"bytes"
	"context"
	"slices"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/store"
)

// Events returns events of a turn.
func (m *Store) Events(ctx context.Context, turnID string, after uint64, limit int) (list []event.Record, err error) {
	err = m.withLock(ctx, func() error {
		t, ok := m.turns[turnID]
		if !ok {
			return nil
		}
		first := slices.IndexFunc(t.events, func(ev event.Record) bool { return ev.Seq > after })
		if first < 0 {
			return nil
		}
		part := t.events[first:]
		for i := range part[:max(0, min(limit, len(part)))] {
			list = append(list, copyEvent(&part[i]))
		}
		return nil
	})
	return list, err
}

// Journal returns the tool calls of a turn.
func (m *Store) Journal(ctx context.Context, turnID string) (list []store.JournalRow, err error) {
	err = m.withLock(ctx, func() error {
		if t, ok := m.turns[turnID]; ok {
			list = copyJournal(t.journal)
		}
		return nil
	})
	return list, err
}

// State returns the last committed state of a turn.
func (m *Store) State(ctx context.Context, turnID string) (state []byte, err error) {
	err = m.withLock(ctx, func() error {
		if t, ok := m.turns[turnID]; ok {
			state = bytes.Clone(t.state)
		}
		return nil
	})
	return state, err
}

func copyEvent(ev *event.Record) event.Record {
	c := *ev
	c.Time, c.Data = truncateTime(ev.Time), bytes.Clone(ev.Data)
	return c
}

func copyJournal(list []store.JournalRow) []store.JournalRow {
	c := slices.Clone(list)
	for i := range c {
		c[i].Entry, c[i].Result = bytes.Clone(c[i].Entry), bytes.Clone(c[i].Result)
	}
	return c
}
