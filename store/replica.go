package store

import (
	"context"
	"time"
)

// Replica is a process that runs turns.
type Replica struct {
	// ID is the worker of the turns that the process claims.
	ID string
	// SeenAt is when the process last reported, by the store's clock.
	SeenAt time.Time
}

// Replicas is implemented by stores that several processes can use at the same time.
type Replicas interface {
	// ReportReplica stores that a process is alive until a lease ends, and deletes the processes whose
	// lease has ended. A lease of 0 deletes the process itself.
	ReportReplica(ctx context.Context, id string, lease time.Duration) error
	// LiveReplicas returns the processes whose lease has not ended, by id.
	LiveReplicas(ctx context.Context) ([]Replica, error)
}
