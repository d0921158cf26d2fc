// Package providertest is an agent provider for tests: it keeps sessions and turns in memory, and
// calls a function to work on each turn.
package providertest

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"sync"
	"testing"

	"github.com/agentruntime/agentruntime/internal/providerproto"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/structpb"
)

// Provider is an agent provider. Set its exported fields before Serve.
type Provider struct {
	providerproto.UnimplementedAgentProviderServer
	providerproto.UnimplementedProviderLifecycleServer

	// Work handles a turn; a turn that has not ended when Work returns stays running.
	Work func(ctx context.Context, t *Turn)
	// Capabilities are the provider's reported capabilities.
	Capabilities *providerproto.AgentProviderCapabilities
	// Identity, if set, is the provider's reported identity.
	Identity *providerproto.ProviderIdentity
	// Health, if set, returns the reason why the provider is unhealthy.
	Health func() error
	// Intercept, if set, handles each request from the host.
	Intercept grpc.UnaryServerInterceptor

	host    providerproto.AgentHostClient
	manager providerproto.AgentManagerHostClient

	mu       sync.Mutex
	config   *structpb.Struct
	sessions map[string]*providerproto.AgentSession
	prepared *providerproto.PreparedAgentWorkspace
	turns    map[string]*Turn
	creates  int
	working  sync.WaitGroup
	life     context.Context //nolint:containedctx // ends with the server
}

// Addresses are the addresses of a provider and of the host that it expects.
type Addresses struct{ Provider, Host string }

// Serve serves a provider until the test ends. It uses sockets below a directory of the
// test, or below dir.
func (p *Provider) Serve(t testing.TB) Addresses {
	t.Helper()
	dir := t.TempDir()
	a := Addresses{Provider: "unix:" + filepath.Join(dir, "p"), Host: "unix:" + filepath.Join(dir, "h")}
	stop, err := p.listen(filepath.Join(dir, "p"), a.Host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return a
}

// listen serves the provider on a socket until stop is called.
func (p *Provider) listen(socket, host string) (stop func(), err error) {
	conn, err := grpc.NewClient(host, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithAuthority("localhost"))
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("unix", socket)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	life, end := context.WithCancel(context.Background())
	p.host, p.manager, p.life = providerproto.NewAgentHostClient(conn), providerproto.NewAgentManagerHostClient(conn), life
	p.sessions, p.turns = map[string]*providerproto.AgentSession{}, map[string]*Turn{}
	options := []grpc.ServerOption{grpc.WaitForHandlers(true)}
	if p.Intercept != nil {
		options = append(options, grpc.UnaryInterceptor(p.Intercept))
	}
	server := grpc.NewServer(options...)
	providerproto.RegisterAgentProviderServer(server, p)
	providerproto.RegisterProviderLifecycleServer(server, p)
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(l) })
	return func() {
		end()
		server.Stop()
		serving.Wait()
		p.working.Wait()
		_ = conn.Close()
	}, nil
}

// Config returns the provider's configuration.
func (p *Provider) Config() *structpb.Struct {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.config
}

// Turns returns the turns, by id.
func (p *Provider) Turns() map[string]*Turn {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make(map[string]*Turn, len(p.turns))
	for id, t := range p.turns {
		all[id] = t
	}
	return all
}

// Counts returns the number of sessions, and how often a turn was created.
func (p *Provider) Counts() (sessions, creates int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.sessions), p.creates
}

// Prepared returns the workspace requested for the latest session.
func (p *Provider) Prepared() *providerproto.PreparedAgentWorkspace {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.prepared
}

// ForgetSessions drops all sessions, like a restarted provider.
func (p *Provider) ForgetSessions() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.sessions)
}

// GetProviderIdentity returns the identity.
func (p *Provider) GetProviderIdentity(context.Context, *emptypb.Empty) (*providerproto.ProviderIdentity, error) {
	if p.Identity != nil {
		return p.Identity, nil
	}
	return &providerproto.ProviderIdentity{Kind: providerproto.ProviderKind_PROVIDER_KIND_AGENT, Name: "test", MinProtocolVersion: 3, MaxProtocolVersion: 3}, nil
}

// ConfigureProvider keeps the configuration.
func (p *Provider) ConfigureProvider(_ context.Context, req *providerproto.ConfigureProviderRequest) (*providerproto.ConfigureProviderResponse, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.config = req.GetConfig()
	return &providerproto.ConfigureProviderResponse{ProtocolVersion: req.GetProtocolVersion()}, nil
}

// HealthCheck reports that the provider is ready, unless Health returns an error.
func (p *Provider) HealthCheck(context.Context, *emptypb.Empty) (*providerproto.HealthCheckResponse, error) {
	if p.Health != nil {
		if err := p.Health(); err != nil {
			return &providerproto.HealthCheckResponse{Message: err.Error()}, nil
		}
	}
	return &providerproto.HealthCheckResponse{Ready: true}, nil
}

