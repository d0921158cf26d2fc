package agents

import (
	"context"

	"github.com/agentruntime/agentruntime/agents/wire"
	"github.com/agentruntime/agentruntime/service"
)

// client is an agent whose state the client keeps. Nothing is stored: a turn runs while its chunks
// or its output are read.
type client struct {
	set *Set
	// definition is nil for an agent that is only declared.
	definition *definition
	caller     service.Caller
	name       string
}

var _ Handle = (*client)(nil)

// Name returns the name of the agent.
func (a *client) Name() string { return a.name }

// Metadata describes the agent.
func (a *client) Metadata() wire.Metadata {
	m := wire.Metadata{StateManagement: wire.StateClient}
	if a.definition != nil {
		m.StateSchema = a.definition.schema
	}
	return m
}

// Begin begins a turn.
func (a *client) Begin(ctx context.Context, init *wire.Init, input *wire.Input) (Run, error) {
	return connectAndBegin(ctx, a, init, input)
}

// connectAndBegin begins the first turn of a conversation with an agent.
func connectAndBegin(ctx context.Context, agent Handle, init *wire.Init, input *wire.Input) (Run, error) {
	talk, err := agent.Connect(ctx, init)
	if err != nil {
		return nil, err
	}
	return talk.Begin(ctx, input)
}

// Connect opens a conversation.
func (a *client) Connect(ctx context.Context, init *wire.Init) (Connection, error) {
	memory := &memory{id: a.set.newID()}
	switch {
	case init.State != nil && (init.SessionID != "" || init.SnapshotID != ""):
		return nil, newError(wire.StatusInvalidArgument, "init: state excludes sessionId and snapshotId")
	case init.SessionID != "":
		return nil, newError(wire.StatusFailedPrecondition, "Cannot use 'sessionId' with agent %q: its state is kept by the client; continue with state", a.name)
	case init.SnapshotID != "":
		return nil, newError(wire.StatusFailedPrecondition, "Cannot use 'snapshotId' with agent %q: its state is kept by the client; continue with state", a.name)
	case init.State != nil:
		if d := a.definition; d != nil && d.fits(init.State.Custom) != nil {
			return nil, newError(wire.StatusInvalidArgument, "init.state.custom does not have the type of the state of agent %q: see stateSchema of its metadata", a.name)
		}
		if err := memory.load(init.State, a.set.box, a.name); err != nil {
			return nil, err
		}
	}
	if err := memory.beginCode(ctx, a.definition); err != nil {
		return nil, err
	}
	return &clientConnection{agent: a, memory: memory}, nil
}

// Detach returns a failed output because nothing is stored.
func (a *client) Detach(ctx context.Context, init *wire.Init, input *wire.Input, _ DetachOptions) (*wire.Output, error) {
	return beginDetached(ctx, a, init, input)
}

// beginDetached begins a turn of an agent in the background.
func beginDetached(ctx context.Context, agent Handle, init *wire.Init, input *wire.Input) (*wire.Output, error) {
	detached := *input
	detached.Detach = true
	run, err := agent.Begin(ctx, init, &detached)
	if err != nil {
		return nil, err
	}
	return run.Output(ctx)
}

// Follow fails because nothing is stored.
func (a *client) Follow(context.Context, string) (Run, error) { return nil, errNotStored(a.name) }

// GetSnapshot fails because nothing is stored.
func (a *client) GetSnapshot(context.Context, *wire.GetSnapshotRequest) (*wire.Snapshot, error) {
	return nil, errNotStored(a.name)
}

// WaitForSnapshot fails because nothing is stored.
func (a *client) WaitForSnapshot(context.Context, *wire.GetSnapshotRequest) (*wire.Snapshot, error) {
	return nil, errNotStored(a.name)
}

// Abort fails because nothing is stored.
func (a *client) Abort(context.Context, *wire.AbortRequest) (*wire.AbortResponse, error) {
	return nil, errNotStored(a.name)
}

// clientConnection is a conversation in memory.
type clientConnection struct {
	agent  *client
	memory *memory
}

// SessionID returns the id of the session.
func (c *clientConnection) SessionID() string { return c.memory.id }

// Begin begins the next turn.
func (c *clientConnection) Begin(ctx context.Context, input *wire.Input) (Run, error) {
	r := &clientRun{agent: c.agent, memory: c.memory}
	problem := r.prepare(ctx, input)
	if input.Detach {
		problem = newError(wire.StatusFailedPrecondition, "agent %q cannot detach: its state is kept by the client", c.agent.name)
	}
	if problem == nil {
		return r, nil
	}
	out, err := r.failedOutput(ctx, problem)
	if err != nil {
		return nil, err
	}
	return settledRun{out}, nil
}

// DetachRun fails because nothing is stored.
func (c *clientConnection) DetachRun(context.Context, Run) (*wire.Output, error) {
	return nil, newError(wire.StatusFailedPrecondition, "agent %q cannot detach: its state is kept by the client", c.agent.name)
}

// errNotStored reports a companion request for an agent whose state the client keeps.
func errNotStored(name string) error {
	return newError(wire.StatusFailedPrecondition, "agent %q has no snapshots: its state is part of its outputs", name)
}
