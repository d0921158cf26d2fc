// Package provider serves agents as an agent provider of Gestalt: a host starts the process,
// configures it over gRPC, and creates sessions and turns, which are sessions and turns of the
// service. Tools call back the host with the grant of their turn.
package provider

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agentruntime/agentruntime/internal/panics"
	pb "github.com/agentruntime/agentruntime/internal/providerproto"
	"github.com/agentruntime/agentruntime/runtime/telemetry"
	"github.com/agentruntime/agentruntime/server/component"
	"github.com/agentruntime/agentruntime/service"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/structpb"
)

// protocolVersion is the protocol version of this package.
const protocolVersion = 3

// stopTime is how long active requests may take when the provider stops.
const stopTime = time.Second

// Server is the provider. It is safe for concurrent use.
type Server struct {
	pb.UnimplementedAgentProviderServer
	pb.UnimplementedProviderLifecycleServer

	settings component.ProviderSettings
	// host calls the host back; nil if there are no callbacks.
	host *host
	grpc *grpc.Server

	// starting is held while the service starts.
	starting sync.Mutex
	// current is nil before the host has configured the provider.
	current atomic.Pointer[configured]
}

// configured is a provider's service, with the provider's name and agent according to the host.
type configured struct {
	*service.Service
	name, agent string
}

// Connect returns the provider with a connection to its host, for app.Components.Provider.
func Connect(s component.ProviderSettings) (component.Provider, error) {
	var back *host
	if s.HostAddress != "" {
		var err error
		if back, err = newHost(s.HostAddress, s.HostToken); err != nil {
			return nil, err
		}
	}
	return newServer(s, back), nil
}

// newServer returns a provider that does not serve yet.
func newServer(s component.ProviderSettings, back *host) *Server {
	v := &Server{settings: s, host: back}
	v.grpc = grpc.NewServer(grpc.MaxRecvMsgSize(maxMessage), grpc.UnaryInterceptor(v.serveCall))
	pb.RegisterProviderLifecycleServer(v.grpc, v)
	pb.RegisterAgentProviderServer(v.grpc, v)
	return v
}

// Serve serves the host until ctx ends.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	ended := make(chan error, 1)
	go func() { ended <- s.grpc.Serve(listener) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	timer := time.AfterFunc(stopTime, s.grpc.Stop)
	defer timer.Stop()
	s.grpc.GracefulStop()
	return <-ended
}

// TurnTools makes the tools of the host; nil if it has none.
func (s *Server) TurnTools() service.TurnTools {
	if s.host == nil {
		return nil
	}
	return s.host
}

// Close closes the connection to the host.
func (s *Server) Close() error {
	if s.host == nil {
		return nil
	}
	return s.host.Close()
}

