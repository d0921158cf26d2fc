package exchange

import (
	"context"
	"iter"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/agentruntime/agentruntime/backend/a2a/internal/client"
)

// reading is the result of reading events from the peer.
type reading struct {
	// cut is why the events broke off; nil if they ended or enough is known.
	cut error
	// wrong is the error in received data. The exchange ends with it.
	wrong error
}

// readEvents applies events until the task has settled, the events end, or ctx ends.
func (x *Exchange) readEvents(ctx context.Context, events iter.Seq2[a2a.Event, error]) reading {
	for ev, cut := range events {
		if cut != nil {
			return reading{cut: cut}
		}
		if err := x.Take(ctx, ev); err != nil {
			return reading{wrong: err}
		}
		if x.phase.isSettled() || ctx.Err() != nil {
			break
		}
	}
	return reading{}
}

// getTask fetches the task.
func (x *Exchange) getTask(ctx context.Context) (*a2a.Task, error) {
	conn, err := x.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return conn.Client.GetTask(ctx, &a2a.GetTaskRequest{ID: x.at.TaskID, HistoryLength: x.peer.Options.HistoryLength})
}

// Connect returns the connection to the peer.
func (x *Exchange) Connect(ctx context.Context) (*client.Connection, error) {
	conn, err := x.peer.Connect(ctx)
	if err == nil {
		x.conn = conn
	}
	return conn, err
}
