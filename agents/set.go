package agents

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/agentruntime/agentruntime/agents/wire"
	"github.com/agentruntime/agentruntime/internal/sealed"
	"github.com/agentruntime/agentruntime/internal/wait"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/service"
	"github.com/google/uuid"
)

// Settings configure a Set. The Service, or for client-managed agents a Runtime, is required.
type Settings struct {
	// Service stores the turns of agents; it must have a runtime. Without a Service all agents are
	// client-managed.
	Service *service.Service
	// Runtime runs the turns of client-managed agents; nil means the Service's.
	Runtime *runtime.AgentRuntime
	// Agents are the agents written in Go. All other agents of the service are also served, as
	// declared.
	Agents []Definition
	// Key has 32 bytes. It encrypts the continuation of an interrupted client-managed turn for the
	// client: another process with the same key can continue the turn. If empty, a new key is
	// generated.
	Key []byte

	_ struct{} // keyed literals only
}

// Set has the agents of a program. It is safe for concurrent use.
type Set struct {
	service *service.Service
	runtime *runtime.AgentRuntime
	agents  map[string]*definition
	box     *sealed.Box
	// background runs the detached turns of agents with custom snapshot stores.
	background background
	// sessions serialize their turns.
	sessions wait.Keyed[sessionKey]
}

// sessionKey identifies a session of an agent.
type sessionKey struct{ tenant, agent, session string }

// NewSet returns the agents of a program. The error lists all problems.
func NewSet(s Settings) (*Set, error) {
	set := &Set{service: s.Service, runtime: s.Runtime, agents: make(map[string]*definition)}
	if set.runtime == nil && s.Service != nil {
		set.runtime = s.Service.Runtime()
	}
	var errs []error
	if s.Service == nil && s.Runtime == nil {
		errs = append(errs, errors.New("the settings have neither a service nor a runtime"))
	} else if set.runtime == nil {
		errs = append(errs, errors.New("the service has no runtime"))
	}
	key := s.Key
	if len(key) == 0 {
		key = make([]byte, sealed.KeySize)
		_, _ = rand.Read(key) // it never fails
	}
	var err error
	if set.box, err = sealed.New(key); err != nil {
		errs = append(errs, err)
	}
	for _, a := range s.Agents {
		if a == nil || a.define() == nil {
			errs = append(errs, errors.New("an agent of the settings is nil"))
			continue
		}
		d := a.define()
		if set.agents[d.name] != nil {
			errs = append(errs, fmt.Errorf("there are two agents %q", d.name))
		}
		set.agents[d.name] = d
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	for _, d := range set.agents {
		d.set.Store(set)
	}
	return set, nil
}

// Find returns an agent that a caller may use. The error is a *wire.Error.
func (s *Set) Find(caller service.Caller, name string) (Handle, error) {
	if _, err := service.NewCatalog(s.runtime.Revision().Set(), caller).Agent(name); err != nil {
		return nil, notFound("agent", name)
	}
	d := s.agents[name]
	switch {
	case d != nil && d.snapshots != nil:
		return &owned{client: client{set: s, definition: d, caller: caller, name: name}, store: d.snapshots}, nil
	case s.service == nil, d != nil && d.clientManaged:
		return &client{set: s, definition: d, caller: caller, name: name}, nil
	default:
		return &stored{service: s.service, definition: d, caller: caller, name: name}, nil
	}
}

// Close stops the detached turns of agents with custom snapshot stores and waits for them; their
// snapshots expire. Other agents do not need it.
func (s *Set) Close() { s.background.close() }

// newID returns a new id.
func (s *Set) newID() string {
	if s.service != nil {
		return s.service.NewID()
	}
	return uuid.Must(uuid.NewV7()).String()
}

// turnOf returns the wire id of a service snapshot, or id itself if it is unknown.
func (s *Set) turnOf(ctx context.Context, id string) string {
	if id == "" || s.service == nil {
		return id
	}
	kept, err := s.service.GetSnapshotHead(ctx, service.Operator(), id)
	if err != nil || kept.TurnID == "" {
		return id
	}
	return kept.TurnID
}

// stored is an agent whose turns the service stores.
type stored struct {
	service *service.Service
	// definition is nil for an agent that is only declared.
	definition *definition
	caller     service.Caller
	name       string
}

var _ Handle = (*stored)(nil)

// Name returns the name of the agent.
func (a *stored) Name() string { return a.name }

// Metadata describes the agent.
func (a *stored) Metadata() wire.Metadata {
	if a.definition == nil {
		return wire.Metadata{StateManagement: wire.StateServer, Abortable: true}
	}
	return a.definition.metadata()
}