// serveCall handles a request within the trace of the host.
func (s *Server) serveCall(ctx context.Context, req any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (answer any, err error) {
	if md, ok := metadata.FromIncomingContext(ctx); ok {
		header := make(http.Header)
		for _, name := range []string{"traceparent", "tracestate", "baggage"} {
			for _, value := range md.Get(name) {
				header.Add(name, value)
			}
		}
		ctx = telemetry.Extract(ctx, header)
	}
	defer panics.Handle(func(p *panics.Error) {
		s.settings.Logger.Error("a request of the host panicked", zap.String("method", info.FullMethod), zap.Error(p), zap.ByteString("stack", p.Stack))
		answer, err = nil, status.Error(codes.Internal, "internal error; see the log of the provider")
	})
	answer, err = handle(ctx, req)
	return answer, s.toStatus(ctx, info.FullMethod, err)
}

// GetProviderIdentity returns the identity of the process.
func (s *Server) GetProviderIdentity(context.Context, *emptypb.Empty) (*pb.ProviderIdentity, error) {
	return &pb.ProviderIdentity{
		Kind: pb.ProviderKind_PROVIDER_KIND_AGENT, Name: "agentruntime", DisplayName: "Agent runtime", Description: "Declared agents as an agent provider",
		Version: s.settings.Version, MinProtocolVersion: protocolVersion, MaxProtocolVersion: protocolVersion,
	}, nil
}

// ownConfig returns the configuration of the provider. If the host's entry has none, the host sends
// the entry itself, in the form that starts the provider.
func ownConfig(fields map[string]*structpb.Value) map[string]*structpb.Value {
	if fields["agent"] != nil {
		return fields
	}
	for _, ofEntry := range []string{"source", "manifestPath", "command"} {
		if fields[ofEntry] != nil {
			return fields["config"].GetStructValue().GetFields()
		}
	}
	return fields
}

// ConfigureProvider starts running turns. The host's configuration may name the agent.
func (s *Server) ConfigureProvider(ctx context.Context, req *pb.ConfigureProviderRequest) (*pb.ConfigureProviderResponse, error) {
	if req.GetProtocolVersion() != protocolVersion {
		return nil, status.Errorf(codes.FailedPrecondition, "protocol version %d is not supported: this provider speaks version %d", req.GetProtocolVersion(), protocolVersion)
	}
	agent := s.settings.Agent
	for name, value := range ownConfig(req.GetConfig().GetFields()) {
		if name != "agent" || value.GetStringValue() == "" {
			return nil, status.Errorf(codes.InvalidArgument, "config.%s is not supported: config may have agent, the id of an agent", name)
		}
		agent = value.GetStringValue()
	}
	s.starting.Lock()
	defer s.starting.Unlock()
	if current := s.current.Load(); current != nil {
		return current.configureAgain(req.GetName(), agent)
	}
	turns, err := s.settings.Start(context.WithoutCancel(ctx))
	if err != nil {
		return nil, status.Errorf(codes.FailedPrecondition, "the provider cannot start: %s", err)
	}
	if agent, err = chooseAgent(turns, agent); err != nil {
		return nil, err
	}
	s.current.Store(&configured{turns, req.GetName(), agent})
	return &pb.ConfigureProviderResponse{ProtocolVersion: protocolVersion}, nil
}

// configureAgain handles the configuration of a host that restarted or reconnected: it must equal
// the existing one.
func (c *configured) configureAgain(name, agent string) (*pb.ConfigureProviderResponse, error) {
	agent, err := chooseAgent(c.Service, agent)
	if err != nil {
		return nil, err
	}
	if c.name != name || c.agent != agent {
		return nil, status.Errorf(codes.FailedPrecondition, "the provider is configured already, as %q with agent %q", c.name, c.agent)
	}
	return &pb.ConfigureProviderResponse{ProtocolVersion: protocolVersion}, nil
}

// chooseAgent returns the agent that runs turns.
func chooseAgent(turns *service.Service, id string) (string, error) {
	ids := turns.Revision().Set().AgentIDs()
	switch {
	case id == "" && len(ids) == 1:
		return ids[0], nil
	case id == "":
		return "", status.Error(codes.InvalidArgument, "set config.agent or --agent: the configuration does not have exactly one agent")
	case !slices.Contains(ids, id):
		return "", status.Errorf(codes.InvalidArgument, "agent %q does not exist", id)
	}
	return id, nil
}

// HealthCheck reports whether the provider runs turns.
func (s *Server) HealthCheck(context.Context, *emptypb.Empty) (*pb.HealthCheckResponse, error) {
	if s.current.Load() == nil {
		return &pb.HealthCheckResponse{Message: "the provider is not configured"}, nil
	}
	return &pb.HealthCheckResponse{Ready: true}, nil
}

// StartProvider does nothing: ConfigureProvider has already started everything.
func (s *Server) StartProvider(context.Context, *emptypb.Empty) (*pb.StartRuntimeProviderResponse, error) {
	return &pb.StartRuntimeProviderResponse{ProtocolVersion: protocolVersion}, nil
}

// GetCapabilities returns the capabilities of turns.
func (s *Server) GetCapabilities(context.Context, *pb.GetAgentProviderCapabilitiesRequest) (*pb.AgentProviderCapabilities, error) {
	c := &pb.AgentProviderCapabilities{
		StreamingText: true, ToolCalls: true, ParallelToolCalls: true, StructuredOutput: true, Interactions: true, ReasoningSummaries: true,
		ResumableTurns: s.settings.Durable, BoundedListHydration: true, SupportsSessionStart: true, SupportsPreparedWorkspace: s.settings.Prepared,
	}
	if s.host != nil {
		c.SupportedToolSources = []pb.AgentToolSourceMode{pb.AgentToolSourceMode_AGENT_TOOL_SOURCE_MODE_MCP_CATALOG}
	}
	return c, nil
}

// open returns the service that answers requests.
func (s *Server) open() (*configured, error) {
	turns := s.current.Load()
	if turns == nil {
		return nil, status.Error(codes.FailedPrecondition, "the provider is not configured")
	}
	return turns, nil
}

// owner owns all records that the host creates. Subjects stored in the records control the access
// of the host's users.
var owner = service.Caller{Tenant: "agent-provider", Subject: "host"}

// invalid returns the error of an invalid request.
func invalid(format string, args ...any) error {
	return status.Error(codes.InvalidArgument, fmt.Sprintf(format, args...))
}

// notFound returns the error for a record that does not exist or belongs to another subject.
func notFound(kind, id string) error {
	return status.Errorf(codes.NotFound, "%s %q not found", kind, id)
}

// isStatus reports whether err already carries a gRPC status.
func isStatus(err error) bool {
	var known interface{ GRPCStatus() *status.Status }
	return errors.As(err, &known)
}
