// Package memory is a store that keeps everything in the memory of one process,
// and loses it with that process: for tests, and for runtimes that need no more.
//
// One lock guards all of it. What comes in and what goes out is copied, and the
// queue is told of jobs when the lock is free again.
package memory

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/internal/rules"
	"go.uber.org/zap"
)

// Store is a store.Store in memory.
type Store struct {
	settings store.Settings
	logger   *zap.Logger

	mu     sync.Mutex
	queue  store.Queue
	closed bool
	// unsent are jobs that the queue did not take.
	unsent jobs
	sessionTable
	turnTable
	snapshots map[string]*store.Snapshot
	// messages are the messages of turns, and of snapshots without a turn, by their id.
	messages  map[string][][]byte
	artifacts map[string]*store.Artifact
	keys      map[string]*key
	exchangeTable
	revocationTable
	configTable
}

// turnTable has the turns.
type turnTable struct {
	turns map[string]*turn
	// live are those that have not ended.
	live map[string]*turn
	// made counts them, in the order in which they were made.
	made uint64
	// usage counts those that have ended.
	usage rules.UsageTable
}

// configTable has the published revisions and the tenants' variables.
type configTable struct {
	revisionTable
	tenantTable
}

// exchangeTable holds what tells others of turns, and the runs of which turns are steps.
type exchangeTable struct {
	webhookTable
	runTable
	// rated counts feedback, in the order in which it was first given.
	rated int64
}

// webhookTable holds the webhooks.
type webhookTable struct {
	// hooked counts them, in the order in which they were made, and told has the
	// turns that have any.
	hooked uint64
	told   map[string]*turn
}

// revocationTable has the revocations.
type revocationTable struct {
	// revoked are the revocations, in their order, and revocations counts those
	// that there were.
	revoked     []store.Revocation
	revocations uint64
}

// session is a session with its turns.
type session struct {
	store.Session
	// turns are all, and live those that have not ended, in the order in which
	// they were made.
	turns, live []*turn
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
	webhooks     []*webhook
	feedback     []*feedback
	requests     []*store.ModelRequest
}

// jobs are those that a change queues.
type jobs []store.Job

var _ store.Store = (*Store)(nil)

// errClosed reports that the store was closed.
var errClosed = errors.New("the store is closed")

// New returns an empty store.
func New(s store.Settings) *Store {
	m := &Store{
		settings: s, logger: s.Logger,
		sessionTable: sessionTable{sessions: make(map[string]*session), labeled: make(map[label]map[string]*session)},
		turnTable:    turnTable{turns: make(map[string]*turn), live: make(map[string]*turn), usage: make(rules.UsageTable)},
		snapshots:    make(map[string]*store.Snapshot), messages: make(map[string][][]byte),
		artifacts: make(map[string]*store.Artifact), keys: make(map[string]*key),
		exchangeTable: exchangeTable{webhookTable: webhookTable{told: make(map[string]*turn)}, runTable: newRunTable()},
	}
	if m.logger == nil {
		m.logger = zap.NewNop()
	}
	return m
}

// Attach sets who is told of jobs.
func (m *Store) Attach(q store.Queue) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.queue = q
}

// Ping reports whether the store is open.
func (m *Store) Ping(ctx context.Context) error { return m.withLock(ctx, func() error { return nil }) }

// Close closes the store. It may be called more than once.
func (m *Store) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	return nil
}

// withLock calls f with the lock held. All methods of the package that take no
// context are called like that.
func (m *Store) withLock(ctx context.Context, f func() error) error {
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

// withJobs calls f with the lock held, and then queues the jobs that it made. Those
// that the queue does not take are offered to it again with the next.
func (m *Store) withJobs(ctx context.Context, f func(jobs *jobs) error) error {
	var made jobs
	var queue store.Queue
	err := m.withLock(ctx, func() error {
		if err := f(&made); err != nil {
			return err
		}
		if queue = m.queue; queue != nil && len(m.unsent) > 0 {
			made, m.unsent = append(m.unsent, made...), nil
		}
		return nil
	})
	if err != nil || len(made) == 0 || queue == nil {
		return err
	}
	if err := queue.Enqueue(context.WithoutCancel(ctx), nil, made); err != nil {
		m.logger.Error("queueing turns failed; will retry", zap.Int("turns", len(made)), zap.Error(err))
		m.mu.Lock()
		defer m.mu.Unlock()
		m.unsent = append(m.unsent, made...)
	}
	return nil
}

// truncateTime returns a time as the store keeps it.
func truncateTime(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC().Truncate(time.Microsecond)
}
