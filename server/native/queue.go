package native

import (
	"net/http"
	"time"
)

// queueStatus describes the live turns of all tenants and the live processes that run turns.
type queueStatus struct {
	// Worker is the process that answers.
	Worker  string         `json:"worker"`
	Pending int            `json:"pending"`
	Running int            `json:"running"`
	Waiting int            `json:"waiting"`
	Workers []workerStatus `json:"workers"`
}

// workerStatus describes a live process that runs turns.
type workerStatus struct {
	ID          string    `json:"id"`
	Turns       int       `json:"turns"`
	HeartbeatAt time.Time `json:"heartbeat_at,omitzero"`
}

// readQueue responds with the state of the queue.
func (c *call) readQueue() error {
	if q := queryOf(c.r); q.err != nil {
		return q.err
	}
	found, err := c.Service.ReadQueue(c.r.Context(), c.Caller)
	if err != nil {
		return err
	}
	shown := queueStatus{Worker: found.Worker, Pending: found.Pending, Running: found.Running, Waiting: found.Waiting, Workers: []workerStatus{}}
	for _, w := range found.Workers {
		shown.Workers = append(shown.Workers, workerStatus(w))
	}
	return c.writeReply(http.StatusOK, &shown, nil)
}
