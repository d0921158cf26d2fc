// Package memory is a store that keeps everything in the memory of one process and loses it when
// the process ends. It is for tests and for runtimes that need no more.
//
// One lock guards the whole store. Records are copied on the way in and out, and jobs are queued
// after the lock is released.
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
	// unsent are jobs that the queue rejected.
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
	// live are the turns that have not ended.
	live map[string]*turn
	// made counts turns, in creation order.
	made uint64
	// usage counts the turns that have ended.
	usage rules.UsageTable
}

// configTable has the published revisions and the tenants' variables.
type configTable struct {
	revisionTable
	tenantTable
}

// exchangeTable holds webhooks, feedback numbers and workflow runs.
type exchangeTable struct {
	webhookTable
	runTable
	// rated counts feedback, in creation order.
	rated int64
}

// webhookTable holds the webhooks.
type webhookTable struct {
	// hooked counts the webhooks, in creation order, and told has the turns that have any.
	hooked uint64
	told   map[string]*turn
}

// revocationTable has the revocations.
type revocationTable struct {
	// revoked are the revocations in order, and revocations counts all there ever were.
	revoked     []store.Revocation
	revocations uint64
}

// session is a session with its turns.
type session struct {
	store.Session
	// turns are all turns, and live those that have not ended, in creation order.
	turns, live []*turn
}

// turn is a turn with its records.
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

// jobs are the jobs that a change queues.
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

// Attach sets the queue for jobs.
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

// withLock calls f with the lock held. All methods of the package without a context require the
// lock.
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

// withJobs calls f with the lock held and then queues the jobs that f made. Jobs that the queue
// rejects are queued again with the next ones.
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

// truncateTime returns a time as stored.
func truncateTime(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC().Truncate(time.Microsecond)
}
