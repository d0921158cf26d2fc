package agents

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"sync/atomic"

	"github.com/agentruntime/agentruntime/agents/wire"
	"github.com/agentruntime/agentruntime/service"
	"github.com/google/jsonschema-go/jsonschema"
)

// Options configures an agent. S is the type of its custom state, which encoding/json must be
// able to encode and decode. The zero value is ready to use.
type Options[S any] struct {
	// Description states the purpose of the agent. A declared agent already has one.
	Description string
	// StateTransform returns a state as callers see it: in snapshots, in the outputs of an agent
	// whose state the client keeps, and as the basis of patches. It receives a copy. Return nil to
	// omit the state, an error to reject it.
	StateTransform func(ctx context.Context, state *State[S]) (*State[S], error)
	// StreamTransform returns a chunk as callers see it. It receives a copy. Return nil to drop the
	// chunk, an error to end the stream.
	StreamTransform func(ctx context.Context, chunk *wire.Chunk) (*wire.Chunk, error)
	// ClientManaged leaves the state to the client: every output contains it, and the next turn
	// sends it back. Nothing is stored.
	ClientManaged bool
	// Snapshots is a custom store that replaces the service's; see SnapshotStore.
	Snapshots SnapshotStore
	// Heartbeat is for detached turns in Snapshots.
	Heartbeat Heartbeat

	_ struct{} // keyed literals only
}

// Agent is an agent with custom state of type S. It is safe for concurrent use. Pass it to Install
// and NewSet before use.
type Agent[S any] struct {
	definition
	caller *service.Caller
	handle Handle
}

// Declared returns an agent that runs as declared, with its prompt, model and tools. Its tools may
// change its custom state and artifacts. See StateOf.
func Declared[S any](name string, o Options[S]) (*Agent[S], error) {
	return newAgent(name, o)
}

// Prompted returns a declared agent whose instructions and model-visible conversation come from a
// function.
func Prompted[S any](name string, prompt func(ctx context.Context, t *Turn[S]) (*Prompt, error), o Options[S]) (*Agent[S], error) {
	a, err := newAgent(name, o)
	if prompt == nil {
		return nil, errors.Join(err, fmt.Errorf("agent %q: the prompt function is nil", name))
	}
	if err != nil {
		return nil, err
	}
	a.code = func(ctx context.Context, t *turn) (*Result, error) {
		p, err := prompt(ctx, &Turn[S]{turn: t})
		if err != nil {
			return nil, err
		}
		return t.generate(ctx, p)
	}
	return a, nil
}

// Coded returns a declared agent whose turns are driven by code, which may call Turn.Generate to
// run the model and the tools of the declared agent.
func Coded[S any](name string, code func(ctx context.Context, t *Turn[S]) (*Result, error), o Options[S]) (*Agent[S], error) {
	a, err := newAgent(name, o)
	if code == nil {
		return nil, errors.Join(err, fmt.Errorf("agent %q: the code is nil", name))
	}
	if err != nil {
		return nil, err
	}
	a.code = func(ctx context.Context, t *turn) (*Result, error) { return code(ctx, &Turn[S]{turn: t}) }
	return a, nil
}

// Custom returns an agent that consists of code only: it is not declared and has no model.
func Custom[S any](name string, code func(ctx context.Context, t *Turn[S]) (*Result, error), o Options[S]) (*Agent[S], error) {
	a, err := Coded(name, code, o)
	if a != nil {
		a.bare = true
	}
	return a, err
}

// Connected returns a declared agent whose code spans the turns of a connection: begin is called
// when a conversation is opened, and the function it returns runs each turn. ClientManaged or
// Snapshots is required, since other agents' turns run in any process.
func Connected[S any](name string, begin func(ctx context.Context) (func(ctx context.Context, t *Turn[S]) (*Result, error), error), o Options[S]) (*Agent[S], error) {
	a, err := newAgent(name, o)
	if begin == nil {
		err = errors.Join(err, fmt.Errorf("agent %q: begin is nil", name))
	}
	if !o.ClientManaged && o.Snapshots == nil {
		err = errors.Join(err, fmt.Errorf("agent %q: turns of the service run in any process: set ClientManaged or Snapshots", name))
	}
	if err != nil {
		return nil, err
	}
	a.code = func(context.Context, *turn) (*Result, error) { return nil, errNoConnection }
	a.begin = func(ctx context.Context) (func(context.Context, *turn) (*Result, error), error) {
		code, err := begin(ctx)
		if code == nil || err != nil {
			return nil, cmp.Or(err, fmt.Errorf("agent %q: begin returned no code", name))
		}
		return func(ctx context.Context, t *turn) (*Result, error) { return code(ctx, &Turn[S]{turn: t}) }, nil
	}
	return a, nil
}

// newAgent returns an agent with options, or all problems of the options.
func newAgent[S any](name string, o Options[S]) (*Agent[S], error) {
	a := &Agent[S]{definition: definition{
		name: name, description: o.Description, clientManaged: o.ClientManaged, snapshots: o.Snapshots, heartbeat: o.Heartbeat.withDefaults(),
		showChunk: o.StreamTransform, set: new(atomic.Pointer[Set]),
	}}
	var errs []error
	if name == "" {
		errs = append(errs, errors.New("the agent has no name"))
	}
	if o.ClientManaged && o.Snapshots != nil {
		errs = append(errs, fmt.Errorf("agent %q: a client-managed agent has no snapshot store: leave out ClientManaged or Snapshots", name))
	}
	if o.Snapshots == nil && o.Heartbeat != (Heartbeat{}) {
		errs = append(errs, fmt.Errorf("agent %q: heartbeat times are for an agent with Snapshots; the lease of other turns is the service's", name))
	}
	if err := o.Heartbeat.check(name); err != nil {
		errs = append(errs, err)
	}
	a.fits = func(custom json.RawMessage) error {
		_, err := decodeCustom[S](custom)
		return err
	}
	var err error
	if a.schema, err = stateSchema[S](); err != nil {
		errs = append(errs, fmt.Errorf("agent %q: its state has no JSON Schema: %w", name, err))
	}
	if show := o.StateTransform; show != nil {
		a.showState = func(ctx context.Context, state *wire.SessionState) (*wire.SessionState, error) {
			return transformState(ctx, show, state)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return a, nil
}

// stateSchema returns the JSON Schema of a type; nil for an interface, such as any, and for
// raw JSON.
func stateSchema[S any]() (json.RawMessage, error) {
	typ := reflect.TypeFor[S]()
	if typ.Kind() == reflect.Interface || typ == reflect.TypeFor[json.RawMessage]() {
		return nil, nil
	}
	s, err := jsonschema.For[S](nil)
	if err != nil {
		return nil, err
	}
	return json.Marshal(s)
}