// GetCapabilities returns the capabilities.
func (p *Provider) GetCapabilities(context.Context, *providerproto.GetAgentProviderCapabilitiesRequest) (*providerproto.AgentProviderCapabilities, error) {
	if p.Capabilities == nil {
		return nil, status.Error(codes.Unimplemented, "no capabilities")
	}
	return p.Capabilities, nil
}

// CreateSession creates a session, or returns the one with the id.
func (p *Provider) CreateSession(_ context.Context, req *providerproto.CreateAgentProviderSessionRequest) (*providerproto.AgentSession, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.sessions[req.GetSessionId()]
	p.prepared = req.GetPreparedWorkspace()
	if s == nil {
		s = &providerproto.AgentSession{Id: req.GetSessionId(), CreatedBy: req.GetCreatedBy(), State: providerproto.AgentSessionState_AGENT_SESSION_STATE_ACTIVE}
		p.sessions[s.GetId()] = s
	}
	return s, nil
}

// CreateTurn creates a turn and starts work on it, or returns the one with the id.
func (p *Provider) CreateTurn(_ context.Context, req *providerproto.CreateAgentProviderTurnRequest) (*providerproto.AgentTurn, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.sessions[req.GetSessionId()] == nil {
		return nil, status.Error(codes.NotFound, "unknown session")
	}
	p.creates++
	if t := p.turns[req.GetTurnId()]; t != nil {
		return t.snapshot(), nil
	}
	ctx, cancel := context.WithCancel(p.life)
	t := &Turn{Request: req, provider: p, cancel: cancel, changed: make(chan struct{}), turn: &providerproto.AgentTurn{
		Id: req.GetTurnId(), SessionId: req.GetSessionId(), CreatedBy: req.GetCreatedBy(),
		Status: providerproto.AgentExecutionStatus_AGENT_EXECUTION_STATUS_RUNNING,
	}}
	p.turns[req.GetTurnId()] = t
	p.working.Go(func() {
		defer cancel()
		p.Work(ctx, t)
	})
	return t.snapshot(), nil
}

func (p *Provider) turn(id string) (*Turn, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t := p.turns[id]; t != nil {
		return t, nil
	}
	return nil, status.Error(codes.NotFound, "unknown turn")
}

// GetTurn returns a turn.
func (p *Provider) GetTurn(_ context.Context, req *providerproto.GetAgentProviderTurnRequest) (*providerproto.AgentTurn, error) {
	t, err := p.turn(req.GetTurnId())
	if err != nil {
		return nil, err
	}
	return t.snapshot(), nil
}

// CancelTurn ends a turn.
func (p *Provider) CancelTurn(_ context.Context, req *providerproto.CancelAgentProviderTurnRequest) (*providerproto.AgentTurn, error) {
	t, err := p.turn(req.GetTurnId())
	if err != nil {
		return nil, err
	}
	t.end(providerproto.AgentExecutionStatus_AGENT_EXECUTION_STATUS_CANCELED, "", req.GetReason())
	t.cancel()
	return t.snapshot(), nil
}

// ListTurnEvents returns events of a turn.
func (p *Provider) ListTurnEvents(_ context.Context, req *providerproto.ListAgentProviderTurnEventsRequest) (*providerproto.ListAgentProviderTurnEventsResponse, error) {
	t, err := p.turn(req.GetTurnId())
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	out := new(providerproto.ListAgentProviderTurnEventsResponse)
	for _, e := range t.events {
		if e.GetSeq() > req.GetAfterSeq() && len(out.Events) < int(req.GetLimit()) {
			out.Events = append(out.Events, e)
		}
	}
	return out, nil
}

// ListInteractions returns the interactions of a turn.
func (p *Provider) ListInteractions(_ context.Context, req *providerproto.ListAgentProviderInteractionsRequest) (*providerproto.ListAgentProviderInteractionsResponse, error) {
	t, err := p.turn(req.GetTurnId())
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	out := new(providerproto.ListAgentProviderInteractionsResponse)
	for _, i := range t.interactions {
		out.Interactions = append(out.Interactions, proto.CloneOf(i))
	}
	return out, nil
}

// GetInteraction returns an interaction.
func (p *Provider) GetInteraction(_ context.Context, req *providerproto.GetAgentProviderInteractionRequest) (*providerproto.AgentInteraction, error) {
	for _, t := range p.Turns() {
		t.mu.Lock()
		for _, i := range t.interactions {
			if i.GetId() == req.GetInteractionId() {
				defer t.mu.Unlock()
				return proto.CloneOf(i), nil
			}
		}
		t.mu.Unlock()
	}
	return nil, status.Error(codes.NotFound, "unknown interaction")
}

// ResolveInteraction answers an interaction.
func (p *Provider) ResolveInteraction(_ context.Context, req *providerproto.ResolveAgentProviderInteractionRequest) (*providerproto.AgentInteraction, error) {
	for _, t := range p.Turns() {
		if i := t.resolve(req.GetInteractionId(), req.GetResolution()); i != nil {
			return i, nil
		}
	}
	return nil, status.Error(codes.NotFound, "unknown interaction")
}
