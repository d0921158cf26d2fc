// Package memory is a store that keeps everything in the memory of one process,
// and loses it with that process: for tests, and for runtimes that need no more.
package memory

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/store"
	"go.uber.org/zap"
)

// Store is a store.Store in memory.
type Store struct {
	settings store.Settings
	logger   *zap.Logger

	mu        sync.Mutex
	queue     store.Queue
	closed    bool
	sessions  map[string]*session
	turns     map[string]*turn
	snapshots map[string]*store.Snapshot
	// messages are those of turns and of snapshots without a turn, by their id.
	messages  map[string][][]byte
	artifacts map[string]*store.Artifact
	keys      map[string]*key
	// made counts the turns, in the order in which they were made.
	made uint64
}

// session is a session with its turns, in the order in which they were made.
type session struct {
	store.Session
	turns []*turn
}

// turn is a turn with what belongs to it.
type turn struct {
	store.Turn
	order        uint64
	state        []byte
	events       []event.Record
	journal      []store.JournalRow
	interactions []*store.Interaction
	artifacts    []string
}

var _ store.Store = (*Store)(nil)

// New returns an empty store.
func New(s store.Settings) *Store {
	m := &Store{
		settings: s, logger: s.Logger, sessions: make(map[string]*session), turns: make(map[string]*turn),
		snapshots: make(map[string]*store.Snapshot), messages: make(map[string][][]byte),
		artifacts: make(map[string]*store.Artifact), keys: make(map[string]*key),
	}
	if m.logger == nil {
		m.logger = zap.NewNop()
	}
	return m
}

// errClosed says that the store was closed.
var errClosed = errors.New("the store is closed")

// Attach sets who is told of jobs.
func (m *Store) Attach(q store.Queue) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.queue = q
}

// Ping reports whether the store is open.
func (m *Store) Ping(ctx context.Context) error { return m.look(ctx, func() error { return nil }) }

// Close closes the store. It may be called more than once.
func (m *Store) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	return nil
}

// look calls f with the lock held.
func (m *Store) look(ctx context.Context, f func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return errClosed
	}
	return f()
}

// change calls f with the lock held, and then queues the jobs that it admitted.
func (m *Store) change(ctx context.Context, f func(jobs *jobs) error) error {
	var made jobs
	var queue store.Queue
	err := m.look(ctx, func() error {
		queue = m.queue
		return f(&made)
	})
	if err != nil || len(made) == 0 || queue == nil {
		return err
	}
	if err := queue.Enqueue(context.WithoutCancel(ctx), nil, made); err != nil {
		m.logger.Error("turns are not queued; they will be when the process is started again", zap.Error(err))
	}
	return nil
}

// jobs are those that a change queues.
type jobs []store.Job

// page cuts a page out of a list that is sorted, the latest first.
func page[T any](list []T, p store.Page, at func(T) store.Cursor) (part []T, next string, err error) {
	after, err := p.Cursor()
	if err != nil {
		return nil, "", err
	}
	slices.SortStableFunc(list, func(a, b T) int { return -compare(at(a), at(b)) })
	if after != nil {
		first := slices.IndexFunc(list, func(x T) bool { return compare(at(x), *after) < 0 })
		if first < 0 {
			return nil, "", nil
		}
		list = list[first:]
	}
	if n := p.Size(); len(list) > n {
		return list[:n], at(list[n-1]).String(), nil
	}
	return list, "", nil
}

func compare(a, b store.Cursor) int {
	if c := a.Time.Compare(b.Time); c != 0 {
		return c
	}
	return cmp.Compare(a.ID, b.ID)
}

// kept returns a time as stores keep it.
func kept(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.UTC().Truncate(time.Microsecond)
}
