package native

import (
	"context"
	"time"
)

// queue describes the live turns of all tenants and the live processes that run turns.
type queue struct {
	Worker  string         `json:"worker" jsonschema:"Process that serves the request."`
	Pending int            `json:"pending" minimum:"0"`
	Running int            `json:"running" minimum:"0"`
	Waiting int            `json:"waiting" minimum:"0"`
	Workers []workerStatus `json:"workers" jsonschema:"Live processes that run turns, including those without turns."`
}

// workerStatus describes a live process that runs turns.
type workerStatus struct {
	ID          string    `json:"id"`
	Turns       int       `json:"turns" minimum:"0"`
	HeartbeatAt time.Time `json:"heartbeat_at,omitzero"`
}

// noQuery rejects all query parameters.
type noQuery struct {
	_ struct{} `query:""`
}

// readQueue returns the state of the queue.
func (l *Local) readQueue(ctx context.Context, _ noQuery) (*queue, error) {
	found, err := l.Service.ReadQueue(ctx, l.Caller)
	if err != nil {
		return nil, err
	}
	shown := &queue{Worker: found.Worker, Pending: found.Pending, Running: found.Running, Waiting: found.Waiting, Workers: []workerStatus{}}
	for _, w := range found.Workers {
		shown.Workers = append(shown.Workers, workerStatus(w))
	}
	return shown, nil
}
