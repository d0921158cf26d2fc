package service

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/store"
)

// QueueStatus describes the live turns of all tenants and the live processes that run turns.
type QueueStatus struct {
	// Worker is this process.
	Worker string
	// Pending, Running and Waiting count turns.
	Pending, Running, Waiting int
	// Workers are the live processes that run turns, those with the most turns first.
	Workers []WorkerStatus
}

// WorkerStatus describes a process that runs turns.
type WorkerStatus struct {
	ID string
	// Turns counts the turns that the worker runs. HeartbeatAt is its latest heartbeat.
	Turns       int
	HeartbeatAt time.Time
}

// ReadQueue returns the state of the queue. At most 1,000 running turns are attributed to processes.
// Callers without the scope metrics:read see an empty queue.
func (s *Turns) ReadQueue(ctx context.Context, caller Caller) (*QueueStatus, error) {
	if _, err := caller.toScope(); err != nil {
		return nil, err
	}
	q := &QueueStatus{Worker: s.settings.Worker}
	if !caller.HasScope(settings.ScopeMetricsRead) {
		return q, nil
	}
	workers := map[string]*WorkerStatus{}
	for status, count := range map[store.Status]*int{Pending: &q.Pending, Running: &q.Running, Waiting: &q.Waiting} {
		limit := 1
		if status == Running {
			limit = MaxPage
		}
		page, err := s.settings.Store.Turns(ctx, store.TurnQuery{Scope: store.Everything, Statuses: []store.Status{status}, Count: true, Page: store.Page{Limit: limit}})
		if err != nil {
			return nil, err
		}
		*count = page.Total
		if status != Running {
			continue
		}
		for _, t := range page.Turns {
			noteWorker(workers, t.Worker, t.HeartbeatAt).Turns++
		}
	}
	if s.started.Load() {
		noteWorker(workers, q.Worker, s.now())
	}
	if replicas, ok := s.settings.Store.(store.Replicas); ok {
		live, err := replicas.LiveReplicas(ctx)
		if err != nil {
			return nil, err
		}
		for _, r := range live {
			noteWorker(workers, r.ID, r.SeenAt)
		}
	}
	for _, w := range workers {
		q.Workers = append(q.Workers, *w)
	}
	slices.SortFunc(q.Workers, func(a, b WorkerStatus) int { return cmp.Or(cmp.Compare(b.Turns, a.Turns), cmp.Compare(a.ID, b.ID)) })
	return q, nil
}

// noteWorker returns the status of a process that was alive at a time.
func noteWorker(workers map[string]*WorkerStatus, id string, at time.Time) *WorkerStatus {
	w := workers[id]
	if w == nil {
		w = &WorkerStatus{ID: id}
		workers[id] = w
	}
	if at.After(w.HeartbeatAt) {
		w.HeartbeatAt = at
	}
	return w
}
