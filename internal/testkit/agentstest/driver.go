package agentstest

import (
	"context"

	"github.com/agentruntime/agentruntime/agents"
	"github.com/agentruntime/agentruntime/agents/wire"
	"github.com/agentruntime/agentruntime/service"
)

// Driver uses the agents of a world like a client. Errors are *wire.Error if the agents API reports
// one.
type Driver interface {
	// Send opens a conversation, sends all inputs, and returns the chunks and the output
	// of the last turn.
	Send(ctx context.Context, agent string, init *wire.Init, inputs []*wire.Input) ([]*wire.Chunk, *wire.Output, error)
	GetSnapshot(ctx context.Context, agent string, request *wire.GetSnapshotRequest) (*wire.Snapshot, error)
	WaitForSnapshot(ctx context.Context, agent string, request *wire.GetSnapshotRequest) (*wire.Snapshot, error)
	Abort(ctx context.Context, agent string, request *wire.AbortRequest) (*wire.AbortResponse, error)
}

// Caller is the caller that uses the agents.
var Caller = service.Caller{Tenant: "acme", Subject: "alice"}

// InProcess returns a driver that uses the agents of a world in this process.
func InProcess(w *World) Driver { return inProcess{w.Set} }

type inProcess struct{ set *agents.Set }

// Send opens a conversation and sends the inputs.
func (d inProcess) Send(ctx context.Context, agent string, init *wire.Init, inputs []*wire.Input) ([]*wire.Chunk, *wire.Output, error) {
	handle, err := d.set.Find(Caller, agent)
	if err != nil {
		return nil, nil, err
	}
	talk, err := agents.Open(ctx, handle, init)
	if err != nil {
		return nil, nil, err
	}
	for _, input := range inputs {
		if err := talk.Send(ctx, input); err != nil {
			return nil, nil, err
		}
	}
	var chunks []*wire.Chunk
	for chunk, err := range talk.Chunks(ctx) {
		if err != nil {
			return chunks, nil, err
		}
		chunks = append(chunks, chunk)
	}
	output, err := talk.Output(ctx)
	return chunks, output, err
}

// GetSnapshot returns a snapshot.
func (d inProcess) GetSnapshot(ctx context.Context, agent string, request *wire.GetSnapshotRequest) (*wire.Snapshot, error) {
	handle, err := d.set.Find(Caller, agent)
	if err != nil {
		return nil, err
	}
	return handle.GetSnapshot(ctx, request)
}

// WaitForSnapshot returns a snapshot once it is no longer pending.
func (d inProcess) WaitForSnapshot(ctx context.Context, agent string, request *wire.GetSnapshotRequest) (*wire.Snapshot, error) {
	handle, err := d.set.Find(Caller, agent)
	if err != nil {
		return nil, err
	}
	return handle.WaitForSnapshot(ctx, request)
}

// Abort ends a turn.
func (d inProcess) Abort(ctx context.Context, agent string, request *wire.AbortRequest) (*wire.AbortResponse, error) {
	handle, err := d.set.Find(Caller, agent)
	if err != nil {
		return nil, err
	}
	return handle.Abort(ctx, request)
}
