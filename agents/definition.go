package agents

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"

	"github.com/agentruntime/agentruntime/agents/wire"
)

// Definition is an agent of any type of state, as Declared, Prompted and Coded return it.
type Definition interface {
	// Name returns the name of the agent.
	Name() string
	define() *definition
}

// definition is an agent without the type of its state.
type definition struct {
	name, description string
	// code runs the turns; if nil, the loop does. bare is set for an agent without a model.
	code func(ctx context.Context, t *turn) (*Result, error)
	bare bool
	// begin creates the code of a connection; nil if all connections share it.
	begin func(ctx context.Context) (func(ctx context.Context, t *turn) (*Result, error), error)

	clientManaged bool
	snapshots     SnapshotStore
	heartbeat     Heartbeat
	schema        json.RawMessage
	// fits returns an error if a custom state does not have the agent's type.
	fits func(custom json.RawMessage) error

	// showState and showChunk are the transforms; nil changes nothing.
	showState func(ctx context.Context, state *wire.SessionState) (*wire.SessionState, error)
	showChunk func(ctx context.Context, chunk *wire.Chunk) (*wire.Chunk, error)

	set *atomic.Pointer[Set]
}

// Name returns the name of the agent.
func (d *definition) Name() string { return d.name }

func (d *definition) define() *definition { return d }

// metadata describes the agent.
func (d *definition) metadata() wire.Metadata {
	m := wire.Metadata{StateManagement: wire.StateServer, Abortable: true, StateSchema: d.schema}
	switch {
	case d.clientManaged:
		m.StateManagement, m.Abortable = wire.StateClient, false
	case d.snapshots != nil:
		_, m.Abortable = d.snapshots.(SnapshotWatcher)
	}
	return m
}

// errNoConnection reports code that spans the turns of a connection without one.
var errNoConnection = errors.New("the code of the agent needs a connection")
